package beneath

import (
	"errors"
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Temporary is the suffix of a file that is about to replace another one. A process that is killed may leave it.
const Temporary = ".xstate-tmp"

// Attributes are what a file has beside its content.
type Attributes struct {
	Mode fs.FileMode // permissions, exactly
	Time time.Time   // when the content last changed; zero: now
}

// Replace makes a regular file of the content that fill writes, in place of what is there, at once or not at all. While
// it is written, no other user may read it.
func (f *Folder) Replace(name string, a Attributes, fill func(*Content) error) error {
	return f.within("replace", name, func(dir int, base string) error {
		file, err := f.temporary(dir, base, name)
		if err != nil {
			return err
		}
		err = fill(&Content{file: file, path: f.join(name)})
		if err == nil {
			err = f.finish(file, dir, base, name, a)
		}
		if err = unwrap(errors.Join(err, file.Close())); err == nil {
			if err = fails("rename", f.join(name)); err == nil {
				err = unix.Renameat(dir, base+Temporary, dir, base)
			}
		}
		if err != nil {
			_ = unix.Unlinkat(dir, base+Temporary, 0) // or the next Replace does it
		}
		return err
	})
}

func (f *Folder) temporary(dir int, base, name string) (*os.File, error) {
	if err := fails("create", f.join(name)); err != nil {
		return nil, err
	}
	_ = unix.Unlinkat(dir, base+Temporary, 0)
	const flags = unix.O_RDWR | unix.O_CREAT | unix.O_EXCL | unix.O_NOFOLLOW | unix.O_CLOEXEC
	fd, err := retry(func() (int, error) { return unix.Openat(dir, base+Temporary, flags, 0o600) })
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), f.join(name)+Temporary), nil
}

// finish gives an open file its attributes.
func (f *Folder) finish(file *os.File, dir int, base, name string, a Attributes) error {
	if err := fails("chmod", f.join(name)); err != nil {
		return err
	}
	if err := file.Chmod(a.Mode); err != nil || a.Time.IsZero() {
		return err
	}
	if err := fails("set time", f.join(name)); err != nil {
		return err
	}
	return setTime(dir, base+Temporary, a.Time)
}

// Update makes a regular file hold the content that fill writes, in place: processes that have it open see the change.
func (f *Folder) Update(name string, fill func(*Content) error) error {
	file, _, err := f.regular("update", name, unix.O_WRONLY|unix.O_CREAT, 0o600)
	if err != nil {
		return err
	}
	content := &Content{file: file, path: f.join(name)}
	err = fill(content)
	if err == nil {
		err = file.Truncate(content.n) // only now: a file that is mapped must not become empty meanwhile
	}
	return errors.Join(err, file.Close())
}

// Edit opens a regular file to be read and written.
func (f *Folder) Edit(name string) (*os.File, error) {
	file, _, err := f.regular("edit", name, unix.O_RDWR, 0)
	return file, err
}

// WriteFile is Replace for a file of this user's alone.
func (f *Folder) WriteFile(name string, data []byte) error {
	return f.Replace(name, Attributes{Mode: 0o600}, func(c *Content) error { _, err := c.Write(data); return err })
}

// Append adds data to a regular file, in one piece. A missing file is created, for this user alone.
func (f *Folder) Append(name string, data []byte) error {
	file, _, err := f.regular("append", name, unix.O_WRONLY|unix.O_APPEND|unix.O_CREAT, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	return errors.Join(err, file.Close())
}

// Truncate makes a regular file empty.
func (f *Folder) Truncate(name string) error {
	file, _, err := f.regular("truncate", name, unix.O_WRONLY, 0)
	if err != nil {
		return err
	}
	return errors.Join(file.Truncate(0), file.Close())
}

// Content is what a file is about to hold. A test may make it fail half way.
type Content struct {
	file *os.File
	path string
	n    int64 // bytes that were written
}

func (c *Content) Write(data []byte) (int, error) {
	n, err := c.WriteAt(data, c.n)
	c.n += int64(n)
	return n, err
}

// WriteAt writes at an offset, as io.WriterAt says.
func (c *Content) WriteAt(data []byte, at int64) (int, error) {
	if err := fails("write", c.path); err != nil {
		n, _ := c.file.WriteAt(data[:len(data)/2], at)
		return n, err
	}
	return c.file.WriteAt(data, at)
}

// Truncate sets the size.
func (c *Content) Truncate(size int64) error { return c.file.Truncate(size) }

// File is the open file, for what the system does with files alone, such as sharing blocks.
func (c *Content) File() *os.File { return c.file }
