package sandbox

import (
	"bytes"
	"os"
	"runtime"
	"strconv"
	"sync"
	"unsafe"

	"github.com/xstate-engine/xstate/runner/sandbox/keeper"
	"golang.org/x/sys/unix"
)

// supervisor answers the calls of one box. Its thread is the only one that serves; others take reports.
type supervisor struct {
	box      *Box
	calls    callers
	bounds   enforcement
	images   images
	mem      tracee
	resolve  resolver
	caches   [2]*caches // of the main process, and of all others
	rooted   bool       // a process may have another root
	changing []int      // threads whose last call changes links or folders

	mu     sync.Mutex
	main   int // the interpreter; 0: it has not started
	tid    int // of the thread that serves
	notes  *notes
	inside bool // between two marks
	mayRun bool // child processes may be alive
	ending bool // every caller is killed
	seen   map[int]bool
	taken  *sync.Cond
	done   map[int]*Report
	over   bool // there are no processes any more
}

func newSupervisor(box *Box, calls callers, bounds enforcement) *supervisor {
	s := &supervisor{
		box: box, calls: calls, bounds: bounds, notes: newNotes(0), seen: map[int]bool{}, done: map[int]*Report{},
		images: images{spool: box.spec.Spool, journal: box.spec.Journal}, caches: [2]*caches{newCaches(), newCaches()},
	}
	s.taken = sync.NewCond(&s.mu)
	return s
}

// serve answers calls until no process of the box is left. Calls of a survivor would fail if it ended before.
func (s *supervisor) serve() {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer s.finish()
	s.mu.Lock()
	s.tid = unix.Gettid()
	s.mu.Unlock()
	var n notification
	for s.calls.receive(&n) {
		r := response{ID: n.ID}
		s.mu.Lock()
		fail := s.handle(&n)
		s.mu.Unlock()
		if fail == 0 {
			r.Flags = unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE
		} else {
			r.Error = -int32(fail)
		}
		s.calls.answer(&r)
	}
}

func (s *supervisor) finish() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over, s.tid = true, 0
	s.calls.close()
	s.taken.Broadcast()
}

// nudge makes the thread that serves look whether all have ended: before Linux 6.11 the wait does not end by itself.
func (s *supervisor) nudge() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tid != 0 {
		_ = unix.Tgkill(unix.Getpid(), s.tid, unix.SIGURG) // the runtime of Go ignores it
	}
}

func (s *supervisor) valid(n *notification) bool { return s.calls.valid(n) }

// call is one call of a process of the box.
type call struct {
	notification
	shape
	main bool
	to   found  // what the first path leads to
	to2  found  // what the second path leads to
	peer string // of connect and bind: the address
	// flags are those of open, or AT_ flags.
	flags  uint64
	manner manner
	kept   string // the first path, from the root, as the process gave it
}

const noCall = -1

// handle decides about one call, and notes it. It returns the error with which the call fails; 0: it goes on.
func (s *supervisor) handle(n *notification) unix.Errno {
	c := call{notification: *n, main: s.main == 0 || inGroup(s.main, int(n.Tid))}
	if s.ending {
		if s.valid(n) {
			_ = unix.Kill(int(n.Tid), unix.SIGKILL)
		}
		return unix.EPERM
	}
	if !c.main {
		s.seen[int(n.Tid)] = true
	}
	if n.Arch != ownArchitecture || int(n.Number) >= len(shapes) {
		s.notes.unseen("foreign")
		return s.decide(&c)
	}
	c.shape = shapes[n.Number]
	s.settled(int(n.Tid))
	if c.path >= 0 {
		return s.onPath(&c)
	}
	return s.onOther(&c)
}

// silent reports whether a call is of no interest: the driver's own between two nodes.
func (s *supervisor) silent(c *call) bool { return c.main && !s.inside && s.bounds.decide == nil }

// onPath handles a call with a path. Most end at the lookup of a path that has been noted.
func (s *supervisor) onPath(c *call) unix.Errno {
	tid := int(c.Tid)
	c.readFlags(tid)
	text, ok := s.mem.path(tid, c.Args[c.path])
	if !ok {
		if c.Args[c.path] == 0 && c.act == actTime {
			return s.onOpenFile(c, int32(c.Args[0]))
		}
		if c.Args[c.path] != 0 && s.valid(&c.notification) && !s.silent(c) {
			s.notes.unseen("unreadable")
		}
		return s.decide(c)
	}
	if bytes.HasPrefix(text, markPrefix) {
		return s.mark(c, string(text[len(markPrefix):]))
	}
	if s.silent(c) {
		return 0
	}
	if len(text) == 0 {
		if c.flags&unix.AT_EMPTY_PATH == 0 || c.act == actOpen {
			return s.decide(c) // there is no such file
		}
		return s.onOpenFile(c, c.folderArg(c.folder))
	}
	key, ok := s.mem.absolute(tid, c.folderArg(c.folder), text)
	if !ok {
		if !s.valid(&c.notification) {
			return 0
		}
		return s.decide(c) // a folder that is none
	}
	if c.manner != 0 && len(s.changing) == 0 && s.cache(c).noted[string(key)]&c.manner != 0 {
		return 0
	}
	return s.first(c, string(key))
}

