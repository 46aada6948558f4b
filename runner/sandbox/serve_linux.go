package sandbox

import (
	"bytes"
	"os"
	"runtime"
	"strconv"
	"time"

	"github.com/xstate-engine/xstate/runner/sandbox/keeper"
	"golang.org/x/sys/unix"
)

// serve answers calls until no process of the box is left. Calls of a survivor would fail if it ended before.
func (s *supervisor) serve() {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer s.finish()
	s.mu.Lock()
	s.tid = unix.Gettid()
	s.mu.Unlock()
	var n notification
	var r response
	for s.calls.receive(&n) {
		s.answer(&n, &r)
	}
}

// answer decides about a call, and lets it through or fails it.
func (s *supervisor) answer(n *notification, r *response) {
	s.mu.Lock()
	s.made, s.later, s.value = false, nil, 0
	fail := s.handle(n)
	made, later, value := s.made, s.later, s.value
	s.mu.Unlock()
	if later != nil {
		id := n.ID
		go func() { s.send(&response{ID: id}, later(), true) }()
		return
	}
	*r = response{ID: n.ID, Value: value}
	s.send(r, fail, made)
}

// send sends an answer. A call that the supervisor made itself is not let through: it is over.
func (s *supervisor) send(r *response, fail unix.Errno, made bool) {
	r.Error = -int32(fail)
	if fail == 0 && !made {
		r.Flags = unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE
	}
	s.calls.answer(r) // a caller that is gone needs none
}

// handle decides about one call, and notes it. It returns the error with which the call fails; 0: it is let through.
func (s *supervisor) handle(n *notification) unix.Errno {
	c := &s.call
	*c = call{notification: *n, main: s.isMain(int(n.Tid))}
	if s.ending {
		if s.valid(n) {
			_ = unix.Kill(int(n.Tid), unix.SIGKILL)
		}
		return unix.EPERM
	}
	s.settled(int(n.Tid))
	if !c.main {
		s.seen[int(n.Tid)] = true
		if !s.inside {
			s.notes.unseen("process left running")
		}
	}
	if n.Arch != ownArchitecture || n.Number < 0 || int(n.Number) >= len(shapes) {
		if !s.unnoted(c) {
			s.notes.unseen("foreign")
		}
		return s.decide(c)
	}
	c.shape = shapes[n.Number]
	switch {
	case c.path >= 0 && c.act != actNone:
		return s.onPath(c)
	case c.onFile:
		return s.onOpenFile(c, int32(c.Args[0]))
	}
	return s.onOther(c)
}

// onPath handles a call with a path. Most end at the lookup of a path that has been noted.
func (s *supervisor) onPath(c *call) unix.Errno {
	address := c.Args[c.path]
	if address == 0 && c.act == actTime {
		return s.onOpenFile(c, int32(c.Args[0]))
	}
	text, readable := s.mem.path(int(c.Tid), address)
	if bytes.HasPrefix(text, markPrefix) {
		return s.mark(c, text[len(markPrefix):])
	}
	if s.silent(c) {
		s.rooted = s.rooted || c.act == actChroot
		return 0
	}
	if !readable {
		if s.mem.unreadable && s.valid(&c.notification) && !s.unnoted(c) {
			s.notes.unseen("unreadable")
		}
		return s.decide(c)
	}
	c.readFlags()
	folder := c.folderArg(c.folder)
	if len(text) == 0 {
		if c.act == actOpen || c.flags&unix.AT_EMPTY_PATH == 0 {
			return s.decide(c) // the file does not exist
		}
		return s.onOpenFile(c, folder)
	}
	key, ok := s.mem.absolute(int(c.Tid), folder, text)
	if !ok {
		return s.decide(c) // the folder is none
	}
	counted := s.guard != nil && s.guard.counts(c)
	if c.manner != 0 && !counted && len(s.changing) == 0 && s.cache(c).noted[string(key)]&c.manner != 0 {
		return 0
	}
	return s.first(c, string(key))
}

// first handles a path that has not been noted in this manner.
func (s *supervisor) first(c *call, key string) unix.Errno {
	root := ""
	if s.rooted {
		root = rootOf(int(c.Tid))
	}
	removed := s.mem.folderRemoved()
	s.resolve.reset(s.cache(c), int(c.Tid), root)
	c.to = s.resolve.find(rooted(root, key), c.follows())
	if c.path2 >= 0 {
		text, ok := s.mem.path(int(c.Tid), c.Args[c.path2])
		if !ok {
			return s.decide(c) // the call fails
		}
		key2, ok := s.mem.absolute(int(c.Tid), c.folderArg(c.folder2), text)
		if !ok {
			return s.decide(c)
		}
		removed = removed || s.mem.folderRemoved()
		c.to2 = s.resolve.find(rooted(root, string(key2)), false)
	}
	if !s.valid(&c.notification) {
		return 0
	}
	fail := s.decide(c)
	if s.unnoted(c) {
		return fail
	}
	if fail != 0 {
		if c.act == actLook {
			s.hidden(c)
		}
		return fail
	}
	if s.prints(c) && s.openToAppend(c) {
		return 0
	}
	if removed {
		s.notes.unseen("removed folder")
	}
	s.followed(c)
	s.effects(c)
	// A write that fails may succeed the next time: when its folder has been made.
	failed := c.manner == mannerWrite && !s.notes.wrote(c.to.path)
	if c.manner != 0 && !failed && !s.resolve.passing && len(s.changing) == 0 {
		s.cache(c).noted[key] |= c.manner
	}
	return 0
}

