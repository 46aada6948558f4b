package beneath

import (
	"errors"
	"io/fs"
	"strings"

	"golang.org/x/sys/unix"
)

// LinkError says that a symbolic link is on the way to a file, or in its place where a file or folder is needed.
type LinkError struct {
	Path   string // the link's path
	Target string // "" if the link was gone when it was read
}

func (e *LinkError) Error() string { return e.Path + " is a symbolic link" }

// Is makes errors.Is(err, fs.ErrNotExist) hold: no file has that name.
func (e *LinkError) Is(target error) bool { return target == fs.ErrNotExist }

// descend opens the folder that a local name leads to from the folder dir. The caller closes it.
func descend(dir int, name string) (int, error) {
	if fd, err, can := descendAtOnce(dir, name); can {
		return fd, again(err)
	}
	return descendByParts(dir, name)
}

// descendByParts opens one folder from the other.
func descendByParts(dir int, name string) (int, error) {
	at := dir
	for part := range strings.SplitSeq(name, "/") {
		next, err := retry(func() (int, error) {
			return unix.Openat(at, part, folderFlags|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		})
		if err == unix.ENOTDIR {
			var st unix.Stat_t
			if unix.Fstatat(at, part, &st, unix.AT_SYMLINK_NOFOLLOW) == nil && st.Mode&unix.S_IFMT == unix.S_IFLNK {
				err = unix.ELOOP
			}
		}
		if at != dir {
			_ = unix.Close(at)
		}
		if err != nil {
			return -1, err
		}
		at = next
	}
	return at, nil
}

// linkOn finds the link on the way to a name that an operation met, or in its place.
func linkOn(dir int, name string) (link, target string) {
	at := dir
	defer func() {
		if at != dir {
			_ = unix.Close(at)
		}
	}()
	walked := ""
	for part := range strings.SplitSeq(name, "/") {
		walked = strings.TrimPrefix(walked+"/"+part, "/")
		if target, err := readlink(at, part); err == nil {
			return walked, target
		}
		next, err := descendByParts(at, part)
		if err != nil {
			break // it was replaced meanwhile
		}
		if at != dir {
			_ = unix.Close(at)
		}
		at = next
	}
	return name, ""
}

func readlink(dir int, name string) (string, error) {
	for size := 256; ; size *= 2 {
		buffer := make([]byte, size)
		n, err := retry(func() (int, error) { return unix.Readlinkat(dir, name, buffer) })
		if err != nil {
			return "", err
		}
		if n < size {
			return string(buffer[:n]), nil
		}
	}
}

// retry does a call again that a signal interrupted.
func retry[T any](call func() (T, error)) (T, error) {
	for {
		v, err := call()
		if !errors.Is(err, unix.EINTR) {
			return v, err
		}
	}
}

// again makes an error that asks to try again one of the device: it was tried often enough.
func again(err error) error {
	if err == unix.EAGAIN {
		return unix.EIO
	}
	return err
}
