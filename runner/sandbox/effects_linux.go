package sandbox

import (
	"bufio"
	"io"
	"os"
	"path"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/xstate-engine/xstate/internal/parents"
)

// effects notes what a call does with its paths.
func (s *supervisor) effects(c *call) {
	switch c.act {
	case actOpen:
		s.open(c)
	case actLook:
		s.use(c, &c.to, UseLook)
	case actChroot:
		s.rooted = true
		s.use(c, &c.to, UseLook)
		s.changes(c)
	case actExec:
		s.execute(c)
	case actMake:
		s.create(c, &c.to, UseLook)
	case actSymlink:
		s.create(c, &c.to, UseLook)
		s.changes(c)
	case actRemove:
		s.remove(c)
	case actRename:
		s.rename(c)
	case actLink:
		s.link(c)
	case actMode:
		s.use(c, &c.to, c.looks()|UseMode)
	case actTime:
		s.use(c, &c.to, c.looks()|UseTime)
	case actTruncate:
		s.use(c, &c.to, UseRead|UseWrite)
	}
}

// use notes uses of a path. A missing file cannot be read or changed; see create.
func (s *supervisor) use(c *call, f *found, use Use) {
	if !f.ok {
		use = UseLook | UseAbsent
	}
	s.note(c, f, use)
}

// note notes uses of a path, whatever is there, and saves what is about to change.
func (s *supervisor) note(c *call, f *found, use Use) {
	if s.spec.private(f.path) {
		return
	}
	if use&changes != 0 {
		s.changed(f)
	}
	if use&(UseLook|UseList) != 0 && c.main && s.tells && s.asks(c.Tid) {
		use |= UseAsked
	}
	name := s.nameOf(f)
	fresh := use&UseWrite != 0 && !s.notes.wrote(name)
	a := s.notes.note(c.main, name, use)
	if a == nil || use&changes == 0 {
		return
	}
	image, known := s.notes.before[name]
	if !known {
		image = imageOf(f)
		s.notes.before[name] = image
	}
	a.Before = image
	if !fresh || !worthy(f.path) {
		return
	}
	if err := s.images.save(f, image); err != nil {
		s.notes.unseen("image")
	}
}

// changed notes which file is about to change, or to get another name.
func (s *supervisor) changed(f *found) {
	if f.ok {
		s.notes.report.Changed[FileID{uint64(f.stat.Dev), f.stat.Ino}] = true
	}
}

// asks reports whether a look-up by a thread of the interpreter is not part of an import. While a module is imported, a
// new thread belongs to it: native libraries start threads when they are imported.
func (s *supervisor) asks(tid uint32) bool {
	if len(s.importing) > 0 {
		return !s.importing[tid] && s.met[tid]
	}
	s.met[tid] = true
	return true
}

// told notes that the driver announced a write to a path, and has its image.
func (s *supervisor) told(p string) {
	s.notes.note(true, p, UseWrite|UseTold)
	if _, known := s.notes.before[p]; !known {
		s.notes.before[p] = nil
	}
}

// followed notes the symbolic links on the way to a path.
func (s *supervisor) followed(c *call) {
	for _, link := range s.resolve.links {
		s.note(c, &found{path: link}, UseRead|UseLook)
	}
}

// nameOf is the name of a path in a report: a process has its own folder in /proc under one name.
func (s *supervisor) nameOf(f *found) string {
	if s.resolve.passing && strings.HasPrefix(f.path, "/proc/") {
		own := "/proc/" + strconv.Itoa(groupOf(s.resolve.tid))
		if parents.Holds(own, f.path) {
			return "/proc/self" + f.path[len(own):]
		}
	}
	return f.path
}

// open notes an open by its flags.
func (s *supervisor) open(c *call) {
	flags, f := c.flags, &c.to
	access := flags & unix.O_ACCMODE
	creates := flags&unix.O_CREAT != 0
	switch {
	case flags&unix.O_PATH != 0, flags&unix.O_TMPFILE == unix.O_TMPFILE:
		s.use(c, f, UseLook)
	case f.kind() == unix.S_IFDIR && parents.Holds("/proc", f.path):
		s.use(c, f, UseList)
	case f.kind() == unix.S_IFDIR: // to list it, to put it on the disk (fsync), or to name what is in it
		s.use(c, f, UseLook)
	case !f.ok && creates && flags&unix.O_EXCL != 0:
		s.create(c, f, UseLook)
	case !f.ok && creates && flags&unix.O_TRUNC != 0:
		s.create(c, f, 0) // whatever had been there would be gone
	case !f.ok && creates:
		s.create(c, f, UseLook)
	case creates && flags&unix.O_EXCL != 0:
		s.use(c, f, UseLook)
	case access == unix.O_RDONLY && flags&unix.O_TRUNC == 0:
		s.read(c, f)
	case flags&unix.O_TRUNC != 0:
		s.write(c, f, UseWrite)
	default:
		s.write(c, f, UseRead|UseWrite) // what is not overwritten remains
	}
}

// list notes that an open folder is listed, which takes two calls and more: all but the first find it noted. A folder
// in /proc was noted when it was opened: the path of the open file has the number of its process.
func (s *supervisor) list(c *call, folder string) {
	noted := s.cache(c).noted
	if noted[folder]&mannerList != 0 && len(s.changing) == 0 || folder[0] != '/' || parents.Holds("/proc", folder) {
		return
	}
	s.resolve.reset(s.cache(c), int(c.Tid), "")
	c.to = s.resolve.at(folder)
	if !c.to.ok || !s.valid(&c.notification) {
		return // it has no name any more
	}
	s.use(c, &c.to, UseList)
	if len(s.changing) == 0 {
		noted[folder] |= mannerList
	}
}