// hidden notes a look at what the bounds hide. Without them, a program may go on to list a folder that it finds.
func (s *supervisor) hidden(c *call) {
	use := UseLook
	if c.to.ok && c.to.kind() == unix.S_IFDIR {
		use |= UseList
	}
	s.use(c, &c.to, use)
	if c.to.ok {
		s.notes.report.Hidden[c.to.path] = true
	}
}

// onOpenFile handles a call on an open file.
func (s *supervisor) onOpenFile(c *call, fd int32) unix.Errno {
	if c.act == actLook || s.silent(c) {
		return s.decide(c) // the file was noted when it was opened
	}
	n := s.mem.link(int(c.Tid), fd)
	if c.act == actList { // the bounds decided when the folder was opened
		if n > 0 && !s.unnoted(c) {
			s.list(c, string(s.mem.key[:n]))
		}
		return 0
	}
	if n == 0 || s.mem.key[0] != '/' {
		return s.decide(c)
	}
	s.resolve.reset(s.cache(c), int(c.Tid), "")
	c.to = s.resolve.at(string(s.mem.key[:n]))
	if !c.to.ok || !s.valid(&c.notification) {
		return s.decide(c) // it has no name any more
	}
	fail := s.decide(c)
	if fail == 0 && !s.unnoted(c) {
		s.effects(c)
	}
	return fail
}

// onOther handles a call without a path.
func (s *supervisor) onOther(c *call) unix.Errno {
	switch c.act {
	case actFork:
		s.mayRun = true
	case actConnect, actBind:
		return s.onSocket(c)
	case actListen:
		if s.guard != nil {
			return s.listen(c)
		}
	}
	if what := unfollowed[c.act]; what != "" && !s.unnoted(c) {
		s.notes.unseen(what)
	}
	return s.decide(c)
}

// unfollowed are the actions whose effects are not seen.
var unfollowed = map[action]string{actShared: "shared memory", actMount: "mount", actHandle: "file handle"}

// markPrefix begins the paths by which the driver speaks to the supervisor.
var markPrefix = []byte("/.xstate/")

// mark handles a mark. Only the interpreter's own count: a child process could have inherited the driver's code.
func (s *supervisor) mark(c *call, text []byte) unix.Errno {
	verb, rest, _ := bytes.Cut(text, []byte("/"))
	if !c.main || !s.valid(&c.notification) {
		return unix.ENOENT
	}
	node, err := strconv.Atoi(string(rest))
	switch {
	case string(verb) == "begin" && err == nil:
		s.begin(node)
	case string(verb) == "end" && err == nil && s.inside && node == s.notes.report.Node:
		s.end()
	case string(verb) == "import" && string(rest) == "told":
		s.tells = true
	case string(verb) == "import" && s.inside && string(rest) == "begin":
		s.importing[c.Tid] = true
	case string(verb) == "import" && s.inside:
		delete(s.importing, c.Tid)
		s.forget() // the same path counts when it is looked up again
	case string(verb) == "wrote" && s.inside:
		s.told("/" + string(bytes.TrimLeft(rest, "/")))
	}
	return unix.ENOENT
}

// endRest ends what a killed keeper left: every process that made a call, with those below it, and every one that makes
// a call from now on. It waits until there are none, but not for ever: a process that never makes a call is not known.
func (s *supervisor) endRest() {
	s.mu.Lock()
	s.ending = true
	s.seen[s.main] = true
	for pid := range s.seen {
		if !filtered(pid) {
			continue // the number is another process' now
		}
		for _, below := range keeper.Descendants(pid, nil) {
			_ = unix.Kill(below, unix.SIGKILL)
		}
		_ = unix.Kill(pid, unix.SIGKILL)
	}
	s.mu.Unlock()
	for range 100 {
		s.nudge()
		select {
		case <-s.ended:
			return
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// filtered reports whether a process has a filter.
func filtered(pid int) bool {
	text, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	return bytes.Contains(text, []byte("\nSeccomp:\t2"))
}
