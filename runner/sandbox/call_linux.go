package sandbox

import (
	"encoding/binary"

	"golang.org/x/sys/unix"
)

// call is one call of a process of the box.
type call struct {
	notification
	shape
	main bool
	to   found // what the first path leads to
	to2  found // what the second path leads to
	// peer is the address of connect and bind.
	peer string
	// flags are those of open, or AT_ flags.
	flags  uint64
	manner manner
}

// folderArg is the descriptor that a path is relative to.
func (c *call) folderArg(i int8) int32 {
	if i < 0 {
		return unix.AT_FDCWD
	}
	return int32(c.Args[i])
}

// readFlags reads the flags, and derives the manner: calls with one have no other effect than to use the path.
func (c *call) readFlags() {
	if c.shape.flags >= 0 {
		c.flags = c.Args[c.shape.flags]
	}
	switch c.act {
	case actCreate:
		c.act, c.flags = actOpen, unix.O_WRONLY|unix.O_CREAT|unix.O_TRUNC
	case actOpenHow:
		var how [8]byte
		if readMemory(int(c.Tid), c.Args[2], how[:]) == len(how) {
			c.flags = binary.NativeEndian.Uint64(how[:])
		}
		c.act = actOpen
	}
	switch {
	case c.act == actOpen:
		c.manner = openManner(c.flags)
	case c.act == actLook && c.follows():
		c.manner = mannerLook
	case c.act == actLook:
		c.manner = mannerOnLink
	}
}

// follows reports whether the call works on what a symbolic link in the last place leads to.
func (c *call) follows() bool {
	switch {
	case c.act == actOpen:
		return c.flags&unix.O_NOFOLLOW == 0 && c.flags&(unix.O_CREAT|unix.O_EXCL) != unix.O_CREAT|unix.O_EXCL
	case c.onLink:
		return c.flags&unix.AT_SYMLINK_FOLLOW != 0 && c.act != actRename
	}
	return c.shape.flags < 0 || c.flags&unix.AT_SYMLINK_NOFOLLOW == 0
}

// looks is UseLook for a call that finds its file by a path: it fails if the file is missing.
func (c *call) looks() Use {
	if c.onFile || c.Args[c.path] == 0 {
		return 0
	}
	return UseLook
}

// openManner is the manner of an open: one that only reads, and one that writes and takes what is there.
func openManner(flags uint64) manner {
	switch {
	case flags&(unix.O_PATH|unix.O_NOFOLLOW|unix.O_EXCL) != 0:
		return 0
	case flags&unix.O_ACCMODE == unix.O_RDONLY && flags&(unix.O_CREAT|unix.O_TRUNC) == 0:
		return mannerRead
	case flags&unix.O_TMPFILE == unix.O_TMPFILE:
		return 0
	}
	return mannerWrite
}
