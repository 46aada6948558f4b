package sandbox

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// tracee reads what a stopped thread passes to the system. It belongs to one thread of the supervisor and allocates
// nothing.
type tracee struct {
	text [unix.PathMax + 64]byte // the path that was read
	key  [3 * unix.PathMax]byte  // the path from the root
	proc [64]byte                // a path in /proc

	unreadable bool // the last path was not there, or not to be read
	folder     int  // the length of the folder in key; 0: the last path was absolute
}

// readMemory copies memory of a thread. It reports how much there is.
func readMemory(tid int, address uint64, into []byte) int {
	if address == 0 || len(into) == 0 {
		return 0
	}
	local := unix.Iovec{Base: &into[0]}
	local.SetLen(len(into))
	remote := unix.RemoteIovec{Base: uintptr(address), Len: len(into)}
	n, _, errno := unix.RawSyscall6(unix.SYS_PROCESS_VM_READV, uintptr(tid), uintptr(unsafe.Pointer(&local)), 1,
		uintptr(unsafe.Pointer(&remote)), 1, 0)
	if errno != 0 {
		return 0
	}
	return int(n)
}

// path reads a text that ends in a zero. No read crosses a page: the next one may not be there.
func (t *tracee) path(tid int, address uint64) ([]byte, bool) {
	t.unreadable = false
	for total := 0; total < len(t.text); {
		n := 4096 - int((address+uint64(total))&4095)
		n = min(n, len(t.text)-total)
		if total == 0 {
			n = min(n, 256) // most paths are short
		}
		got := readMemory(tid, address+uint64(total), t.text[total:total+n])
		if got == 0 {
			t.unreadable = address != 0
			return nil, false
		}
		if end := bytes.IndexByte(t.text[total:total+got], 0); end >= 0 {
			return t.text[:total+end], true
		}
		total += got
	}
	return nil, false
}

// absolute puts a path behind the folder that it is relative to: an open file, or the current folder. The result is
// valid until the next call.
func (t *tracee) absolute(tid int, folder int32, path []byte) ([]byte, bool) {
	t.folder = 0
	if path[0] == '/' {
		return path, true
	}
	n := t.link(tid, folder)
	if n == 0 || t.key[0] != '/' {
		return nil, false
	}
	t.folder = n
	key := append(t.key[:n], '/')
	return append(key, path...), true
}

// deleted is what the system appends to the path of a file that has no name any more.
const deleted = " (deleted)"

// folderRemoved reports whether the last path is relative to a folder that has no name any more.
func (t *tracee) folderRemoved() bool {
	folder := string(t.key[:t.folder])
	if !strings.HasSuffix(folder, deleted) && !strings.HasPrefix(folder, "(unreachable)") {
		return false
	}
	_, err := os.Lstat(folder)
	return err != nil
}

// link reads the path of an open file, or of the current folder, into key.
func (t *tracee) link(tid int, fd int32) int {
	p := append(t.proc[:0], "/proc/"...)
	p = strconv.AppendInt(p, int64(tid), 10)
	if fd == unix.AT_FDCWD {
		p = append(p, "/cwd"...)
	} else {
		p = append(p, "/fd/"...)
		p = strconv.AppendInt(p, int64(fd), 10)
	}
	p = append(p, 0)
	at := unix.AT_FDCWD
	n, _, errno := unix.RawSyscall6(unix.SYS_READLINKAT, uintptr(at), uintptr(unsafe.Pointer(&p[0])),
		uintptr(unsafe.Pointer(&t.key[0])), unix.PathMax, 0, 0)
	if errno != 0 {
		return 0
	}
	return int(n)
}

// inGroup reports whether a thread belongs to a process. Signal zero is only checked.
func inGroup(process, tid int) bool {
	if process == tid {
		return true
	}
	_, _, errno := unix.RawSyscall(unix.SYS_TGKILL, uintptr(process), uintptr(tid), 0)
	return errno != unix.ESRCH
}

// alive reports whether a thread has not ended.
func alive(tid int) bool {
	_, _, errno := unix.RawSyscall(unix.SYS_TKILL, uintptr(tid), 0, 0)
	return errno != unix.ESRCH
}

// groupOf is the process of a thread.
func groupOf(tid int) int {
	text, _ := os.ReadFile("/proc/" + strconv.Itoa(tid) + "/status")
	_, rest, _ := strings.Cut(string(text), "\nTgid:")
	line, _, _ := strings.Cut(rest, "\n")
	if group, err := strconv.Atoi(strings.TrimSpace(line)); err == nil {
		return group
	}
	return tid
}

// rootOf is what a process takes for the root; "" for that of this process.
func rootOf(tid int) string {
	root, err := os.Readlink("/proc/" + strconv.Itoa(tid) + "/root")
	if err != nil || root == "/" {
		return ""
	}
	return root
}
