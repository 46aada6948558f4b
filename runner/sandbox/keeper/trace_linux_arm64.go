package keeper

import (
	"syscall"
	"unsafe"
)

// Sets of registers: the general ones, and the number of the call.
const (
	ptraceGetRegset = 0x4204
	ptraceSetRegset = 0x4205
	generalSet      = 1
	numberSet       = 0x404
)

// skip makes a call that is about to begin return a value and do nothing.
func skip(pid int, value int64) {
	var registers syscall.PtraceRegs
	all := syscall.Iovec{Base: (*byte)(unsafe.Pointer(&registers)), Len: uint64(unsafe.Sizeof(registers))}
	if ptrace(ptraceGetRegset, pid, generalSet, uintptr(unsafe.Pointer(&all))) != 0 {
		return
	}
	registers.Regs[0] = uint64(value)
	ptrace(ptraceSetRegset, pid, generalSet, uintptr(unsafe.Pointer(&all)))
	none := int32(-1)
	number := syscall.Iovec{Base: (*byte)(unsafe.Pointer(&none)), Len: uint64(unsafe.Sizeof(none))}
	ptrace(ptraceSetRegset, pid, numberSet, uintptr(unsafe.Pointer(&number)))
}
