//go:build !linux

package serve

// machineMemory returns how many bytes of memory most machines have.
func machineMemory() int64 { return usualMemory }