func (s *supervisor) cache(c *call) *caches {
	if c.main {
		return s.caches[0]
	}
	return s.caches[1]
}

// folderArg is the descriptor that a path is relative to.
func (c *call) folderArg(i int8) int32 {
	if i < 0 {
		return unix.AT_FDCWD
	}
	return int32(c.Args[i])
}

// readFlags reads the flags, and derives the manner: calls with one have no other effect than to use the path.
func (c *call) readFlags(tid int) {
	if c.shape.flags >= 0 {
		c.flags = c.Args[c.shape.flags]
	}
	switch c.act {
	case actCreate:
		c.flags = unix.O_WRONLY | unix.O_CREAT | unix.O_TRUNC
	case actOpenHow:
		var how [8]byte
		if readMemory(tid, c.Args[2], how[:]) == len(how) {
			c.flags = *(*uint64)(unsafe.Pointer(&how[0]))
		}
		c.act = actOpen
	case actLook:
		c.manner = mannerLook
		if !c.follows() {
			c.manner = mannerOnLink
		}
		return
	}
	if c.act == actCreate {
		c.act = actOpen
	}
	if c.act == actOpen {
		c.manner = openManner(c.flags)
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

// markPrefix begins the paths by which the driver speaks to the supervisor.
var markPrefix = []byte("/.xstate/")

// mark handles a mark. Only the interpreter's own count: a child process could have inherited the driver's code.
func (s *supervisor) mark(c *call, text string) unix.Errno {
	verb, rest, _ := bytes.Cut([]byte(text), []byte("/"))
	if !c.main || !s.valid(&c.notification) {
		return unix.ENOENT
	}
	switch string(verb) {
	case "begin":
		if node, err := strconv.Atoi(string(rest)); err == nil {
			s.begin(node)
		}
	case "end":
		if node, err := strconv.Atoi(string(rest)); err == nil && node == s.notes.report.Node {
			s.end()
		}
	case "wrote":
		if s.inside {
			s.told("/" + string(bytes.TrimLeft(rest, "/")))
		}
	}
	return unix.ENOENT
}

// begin starts a report. What children did since the last one is in it.
func (s *supervisor) begin(node int) {
	s.notes.report.Node, s.inside = node, true
	s.forget()
}

func (s *supervisor) forget() {
	s.caches[0].clear()
	s.caches[1].clear()
	s.changing = s.changing[:0]
}

// end completes a report.
func (s *supervisor) end() {
	s.notes.report.Running = s.running()
	s.done[s.notes.report.Node] = &s.notes.report
	s.notes, s.inside = newNotes(0), false
	s.forget()
	s.taken.Broadcast()
}

// running reports whether a process other than the interpreter is alive. It looks only if one was started since the
// last time that there was none.
func (s *supervisor) running() bool {
	if !s.mayRun {
		return false
	}
	s.mayRun = s.box.others()
	if !s.mayRun {
		clear(s.seen)
	}
	return s.mayRun
}

// take returns the report of a node, once it is complete. A box that has ended completes the one that it was at.
func (s *supervisor) take(node int, ended func() error) (Report, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		if r := s.done[node]; r != nil {
			delete(s.done, node)
			return *r, nil
		}
		if err := ended(); err != nil {
			return Report{}, err
		}
		if s.over {
			r := s.notes.report
			s.notes = newNotes(0)
			if r.Node != node {
				r = newNotes(node).report
			}
			return r, ErrEnded
		}
		s.taken.Wait()
	}
}

// wake makes those who wait for a report look again.
func (s *supervisor) wake() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.taken.Broadcast()
}

// changes notes that a call changes links or folders. Until the thread makes its next call, or ends, nothing that is
// resolved may be kept: the change happens after this answer.
func (s *supervisor) changes(tid int) {
	s.caches[0].clear()
	s.caches[1].clear()
	s.changing = append(s.changing, tid)
}

// settled notes that a thread calls again.
func (s *supervisor) settled(tid int) {
	for i := 0; i < len(s.changing); i++ {
		if t := s.changing[i]; t == tid || !alive(t) {
			s.changing = append(s.changing[:i], s.changing[i+1:]...)
			i--
			if len(s.changing) == 0 {
				s.caches[0].clear()
				s.caches[1].clear()
			}
		}
	}
}

// started says which process is the interpreter. Before, all calls are those of the keeper's start.
func (s *supervisor) started(pid int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.main = pid
	s.mayRun = false
}

// endRest ends what a keeper left that was killed: every process that made a call, with those below it, and every one
// that makes a call from now on.
func (s *supervisor) endRest() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ending = true
	for pid := range s.seen {
		if !filtered(pid) {
			continue // the number is another process' now
		}
		for _, below := range keeper.Descendants(pid, nil) {
			_ = unix.Kill(below, unix.SIGKILL)
		}
		_ = unix.Kill(pid, unix.SIGKILL)
	}
}

// filtered reports whether a process has a filter.
func filtered(pid int) bool {
	text, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	return bytes.Contains(text, []byte("\nSeccomp:\t2"))
}
