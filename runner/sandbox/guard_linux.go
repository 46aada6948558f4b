package sandbox

import (
	"fmt"
	"net/netip"
	"os"
	"path"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/xstate-engine/xstate/internal/parents"
	"github.com/xstate-engine/xstate/runner/sandbox/keeper"
	"github.com/xstate-engine/xstate/runner/sandbox/proxy"
	"golang.org/x/sys/unix"
)

// guard decides for the supervisor about the calls of one bounded box. The memory of a program that it reads can change
// before the system reads it. So it says what is denied, and for most calls something else enforces it: see package
// documentation. The exceptions are sockets, which the supervisor connects itself, and numbers.
type guard struct {
	spec      Spec
	offers    Offers
	allowed   allowed
	temp      string      // the folder for temporary files
	caches    string      // the folder for caches of libraries
	covered   bool        // what is denied is empty in the view of the box
	executed  bool        // a program was started
	launching atomic.Bool // bubblewrap is not done: its calls are not the program's
	keeper    int         // its process; 0: the box has not started

	// Without a network namespace, the supervisor connects to the proxy instead of to its address.
	proxy   *proxy.Proxy
	proxyAt netip.AddrPort

	// Used by the thread of the supervisor alone.
	created int           // files of this node
	live    int           // processes at the last count, and those started since
	sockets map[inode]int // local sockets that the box listens on, and an open descriptor of each

	traffic traffic
	watch   watch
}

// inode is a file, whatever its name.
type inode struct{ device, number uint64 }

func newGuard(s Spec, offers Offers, temp, caches string) *guard {
	g := &guard{
		spec: s, offers: offers, allowed: allowing(s, offers, temp, caches), temp: temp, caches: caches,
		sockets: map[inode]int{},
	}
	g.watch.limits = s.Bounds.Limits
	return g
}

func (g *guard) close() {
	g.watch.stop()
	for _, held := range g.sockets {
		unix.Close(held)
	}
	g.sockets = nil
}

// begin starts the counts of a node.
func (g *guard) begin() {
	g.created = 0
	g.watch.begin()
}

// end ends the counts of a node, and adds what the proxy did.
func (g *guard) end(r *Report) {
	g.watch.end()
	g.traffic.take(r)
}

// last completes the report of a box that ended.
func (g *guard) last(r *Report) {
	g.traffic.take(r)
	if d := g.watch.why(); d != nil {
		r.Denied = append(r.Denied, *d)
	}
}

// counts reports whether a call is to be decided about each time, although one like it was.
func (g *guard) counts(c *call) bool {
	return g.spec.Bounds.Limits.Files > 0 && c.act == actOpen && c.flags&unix.O_CREAT != 0
}

// decide returns the error with which a call fails, and why. A call that would fail anyway is let through: programs
// look in many places, and an error that they do not expect there would stop them.
func (g *guard) decide(c *call) (unix.Errno, *Denial) {
	if c.act == actExec && c.to.path == "" && !g.executed {
		g.executed = true
		return 0, nil // the keeper starts the program, and cannot be looked into
	}
	g.executed = g.executed || c.act == actExec
	if g.launching.Load() && c.act == actExec && c.to.path != g.offers.Bubblewrap {
		g.launching.Store(false) // all that bubblewrap does after its setup
	}
	if g.launching.Load() {
		return 0, nil
	}
	if c.Arch != ownArchitecture || int(c.Number) >= len(shapes) {
		return unix.ENOSYS, &Denial{Action: "call", Target: fmt.Sprintf("%d of another kind of processor", c.Number)}
	}
	switch c.act {
	case actNone:
		return g.onProcess(c)
	case actConnect, actBind, actShared:
		return 0, nil
	case actFork:
		return g.fork(c)
	case actMount, actHandle, actChroot:
		return unix.EPERM, &Denial{Action: "call", Target: strconv.Itoa(int(c.Number))}
	}
	if c.to.path == "" {
		if c.path >= 0 && g.offers.Landlock == 0 {
			return unix.EACCES, nil // nothing else would stop it
		}
		return 0, nil
	}
	if c.act == actOpen && (g.foreignArguments(c.to.path) || !g.covered && g.listsDenied(c)) {
		return unix.EACCES, nil // programs that list processes, or the workspace, do this routinely: it is not an event
	}
	if c.act == actLook && g.allowed.hidesAtHome(c.to.path) {
		return unix.ENOENT, nil
	}
	if d := g.onPaths(c); d != nil {
		if d.Action == string(verbRead) && hiddenAtHome(d.Target) {
			return unix.ENOENT, d
		}
		return unix.EACCES, d
	}
	return g.count(c)
}

// onPaths decides by the paths that a call leads to.
func (g *guard) onPaths(c *call) *Denial {
	write := func(f *found) *Denial { return g.allowed.denial(verbWrite, f.path) }
	switch c.act {
	case actOpen:
		return g.open(c)
	case actExec:
		if c.to.ok {
			return g.allowed.denial(verbExecute, c.to.path)
		}
	case actMake, actSymlink:
		if !c.to.ok && present(path.Dir(c.to.path)) {
			return write(&c.to)
		}
	case actRemove, actMode, actTime, actTruncate:
		if c.to.ok {
			return write(&c.to)
		}
	case actRename, actLink:
		if !c.to.ok || !present(path.Dir(c.to2.path)) {
			return nil
		}
		if d := write(&c.to); d != nil {
			return d
		}
		return write(&c.to2)
	case actLook:
		if !g.covered && c.to.ok && g.allowed.hides(c.to.path) {
			return g.allowed.denial(verbRead, c.to.path)
		}
	}
	return nil
}