func (s *supervisor) read(c *call, f *found) {
	s.memory(f)
	s.use(c, f, UseRead)
}

func (s *supervisor) write(c *call, f *found, use Use) {
	if !writable(f.path) {
		s.use(c, f, UseRead) // the call fails
		return
	}
	s.memory(f)
	if f.kind() == unix.S_IFREG && f.stat.Nlink > 1 && !s.notes.wrote(f.path) {
		s.notes.unseen("hard link") // the other names change, too
	}
	s.use(c, f, use)
}

// memory notes that a process may share memory with one outside this node.
func (s *supervisor) memory(f *found) {
	if f.ok && parents.Holds("/dev/shm", f.path) && !s.notes.wrote(f.path) {
		s.notes.unseen("shared memory")
	}
}

// create notes what comes where nothing is. It succeeds only where nothing is, in a folder that can be written. A call
// that fails where something is depends on what is there: then use is UseLook.
func (s *supervisor) create(c *call, f *found, use Use) {
	if f.ok || !writable(path.Dir(f.path)) {
		s.use(c, f, UseLook)
		return
	}
	s.note(c, f, use|UseAbsent|UseWrite)
}

// writable reports whether this process may write a file or a folder. A process of the box may not more.
func writable(p string) bool { return unix.Access(p, unix.W_OK) == nil }

func (s *supervisor) remove(c *call) {
	f := &c.to
	if !writable(path.Dir(f.path)) {
		s.use(c, f, UseLook)
		return
	}
	switch f.kind() {
	case unix.S_IFDIR:
		s.changes(c)
		if names, err := os.ReadDir(f.path); err != nil || len(names) > 0 {
			s.use(c, f, UseLook|UseList)
			return
		}
	case unix.S_IFLNK:
		s.changes(c)
	}
	s.use(c, f, UseLook|UseWrite)
}

// rename notes that a file, or a folder with its members, moves from one path to another.
func (s *supervisor) rename(c *call) {
	const noReplace, exchange = unix.RENAME_NOREPLACE, unix.RENAME_EXCHANGE
	from, to := &c.to, &c.to2
	if !from.ok || c.flags&noReplace != 0 && to.ok || c.flags&exchange != 0 && !to.ok ||
		!writable(path.Dir(from.path)) || !writable(path.Dir(to.path)) {
		s.use(c, from, UseLook)
		s.use(c, to, UseLook)
		return
	}
	if isLinkOrFolder(from) || isLinkOrFolder(to) {
		s.changes(c)
	}
	s.move(c, from, to, c.flags&exchange != 0)
}

func isLinkOrFolder(f *found) bool { return f.kind() == unix.S_IFLNK || f.kind() == unix.S_IFDIR }

// move notes what a rename does to a path, and to those below it.
func (s *supervisor) move(c *call, from, to *found, exchange bool) {
	members := s.members(from)
	if exchange {
		members = append(members, s.members(to)...)
	}
	s.depart(c, from)
	if exchange {
		s.depart(c, to)
	}
	s.arrive(c, to)
	for _, name := range members {
		a, b := s.resolve.at(join(from.path, name)), s.resolve.at(join(to.path, name))
		s.move(c, &a, &b, exchange)
	}
}

func (s *supervisor) members(f *found) []string {
	if f.kind() != unix.S_IFDIR {
		return nil
	}
	entries, _ := os.ReadDir(f.path)
	names := make([]string, len(entries))
	for i, entry := range entries {
		names[i] = entry.Name()
	}
	return names
}

// depart notes a path whose content goes elsewhere: it was read, and removed.
func (s *supervisor) depart(c *call, f *found) {
	read := UseRead
	if f.kind() == unix.S_IFDIR {
		read = UseList
	}
	s.use(c, f, read|UseWrite)
}

func (s *supervisor) arrive(c *call, f *found) {
	if f.ok {
		s.use(c, f, UseWrite)
		return
	}
	s.note(c, f, UseAbsent|UseWrite)
}

func (s *supervisor) link(c *call) {
	s.use(c, &c.to, UseRead)
	if !c.to.ok {
		return
	}
	if c.to.kind() == unix.S_IFLNK {
		s.changes(c)
	}
	s.changed(&c.to) // the system counts the names of a file
	s.create(c, &c.to2, UseLook)
}

// execute notes a program, and those that run it if it is a script.
func (s *supervisor) execute(c *call) {
	f := c.to
	for range 5 { // the system follows as many
		if f.kind() != unix.S_IFREG || f.stat.Mode&0o111 == 0 {
			s.use(c, &f, UseLook)
			return
		}
		s.use(c, &f, UseRead)
		addOnce(&s.notes.report.Programs, f.path)
		interpreter := interpreterOf(f.path)
		if interpreter == "" {
			return
		}
		if interpreter[0] != '/' {
			folder, ok := s.mem.absolute(int(c.Tid), unix.AT_FDCWD, []byte(interpreter))
			if !ok {
				return
			}
			interpreter = string(folder)
		}
		f = s.resolve.find(rooted(s.resolve.root, interpreter), true)
		s.followed(c)
	}
}

// interpreterOf is the program in the first line of a script; "" of another program.
func interpreterOf(p string) string {
	f, err := os.OpenFile(p, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return ""
	}
	defer f.Close()
	line, err := bufio.NewReader(io.LimitReader(f, 256)).ReadString('\n')
	if err != nil && err != io.EOF || !strings.HasPrefix(line, "#!") {
		return ""
	}
	if fields := strings.Fields(line[2:]); len(fields) > 0 {
		return fields[0]
	}
	return ""
}
