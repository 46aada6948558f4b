package sandbox

import (
	"bytes"
	"os"
	"slices"
	"strconv"
	"sync"

	"github.com/xstate-engine/xstate/runner/sandbox/keeper"
	"golang.org/x/sys/unix"
)

// supervisor decides about the calls of one box, and notes them. One thread serves; other goroutines take reports.
type supervisor struct {
	spec  Spec
	calls callers
	guard *guard // nil: no bounds
	// recorder is the proxy of a box without bounds whose requests are recorded
	recorder *recorder
	images   images
	keeper   int
	tracer   int // the process that traces the box; 0: none

	mu       sync.Mutex
	call     call // that is decided about: a new one for each would be new memory
	mem      tracee
	resolve  resolver
	caches   [2]*caches        // the main process's, and those of all others
	rooted   bool              // a process may have another root
	changing []int             // threads whose last call changes links or folders
	value    int64             // what that call returns
	made     bool              // the supervisor made the call that it handles, instead of the program
	later    func() unix.Errno // it is about to make the call, which may take long
	main     int               // the interpreter; 0: it has not started
	tid      int               // the serving thread's
	notes    *notes
	inside   bool // between two marks
	tells    bool // the driver announces when it imports
	// importing are the threads of the interpreter that import a module
	importing map[uint32]bool
	met       map[uint32]bool // threads of the interpreter that looked something up while none imported
	mayRun    bool            // child processes may be alive
	left      map[int]bool    // processes that were alive at the end of the last node, and are not helpers
	seen      map[int]bool    // threads of other processes than the interpreter
	ending    bool            // every caller is killed
	over      bool            // no processes are left
	done      map[int]*Report
	taken     *sync.Cond    // waits for a report, or the end
	ended     chan struct{} // closed with over
}

func newSupervisor(spec Spec, calls callers, guard *guard, keeperPid int) *supervisor {
	s := &supervisor{
		spec: spec, calls: calls, guard: guard, keeper: keeperPid,
		images: images{spool: spec.Spool, journal: spec.Journal}, caches: [2]*caches{newCaches(), newCaches()},
		notes: newNotes(0), importing: map[uint32]bool{}, met: map[uint32]bool{},
		seen: map[int]bool{}, left: map[int]bool{}, done: map[int]*Report{},
		ended: make(chan struct{}),
	}
	s.taken = sync.NewCond(&s.mu)
	return s
}

// isMain reports whether a thread is one of the interpreter. The first call comes from the keeper, which starts it, and
// the second from the interpreter: it is known before it runs its own code.
func (s *supervisor) isMain(tid int) bool {
	launching := s.guard != nil && s.guard.launching.Load()
	if s.main == 0 && !launching && !inGroup(s.keeper, tid) {
		s.main, s.mayRun = tid, false
	}
	return s.main == 0 || inGroup(s.main, tid)
}

// launched says which process is the interpreter, where a launcher starts it.
func (s *supervisor) launched(pid int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.main, s.mayRun = pid, false
}

// silent reports whether a call is of no interest: one of the interpreter between two nodes.
func (s *supervisor) silent(c *call) bool { return c.main && !s.inside && s.guard == nil }

// unnoted reports whether a call does not come into a report.
func (s *supervisor) unnoted(c *call) bool { return c.main && !s.inside }

// begin starts a report. It includes the accesses of child processes since the last one.
func (s *supervisor) begin(node int) {
	s.notes.report.Node, s.inside = node, true
	clear(s.importing)
	clear(s.met)
	if s.guard != nil {
		s.guard.begin()
	}
	s.forget()
}

// end completes a report.
func (s *supervisor) end() {
	s.noteRunning(&s.notes.report)
	if s.guard != nil {
		s.guard.end(&s.notes.report)
	} else if s.recorder != nil {
		s.recorder.take(&s.notes.report)
	}
	s.done[s.notes.report.Node] = &s.notes.report
	s.notes, s.inside = newNotes(0), false
	s.forget()
	s.taken.Broadcast()
}

// noteRunning completes what a report says of child processes that are alive and have not begun to end. A process below
// one that was left before belongs to that one. It looks only if one was started since the last time that there was
// none.
func (s *supervisor) noteRunning(r *Report) {
	if !s.mayRun {
		return
	}
	theirs, left := s.left, map[int]bool{}
	for _, pid := range keeper.Descendants(s.keeper, nil) { // parents first
		if pid == s.main || pid == s.tracer || keeper.Exiting(pid) {
			continue
		}
		r.Running = true
		if s.helps(pid) {
			continue
		}
		left[pid], r.Serving = true, true
		if theirs[pid] || theirs[keeper.Parent(pid)] {
			theirs[pid] = true
		} else {
			r.Leaves = true
		}
	}
	if s.left = left; !r.Running {
		s.mayRun = false
		clear(s.seen)
	}
}

// helps reports whether a process is a helper, see Spec.Helpers.
func (s *supervisor) helps(pid int) bool {
	line, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
	return slices.ContainsFunc(s.spec.Helpers, func(part string) bool { return bytes.Contains(line, []byte(part)) })
}

// take returns the report of a node, once it is complete. A box that has ended completes the one that it was at.
func (s *supervisor) take(node int, given func() error) (Report, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		if r := s.done[node]; r != nil {
			delete(s.done, node)
			return *r, nil
		}
		if s.over {
			last := s.notes
			s.notes = newNotes(0)
			if last.report.Node != node {
				last = newNotes(node)
			}
			if s.guard != nil {
				s.guard.last(&last.report)
			}
			return last.report, ErrEnded
		}
		if err := given(); err != nil {
			return Report{}, err
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

// finish says that no processes remain.
func (s *supervisor) finish() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over, s.tid = true, 0
	s.calls.close()
	close(s.ended)
	s.taken.Broadcast()
}

// nudge makes the thread that serves look whether all have ended: before Linux 6.11 its wait does not end by itself.
func (s *supervisor) nudge() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tid != 0 {
		_ = unix.Tgkill(unix.Getpid(), s.tid, unix.SIGURG) // the runtime of Go ignores it
	}
}

func (s *supervisor) valid(n *notification) bool { return s.calls.valid(n) }

// decide asks the bounds.
func (s *supervisor) decide(c *call) unix.Errno {
	if s.guard == nil {
		return 0
	}
	fail, denial := s.guard.decide(c)
	s.denied(denial)
	return fail
}

// denied notes that the bounds forbade something, once.
func (s *supervisor) denied(d *Denial) {
	if d != nil && !slices.Contains(s.notes.report.Denied, *d) {
		s.notes.report.Denied = append(s.notes.report.Denied, *d)
	}
}

func (s *supervisor) cache(c *call) *caches {
	if c.main {
		return s.caches[0]
	}
	return s.caches[1]
}

func (s *supervisor) forget() {
	s.caches[0].clear()
	s.caches[1].clear()
}

// changes notes that a call changes links or folders. Until the thread makes its next call, or ends, nothing that is
// resolved is kept: the change happens after the answer.
func (s *supervisor) changes(c *call) {
	s.forget()
	s.changing = append(s.changing, int(c.Tid))
}

// settled notes that a thread calls again: what its last call changed has happened.
func (s *supervisor) settled(tid int) {
	for i := 0; i < len(s.changing); {
		if t := s.changing[i]; t != tid && alive(t) {
			i++
			continue
		}
		s.changing = append(s.changing[:i], s.changing[i+1:]...)
		s.forget()
	}
}
