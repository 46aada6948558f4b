package bash

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/xstate-engine/xstate/runner/beneath"
	"github.com/xstate-engine/xstate/runner/kernel"
)

// inode identifies an open file.
type inode struct {
	device, number uint64
}

// descriptor is one that the shell has open, beside the driver's and the standard ones.
type descriptor struct {
	number string
	path   string // "" if it is not a file: a pipe, a socket, the other standard stream, one that was closed
	inode  inode
	writes bool
}

// descriptors returns what the shell has open. A shell that has just shown its state may still put its standard streams
// back: until then it has copies of them that are closed on exec.
func (sh *shell) descriptors() (list []descriptor) {
	for range 200 {
		var busy bool
		if list, busy = sh.look(); !busy {
			break
		}
		time.Sleep(100 * time.Microsecond)
	}
	return list
}

// look returns what the shell has open now, and whether it puts streams back.
func (sh *shell) look() (list []descriptor, busy bool) {
	proc := fmt.Sprintf("/proc/%d/", sh.peer.Pid())
	events, _ := os.Readlink(fmt.Sprintf("%sfd/%d", proc, sh.driven+1))
	entries, err := os.ReadDir(proc + "fd")
	if err != nil {
		return nil, false
	}
	closed := map[string]bool{"0": true, "1": true, "2": true}
	script, _ := sh.script.Stat()
	for _, e := range entries {
		n, err := strconv.Atoi(e.Name())
		if err != nil || n >= sh.driven {
			continue
		}
		path, err := os.Readlink(proc + "fd/" + e.Name())
		busy = busy || err == nil && n <= 2 && path == events
		if err != nil {
			continue
		}
		delete(closed, e.Name())
		if n == 0 && (path == os.DevNull || path == sh.launch.Stdin) ||
			(n == 1 || n == 2) && path == filepath.Join(sh.launch.Spool, sh.outputs[n-1].name) {
			continue
		}
		d := descriptor{number: e.Name()}
		info, err := os.Stat(proc + "fd/" + e.Name())
		if err == nil && os.SameFile(info, script) { // Bash keeps it at 255, or at another unused number
			continue
		}
		if err == nil && info.Mode().IsRegular() && filepath.Dir(path) != filepath.Clean(sh.launch.Spool) {
			if sys, is := info.Sys().(*syscall.Stat_t); is {
				d.inode = inode{uint64(sys.Dev), sys.Ino}
			}
			d.path = strings.TrimSuffix(path, " (deleted)")
		}
		data, _ := os.ReadFile(proc + "fdinfo/" + e.Name())
		_, text, _ := strings.Cut(string(data), "flags:")
		var flags int
		if _, err := fmt.Sscanf(text, "%o", &flags); err == nil {
			busy = busy || n >= 10 && flags&syscall.O_CLOEXEC != 0 && !strings.HasPrefix(path, "pipe:")
			d.writes = flags&syscall.O_ACCMODE != syscall.O_RDONLY
		}
		list = append(list, d)
	}
	for _, number := range sorted(closed) {
		list = append(list, descriptor{number: number})
	}
	return list, busy
}

// filesOpen is what was open before a node, with copies of what it may write.
type filesOpen struct {
	used   []string
	images map[string]*kernel.FileBefore
}

// touches reports whether a node may use a descriptor. A standard stream that leads elsewhere is used by any.
func (u *uses) touches(d descriptor) bool {
	return u.anyFd || u.everything || u.fds[d.number] || len(d.number) == 1 && d.number <= "2"
}

// oddities names the descriptors that are not files.
func oddities(list []descriptor) string {
	var b strings.Builder
	for _, d := range list {
		if d.path == "" {
			b.WriteString(d.number + " ")
		}
	}
	return b.String()
}

