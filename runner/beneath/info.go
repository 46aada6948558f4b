package beneath

import (
	"io/fs"
	"time"

	"golang.org/x/sys/unix"
)

// Info is what is at a name.
type Info struct {
	Mode    fs.FileMode
	Size    int64     // in bytes
	Time    time.Time // when the content last changed; any process that may write the file can set it
	Changed int64     // when the content or the metadata last changed, in nanoseconds: the system's own time
	Links   uint64    // how many names the file has
	Blocks  int64     // that it takes, of 512 bytes

	Device, Inode uint64
}

// Same reports whether two descriptions are of one file.
func (i *Info) Same(other *Info) bool { return i.Device == other.Device && i.Inode == other.Inode }

// Regular reports whether it is a regular file.
func (i *Info) Regular() bool { return i.Mode.IsRegular() }

// Link reports whether it is a symbolic link.
func (i *Info) Link() bool { return i.Mode&fs.ModeSymlink != 0 }

func infoOf(st *unix.Stat_t) *Info {
	return &Info{
		Mode: modeOf(uint32(st.Mode)), Size: st.Size, Blocks: st.Blocks,
		Time: time.Unix(st.Mtim.Unix()), Changed: st.Ctim.Nano(),
		Links: uint64(st.Nlink), Device: uint64(st.Dev), Inode: st.Ino,
	}
}

// kinds are the types of files that the system distinguishes.
var kinds = map[uint32]fs.FileMode{
	unix.S_IFREG: 0, unix.S_IFDIR: fs.ModeDir, unix.S_IFLNK: fs.ModeSymlink, unix.S_IFIFO: fs.ModeNamedPipe,
	unix.S_IFSOCK: fs.ModeSocket, unix.S_IFBLK: fs.ModeDevice, unix.S_IFCHR: fs.ModeDevice | fs.ModeCharDevice,
}

// special are the bits of permissions that Go has elsewhere than the system.
var special = map[uint32]fs.FileMode{
	unix.S_ISUID: fs.ModeSetuid, unix.S_ISGID: fs.ModeSetgid, unix.S_ISVTX: fs.ModeSticky,
}

func modeOf(st uint32) fs.FileMode {
	kind, known := kinds[st&unix.S_IFMT]
	if !known {
		kind = fs.ModeIrregular
	}
	mode := kind | fs.FileMode(st&0o777)
	for bit, is := range special {
		if st&bit != 0 {
			mode |= is
		}
	}
	return mode
}

// systemMode is the inverse of modeOf, for permissions.
func systemMode(mode fs.FileMode) uint32 {
	st := uint32(mode.Perm())
	for bit, is := range special {
		if mode&is != 0 {
			st |= bit
		}
	}
	return st
}

// Umask is what new files of this process do not get of permissions.
func Umask() fs.FileMode { return umask }

var umask = func() fs.FileMode {
	m := unix.Umask(0o77)
	unix.Umask(m)
	return fs.FileMode(m)
}()
