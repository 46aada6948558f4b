package sandbox

import (
	"os"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// own is a supervisor whose box is this process, and an open of a path as this process would make it.
func own(tb testing.TB, p string) (*supervisor, *notification) {
	tb.Helper()
	s := newSupervisor(Spec{}, traced(-1), nil, 0)
	s.isMain(os.Getpid())
	s.begin(1)
	text := append([]byte(p), 0)
	folder := unix.AT_FDCWD
	return s, &notification{Tid: uint32(os.Getpid()), Number: unix.SYS_OPENAT, Arch: ownArchitecture,
		Args: [6]uint64{uint64(folder), uint64(uintptr(unsafe.Pointer(&text[0])))}}
}

// A path that has been noted costs no memory: a box makes millions of calls.
func TestNotedPathAllocatesNothing(t *testing.T) {
	for _, p := range []string{"doc.go", "/etc/passwd"} {
		s, n := own(t, p)
		if n := testing.AllocsPerRun(1000, func() { s.handle(n) }); n != 0 {
			t.Errorf("an open of %s allocates %v times", p, n)
		}
		if len(s.notes.report.Main) == 0 {
			t.Errorf("an open of %s is not noted", p)
		}
	}
}

func BenchmarkHandle(b *testing.B) {
	for name, p := range map[string]string{"absolute": "/usr/include/../include/stdio.h", "relative": "doc.go"} {
		s, n := own(b, p)
		b.Run("noted/path="+name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				s.handle(n)
			}
		})
		b.Run("new/path="+name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				clear(s.caches[0].noted)
				s.handle(n)
			}
		})
	}
}