// filesBefore copies the files that the node may write through descriptors. there is false where the program has a file
// open that the shell has not: used says which.
func (sh *shell) filesBefore(u *uses) (f filesOpen, there bool) {
	f.images = map[string]*kernel.FileBefore{}
	wanted := sh.live.hidden[keyStreams] + sh.live.hidden[keyDescriptors]
	if len(sh.open) == 0 && !u.anyFd && len(u.fds) == 0 && wanted == "" {
		return f, true
	}
	list := sh.descriptors()
	open := map[string]bool{}
	for _, d := range list {
		open[d.number] = true
		if d.path == "" || !u.touches(d) {
			continue
		}
		f.used = append(f.used, sh.first(d))
		if _, done := f.images[d.path]; done || !d.writes {
			continue
		}
		if image, err := sh.image(d.path); err == nil {
			f.images[d.path] = image
		}
	}
	for line := range strings.Lines(wanted) {
		number, path, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if !open[number] && u.touches(descriptor{number: number}) {
			return filesOpen{used: []string{path}}, false
		}
	}
	return f, true
}

// first returns the path at which a file was found open first.
func (sh *shell) first(d descriptor) string {
	if sh.open == nil {
		sh.open = map[inode]string{}
	}
	if _, known := sh.open[d.inode]; !known {
		sh.open[d.inode] = d.path
	}
	return sh.open[d.inode]
}

// image copies a file. Its path is that of an open file, without links.
func (sh *shell) image(path string) (*kernel.FileBefore, error) {
	folder, name, err := beneath.Exactly(path)
	if err != nil {
		return nil, err
	}
	in, err := folder.File(name)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(in)
	if err != nil {
		return nil, err
	}
	sh.stored++
	copied := filepath.Join(sh.launch.Spool, fmt.Sprintf("sh-before-%d", sh.stored))
	before := &kernel.FileBefore{Copy: copied, Mode: uint32(info.Mode().Perm()), Time: info.ModTime().UnixNano()}
	return before, kernel.WriteSpooled(copied, data)
}

// filesAfter reports the files open after a node, and those that it wrote through descriptors. after is nil when the
// shell ended.
func (sh *shell) filesAfter(seen *kernel.Observation, u *uses, before filesOpen, after *snapshot) {
	seen.Files.Open = map[string][]string{}
	for path, image := range before.images {
		if changed(path, image) {
			if seen.Files.Writes == nil {
				seen.Files.Writes = map[string]*kernel.FileBefore{}
			}
			seen.Files.Writes[path] = image
		}
	}
	seen.Files.Used = before.used
	if after == nil {
		sh.open = nil
		return
	}
	if len(sh.open) == 0 && !u.anyFd && len(u.fds) == 0 && !u.everything {
		for _, key := range []string{keyDescriptors, keyStreams} {
			if text := sh.live.hidden[key]; text != "" {
				after.hidden[key] = text
			}
		}
		return
	}
	list := sh.descriptors()
	open := map[inode]string{}
	for _, d := range list {
		if d.path == "" {
			continue
		}
		first := sh.first(d)
		open[d.inode] = first
		key := keyDescriptors
		if len(d.number) == 1 && d.number <= "2" {
			key = keyStreams
		}
		after.hidden[key] += d.number + " " + first + "\n"
		seen.Files.Open[first] = []string{}
		if info, err := os.Stat(d.path); err == nil {
			if sys, is := info.Sys().(*syscall.Stat_t); is && sys.Ino == d.inode.number {
				seen.Files.Open[first] = []string{d.path}
			}
		}
	}
	sh.open, sh.odd = open, oddities(list)
}

// changed reports whether a file is unlike its copy.
func changed(path string, image *kernel.FileBefore) bool {
	now, err := kernel.ReadSpooled(path) // as strictly: it is the path of an open file
	if err != nil {
		return true
	}
	was, err := kernel.ReadSpooled(image.Copy)
	return err != nil || string(now) != string(was)
}

// detach closes descriptors of files.
func (sh *shell) detach(files []string) error {
	for _, d := range sh.descriptors() {
		for _, f := range files {
			if d.path != "" && sh.first(d) == f {
				sh.pending = append(sh.pending, "exec "+d.number+">&-")
				delete(sh.open, d.inode)
			}
		}
	}
	return nil
}
