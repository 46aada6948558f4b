package beneath

import (
	"io/fs"
	"os"
	"slices"

	"golang.org/x/sys/unix"
)

// Look describes a file of the system: of an interpreter, a package, a folder of data. Its path leads where the system
// leads it, over links, too. It is for names that no program chose. Nothing here changes such a file.
func Look(path string) (*Info, error) { return look(path, unix.AT_SYMLINK_NOFOLLOW) }

// LookThrough is Look for what a link in the last place leads to.
func LookThrough(path string) (*Info, error) { return look(path, 0) }

func look(path string, flags int) (*Info, error) {
	err := fails("look", path)
	var st unix.Stat_t
	if err == nil {
		_, err = retry(func() (struct{}, error) { return struct{}{}, unix.Fstatat(unix.AT_FDCWD, path, &st, flags) })
	}
	if err != nil {
		return nil, &fs.PathError{Op: "stat", Path: path, Err: err}
	}
	return infoOf(&st), nil
}

// Read opens a regular file of the system to be read, see Look.
func Read(path string) (*os.File, error) {
	err := fails("read", path)
	var file *os.File
	if err == nil {
		file, _, err = openRegular(unix.AT_FDCWD, path, path, unix.O_RDONLY, 0)
	}
	if err == unix.ELOOP {
		err = &LinkError{Path: path}
	}
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	return file, nil
}

// Target returns the target of a link of the system, see Look.
func Target(path string) (string, error) {
	err := fails("target", path)
	var target string
	if err == nil {
		target, err = readlink(unix.AT_FDCWD, path)
	}
	if err != nil {
		return "", &fs.PathError{Op: "readlink", Path: path, Err: err}
	}
	return target, nil
}

// List returns what a folder of the system lists, sorted, see Look.
func List(path string) ([]string, error) {
	if err := fails("list", path); err != nil {
		return nil, &fs.PathError{Op: "readdir", Path: path, Err: err}
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	names, err := file.Readdirnames(-1)
	slices.Sort(names)
	return names, err
}
