package sandbox

import (
	"bufio"
	"io"
	"os"
	"path"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// first handles a path that has not been noted in this manner.
func (s *supervisor) first(c *call, key string) unix.Errno {
	root := ""
	if s.rooted {
		root = rootOf(int(c.Tid))
	}
	s.resolve.reset(s.cache(c), int(c.Tid), root)
	if strings.HasSuffix(key, deleted) || strings.Contains(key, deleted+"/") {
		s.notes.unseen("removed folder")
	}
	c.kept = key
	c.to = s.resolve.find(rooted(root, key), c.follows())
	if c.path2 >= 0 {
		text, ok := s.mem.path(int(c.Tid), c.Args[c.path2])
		if !ok {
			return 0 // the call fails
		}
		key2, ok := s.mem.absolute(int(c.Tid), c.folderArg(c.folder2), text)
		if !ok {
			return 0
		}
		c.to2 = s.resolve.find(rooted(root, string(key2)), false)
	}
	if !s.valid(&c.notification) {
		return 0
	}
	if fail := s.decide(c); fail != 0 {
		return fail
	}
	if c.main && !s.inside {
		return 0
	}
	s.followed(c)
	s.effects(c)
	if c.manner != 0 && !s.resolve.passing && len(s.changing) == 0 {
		s.cache(c).noted[key] |= c.manner
	}
	return 0
}

// rooted puts a path below what the process takes for the root. The path of an open file has it already.
func rooted(root, p string) string {
	if root == "" || within(p, root) {
		return p
	}
	return root + p
}

// onOpenFile handles a call on an open file.
func (s *supervisor) onOpenFile(c *call, fd int32) unix.Errno {
	if c.act == actLook || s.silent(c) {
		return s.decide(c) // the file was noted when it was opened
	}
	n := s.mem.link(int(c.Tid), fd)
	if n <= 0 || s.mem.key[0] != '/' {
		return s.decide(c)
	}
	s.resolve.reset(s.cache(c), int(c.Tid), "")
	c.to = s.resolve.at(string(s.mem.key[:n]))
	if !c.to.ok || !s.valid(&c.notification) {
		return s.decide(c) // it has no name any more
	}
	fail := s.decide(c)
	if fail == 0 && (!c.main || s.inside) {
		s.effects(c)
	}
	return fail
}

// onOther handles a call without a path.
func (s *supervisor) onOther(c *call) unix.Errno {
	if c.onFile {
		return s.onOpenFile(c, int32(c.Args[0]))
	}
	switch c.act {
	case actFork:
		s.mayRun, s.notes.spawn = true, true
	case actConnect, actBind:
		return s.onSocket(c)
	case actShared:
		s.notes.unseen("shared memory")
	case actMount:
		s.notes.unseen("mount")
	case actHandle:
		s.notes.unseen("file handle")
	}
	return s.decide(c)
}

// decide asks the bounds.
func (s *supervisor) decide(c *call) unix.Errno {
	if s.bounds.decide == nil {
		return 0
	}
	fail, denial := s.bounds.decide(c)
	if denial != nil {
		s.notes.report.Denied = append(s.notes.report.Denied, *denial)
	}
	return fail
}

// effects notes what a call does with its paths.
func (s *supervisor) effects(c *call) {
	switch c.act {
	case actOpen:
		s.open(c)
	case actLook:
		s.use(c.main, &c.to, UseLook)
	case actChroot:
		s.rooted = true
		s.use(c.main, &c.to, UseLook)
		s.changes(int(c.Tid))
	case actExec:
		s.execute(c)
	case actMake:
		s.create(c, &c.to)
	case actSymlink:
		s.create(c, &c.to)
		s.changes(int(c.Tid))
	case actRemove:
		s.remove(c)
	case actRename:
		s.rename(c)
	case actLink:
		s.link(c)
	case actMode:
		s.use(c.main, &c.to, UseLook|UseMode)
	case actTime:
		s.use(c.main, &c.to, UseLook|UseTime)
	case actTruncate:
		s.use(c.main, &c.to, UseRead|UseWrite)
	}
}

// use notes uses of a path, with an image where it changes. What is not there cannot be read or changed; see create.
func (s *supervisor) use(main bool, f *found, use Use) {
	if !f.ok {
		use = UseLook | UseAbsent
	}
	s.note(main, f, use)
}

// note notes uses of a path, whatever is there.
func (s *supervisor) note(main bool, f *found, use Use) {
	if within(f.path, s.box.spec.Store) || within(f.path, s.box.spec.Spool) {
		return
	}
	const change = UseWrite | UseMode | UseTime
	fresh := use&UseWrite != 0 && !s.notes.wrote(f.path)
	a := s.notes.note(main, s.nameOf(f), use)
	if a == nil || use&change == 0 || !worthy(f.path) {
		return
	}
	if a.Before == nil && f.ok && a.Use&UseTold == 0 {
		a.Before = imageOf(f)
	}
	if !fresh || a.Use&UseTold != 0 {
		return
	}
	if err := s.images.save(f, a.Before); err != nil {
		s.notes.unseen("image")
	}
}

// nameOf is the name of a path in a report: a process has its own folder in /proc under one name.
func (s *supervisor) nameOf(f *found) string {
	if s.resolve.passing && strings.HasPrefix(f.path, "/proc/") {
		own := "/proc/" + strconv.Itoa(groupOf(s.resolve.tid))
		if within(f.path, own) {
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
		s.use(c.main, f, UseLook)
	case f.kind() == unix.S_IFDIR:
		s.use(c.main, f, UseList)
	case !f.ok && creates:
		s.create(c, f)
	case creates && flags&unix.O_EXCL != 0:
		s.use(c.main, f, UseLook)
	case access == unix.O_RDONLY && flags&unix.O_TRUNC == 0:
		s.read(c, f)
	case flags&unix.O_TRUNC != 0:
		s.write(c, f, UseWrite)
	default:
		s.write(c, f, UseRead|UseWrite) // what is not overwritten remains
	}
}

func (s *supervisor) read(c *call, f *found) {
	s.memory(f)
	s.use(c.main, f, UseRead)
}

func (s *supervisor) write(c *call, f *found, use Use) {
	s.memory(f)
	if f.ok && f.kind() == unix.S_IFREG && f.stat.Nlink > 1 && !s.notes.wrote(f.path) {
		s.notes.unseen("hard link") // the other names change, too
	}
	s.use(c.main, f, use)
}

// memory notes that a process may share memory with one outside this node.
func (s *supervisor) memory(f *found) {
	if f.ok && within(f.path, "/dev/shm") && !s.notes.wrote(f.path) {
		s.notes.unseen("shared memory")
	}
}

// create notes what comes where nothing is. It succeeds only in a folder that is there, and where nothing is.
func (s *supervisor) create(c *call, f *found) {
	var stat unix.Stat_t
	switch {
	case f.ok:
		s.use(c.main, f, UseLook)
	case unix.Lstat(path.Dir(f.path), &stat) != nil:
		s.use(c.main, f, UseLook|UseAbsent)
	default:
		s.note(c.main, f, UseLook|UseAbsent|UseWrite)
	}
}

func (s *supervisor) remove(c *call) {
	f := &c.to
	switch f.kind() {
	case unix.S_IFDIR:
		s.changes(int(c.Tid))
		if names, err := os.ReadDir(f.path); err != nil || len(names) > 0 {
			s.use(c.main, f, UseLook|UseList)
			return
		}
	case unix.S_IFLNK:
		s.changes(int(c.Tid))
	}
	s.use(c.main, f, UseLook|UseWrite)
}

// rename notes that a file or a folder with all that is in it leaves one path, and comes to another.
func (s *supervisor) rename(c *call) {
	const noReplace, exchange = unix.RENAME_NOREPLACE, unix.RENAME_EXCHANGE
	from, to := &c.to, &c.to2
	if !from.ok || c.flags&noReplace != 0 && to.ok || c.flags&exchange != 0 && !to.ok {
		s.use(c.main, from, UseLook)
		s.use(c.main, to, UseLook)
		return
	}
	if isLinkOrFolder(from) || isLinkOrFolder(to) {
		s.changes(int(c.Tid))
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
	s.use(c.main, f, read|UseWrite)
}

func (s *supervisor) arrive(c *call, f *found) {
	if f.ok {
		s.use(c.main, f, UseWrite)
		return
	}
	s.note(c.main, f, UseAbsent|UseWrite)
}

func (s *supervisor) link(c *call) {
	s.use(c.main, &c.to, UseRead)
	if !c.to.ok {
		return
	}
	if c.to.kind() == unix.S_IFLNK {
		s.changes(int(c.Tid))
	}
	s.create(c, &c.to2)
}

// told notes that the driver has the image of a path that it writes now.
func (s *supervisor) told(p string) {
	if a := s.notes.note(true, p, UseWrite|UseTold); a != nil && a.Before == nil {
		a.Use |= UseTold
	}
}

// execute notes a program, and those that run it if it is a script.
func (s *supervisor) execute(c *call) {
	f := c.to
	for range 5 { // the system follows as many
		if f.kind() != unix.S_IFREG || f.stat.Mode&0o111 == 0 {
			s.use(c.main, &f, UseLook)
			return
		}
		s.use(c.main, &f, UseRead)
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

// followed notes the symbolic links on the way to a path.
func (s *supervisor) followed(c *call) {
	for _, link := range s.resolve.links {
		s.note(c.main, &found{path: link}, UseRead|UseLook)
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