// open decides by the flags of an open. One that only names a file opens no content.
func (g *guard) open(c *call) *Denial {
	access := c.flags & unix.O_ACCMODE
	switch {
	case c.flags&unix.O_PATH != 0:
		return nil
	case access != unix.O_RDONLY || c.flags&unix.O_TRUNC != 0, c.flags&unix.O_CREAT != 0 && !c.to.ok:
		if c.to.ok || c.flags&unix.O_CREAT != 0 && present(path.Dir(c.to.path)) {
			return g.allowed.denial(verbWrite, c.to.path)
		}
		return nil
	case !c.to.ok:
		return nil
	}
	if g.covered && g.listsDenied(c) {
		return nil // it is empty there
	}
	return g.allowed.denial(verbRead, c.to.path)
}

// listsDenied reports whether a call opens a folder that is denied inside of one that is allowed, such as the store.
func (g *guard) listsDenied(c *call) bool {
	return c.to.kind() == unix.S_IFDIR && parents.AnyHolds(g.allowed.deny, c.to.path) &&
		parents.AnyHolds(g.allowed.write, c.to.path)
}

// foreignArguments reports whether a path leads to the arguments of a process outside of the box, which may hold
// secrets. Other files in /proc of such a process are forbidden by Landlock, or public.
func (g *guard) foreignArguments(p string) bool {
	rest, ok := strings.CutPrefix(p, "/proc/")
	if !ok || !strings.HasSuffix(p, "/cmdline") || g.keeper == 0 {
		return false
	}
	first, _, _ := strings.Cut(rest, "/")
	pid, err := strconv.Atoi(first)
	return err == nil && !g.belongs(pid)
}

// onProcess decides about a call that does something to a process.
func (g *guard) onProcess(c *call) (unix.Errno, *Denial) {
	pid := int(int32(c.Args[0]))
	action := "signal"
	switch int(c.Number) {
	case unix.SYS_SETPRIORITY, unix.SYS_IOPRIO_SET:
		pid, action = int(int32(c.Args[1])), "priority"
	case unix.SYS_SCHED_SETAFFINITY, unix.SYS_SCHED_SETPARAM, unix.SYS_SCHED_SETSCHEDULER, unix.SYS_SCHED_SETATTR,
		unix.SYS_MIGRATE_PAGES, unix.SYS_MOVE_PAGES:
		action = "priority"
	case unix.SYS_KILL, unix.SYS_TKILL, unix.SYS_TGKILL, unix.SYS_RT_SIGQUEUEINFO, unix.SYS_RT_TGSIGQUEUEINFO:
	default:
		return 0, nil
	}
	if pid > 0 && (g.belongs(pid) || !alive(pid)) || pid < -1 && g.groupBelongs(-pid) {
		return 0, nil
	}
	return unix.EPERM, &Denial{Action: action, Target: "process " + strconv.Itoa(pid)}
}

// groupBelongs reports whether all processes of a group are of the box, and there are some.
func (g *guard) groupBelongs(group int) bool {
	some := false
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if in, err := unix.Getpgid(pid); err != nil || in != group {
			continue
		}
		if some = true; !g.belongs(pid) {
			return false
		}
	}
	return some
}

// belongs reports whether a process is one of the box. All of them descend from the keeper.
func (g *guard) belongs(pid int) bool {
	for at := keeper.Parent(groupOf(pid)); at > 1; at = keeper.Parent(at) {
		if at == g.keeper {
			return true
		}
	}
	return false
}

func present(p string) bool {
	var stat unix.Stat_t
	return unix.Lstat(p, &stat) == nil
}

// count counts the files that a node creates.
func (g *guard) count(c *call) (unix.Errno, *Denial) {
	most := g.spec.Bounds.Limits.Files
	if most == 0 || parents.Holds(g.spec.Spool, c.to.path) {
		return 0, nil
	}
	f := &c.to
	switch c.act {
	case actOpen:
		if c.flags&(unix.O_CREAT|unix.O_TMPFILE&^unix.O_DIRECTORY) == 0 {
			return 0, nil
		}
	case actMake, actSymlink:
	case actLink:
		f = &c.to2
	default:
		return 0, nil
	}
	if f.ok && c.flags&unix.O_TMPFILE != unix.O_TMPFILE {
		return 0, nil
	}
	if g.created++; g.created > most {
		return unix.EDQUOT, limitDenial("files", strconv.Itoa(most))
	}
	return 0, nil
}

// fork counts processes. The numbers are in registers, so no other thread can change them. Threads count less: a
// library starts as many as there are processors.
func (g *guard) fork(c *call) (unix.Errno, *Denial) {
	most := g.spec.Bounds.Limits.Processes
	if most == 0 || g.keeper == 0 || c.Number == unix.SYS_CLONE && c.Args[0]&unix.CLONE_THREAD != 0 {
		return 0, nil
	}
	if g.live++; g.live > most {
		g.live = len(keeper.Descendants(g.keeper, nil)) + 1
	}
	if g.live > most {
		return unix.EAGAIN, limitDenial("processes", strconv.Itoa(most))
	}
	return 0, nil
}
