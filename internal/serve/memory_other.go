//go:build !linux

package serve

// machineMemory returns how many bytes of memory most machines have.
func machineMemory() int64 { return usualMemory }

// freeMemory would return how many bytes of memory new programs could take, and how many the machine has.
func freeMemory() (free, all int64, ok bool) { return 0, 0, false }
