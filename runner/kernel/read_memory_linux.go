package kernel

import (
	"errors"

	"golang.org/x/sys/unix"
)

// readMemory fills data with the memory at an address of a process: one of the same user, below this one.
func readMemory(pid int, address uint64, data []byte) error {
	for len(data) > 0 {
		local := []unix.Iovec{{Base: &data[0]}}
		local[0].SetLen(len(data))
		n, err := unix.ProcessVMReadv(pid, local, []unix.RemoteIovec{{Base: uintptr(address), Len: len(data)}}, 0)
		if err != nil {
			return err
		}
		if n == 0 {
			return errors.New("the memory ends")
		}
		data, address = data[n:], address+uint64(n)
	}
	return nil
}
