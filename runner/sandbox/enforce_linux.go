package sandbox

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"

	"github.com/xstate-engine/xstate/internal/parents"
	"github.com/xstate-engine/xstate/runner/sandbox/keeper"
	"github.com/xstate-engine/xstate/runner/sandbox/proxy"
	"golang.org/x/sys/unix"
)

// enforcement is how bounds are put on one box. The zero value bounds nothing.
type enforcement struct {
	guard *guard // nil: no bounds
	// filter are instructions that come before those of the supervisor. Each returns or leaves the number of the call
	// loaded.
	filter []unix.SockFilter
	// degraded names what cannot be enforced.
	degraded []string

	bounds keeper.Bounds
	files  []*os.File // that the keeper inherits: the ruleset, and a socket
	back   *os.File   // the other end of that socket
	user   bool       // the keeper starts in a namespace of users
	proxy  *proxy.Proxy
	launch *launch // bubblewrap; nil: the keeper starts the interpreter itself
}

// Capabilities that root keeps: those over files and ids, which programs such as tar and make expect of root. Landlock
// and the namespaces hold above them.
const rootCapabilities = 1<<unix.CAP_CHOWN | 1<<unix.CAP_DAC_OVERRIDE | 1<<unix.CAP_FOWNER | 1<<unix.CAP_FSETID |
	1<<unix.CAP_SETUID | 1<<unix.CAP_SETGID

// enforce works out how to put the bounds of a box on it.
func enforce(s Spec, level Level) (e enforcement, err error) {
	if s.Bounds == nil {
		return e, nil
	}
	offers := offersNow()
	if err := refuse(s, offers, level, &e); err != nil {
		return e, err
	}
	temp, caches, err := temporary(s.Folder)
	if err != nil {
		return e, err
	}
	if s.Bounds.Launcher != "" {
		offers = launchOffers(offers)
		e.launch = &launch{program: offers.Bubblewrap, filter: alone(refusals(offers, level != LevelHooks))}
	}
	e.guard = newGuard(s, offers, temp, caches)
	e.guard.launching.Store(e.launch != nil)
	e.guard.covered = offers.Namespaces || e.launch != nil
	if e.filter = aboutProcesses(offers, askOf[level]); e.launch == nil {
		e.filter = append(e.filter, refusals(offers, level != LevelHooks)...)
	}
	e.user = offers.User
	e.bounds = keeper.Bounds{Namespaces: offers.Namespaces, Limits: limitsOf(s.Bounds.Limits)}
	if os.Getuid() == 0 {
		e.bounds.Capabilities = rootCapabilities
		if offers.Landlock >= 6 { // signals stay in the box
			e.bounds.Capabilities |= 1 << unix.CAP_KILL
		}
	}
	if e.launch != nil && os.Getuid() == 0 {
		e.bounds.Capabilities |= 1 << unix.CAP_SETFCAP // to map root; bubblewrap gives up all
	}
	if offers.Namespaces {
		e.view(s)
	}
	defer func() {
		if err != nil {
			e.close()
		}
	}()
	if len(s.Bounds.Hosts) > 0 {
		if err := e.offerProxy(s.Bounds.Hosts, s.Record); err != nil {
			return e, err
		}
	}
	if offers.Landlock > 0 {
		rules, err := e.guard.allowed.ruleset(offers)
		if err != nil {
			return e, err
		}
		e.files = append(e.files, rules)
	}
	return e, nil
}

// refuse returns an error where strict bounds cannot be enforced, and otherwise notes what cannot.
func refuse(s Spec, offers Offers, level Level, e *enforcement) error {
	lacks := offers.lacks(s)
	l := s.Bounds.Limits
	if level == LevelHooks && (l.CPU > 0 || l.Wall > 0 || l.Files > 0 || l.Processes > 0) {
		lacks = append(lacks,
			Lack{Field: "limits", Message: "calls are not observed here, so limits of time, files and processes of " +
				"a node do not hold", Open: true})
	}
	if level == LevelHooks && !offers.Namespaces && len(s.Bounds.Hosts) > 0 {
		lacks = append(lacks,
			Lack{Field: "network.hosts", Message: "calls are not observed and namespaces are not allowed: " +
				"there is no network at all"})
	}
	if b := s.Bounds; b.Launcher != "" && (b.Launcher != "bwrap" || offers.Bubblewrap == "") ||
		len(lacks) > 0 && b.Strict {
		return &UnenforceableError{lacks}
	}
	for _, lack := range lacks {
		e.degraded = append(e.degraded, lack.String())
	}
	return nil
}

// view works out what the box sees of the folders: what is written stays writable, all else becomes readable alone, and
// what is denied is covered.
func (e *enforcement) view(s Spec) {
	a := &e.guard.allowed
	for _, p := range a.write {
		if parents.AnyHolds(e.bounds.Writable, p) || parents.Holds("/dev", p) && p != "/dev/shm" {
			continue // devices are written on a system that is readable alone, too
		}
		e.bounds.Writable = append(e.bounds.Writable, p)
	}
	e.bounds.Frozen = append(e.bounds.Frozen, canonical(a.kept)...)
	var covered []string
	for _, p := range canonical(a.deny) {
		if parents.AnyHolds(covered, p) || !parents.AnyHolds(a.write, p) && !parents.AnyHolds(a.read, p) {
			continue // Landlock does not allow it at all
		}
		covered = append(covered, p)
		info, err := os.Stat(p)
		c := keeper.Cover{Path: p, File: err == nil && !info.IsDir()}
		for _, in := range canonical(a.again) {
			if parents.Holds(p, in) {
				c.Inside = append(c.Inside, in)
			}
		}
		e.bounds.Covered = append(e.bounds.Covered, c)
	}
	for _, in := range canonical(a.again) {
		if !parents.AnyHolds(covered, in) && !parents.AnyHolds(e.bounds.Writable, in) {
			e.bounds.Writable = append(e.bounds.Writable, in)
		}
	}
	handled := rightsOf(e.guard.offers.Landlock)
	e.bounds.ReadRights, e.bounds.DeviceRights = rightsRead&handled, rightsDevice&handled
	e.bounds.Processes = os.Getuid() == 0 && !e.user
}

// offerProxy starts the proxy. In a namespace, the keeper makes its listener and sends it; otherwise the supervisor
// connects the sockets of the program to a listener of the engine.
func (e *enforcement) offerProxy(hosts []string, record *proxy.Authority) error {
	e.proxy = proxy.New(hosts, e.guard.traffic.reached)
	if record != nil {
		e.proxy.Record(record)
	}
	if !e.bounds.Namespaces {
		listener, err := net.Listen("tcp4", "127.0.0.1:0")
		if err != nil {
			return fmt.Errorf("start the proxy of a box: %w", err)
		}
		e.guard.proxy = e.proxy
		e.guard.proxyAt = listener.Addr().(*net.TCPAddr).AddrPort()
		go e.proxy.Serve(listener, true)
		return nil
	}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("start the proxy of a box: %w", err)
	}
	e.back = os.NewFile(uintptr(pair[0]), "back")
	e.files = append(e.files, os.NewFile(uintptr(pair[1]), "back"))
	address := proxy.Address.Addr().As4()
	e.bounds.Address, e.bounds.Port = address, int(proxy.Address.Port())
	return nil
}

// prepare readies the command of the keeper: it inherits the files of the enforcement behind its own.
func (e *enforcement) prepare(cmd *exec.Cmd) {
	if e.guard == nil {
		return
	}
	first := 3 + len(cmd.ExtraFiles)
	for i, f := range e.files {
		if f.Name() == "landlock" {
			e.bounds.Ruleset = first + i
		} else {
			e.bounds.Back = first + i
		}
	}
	cmd.ExtraFiles = append(cmd.ExtraFiles, e.files...)
	if e.user {
		asUser(cmd.SysProcAttr)
	}
}

// setup is what the keeper reads; nil: nothing.
func (e *enforcement) setup() []byte {
	if e.guard == nil {
		return nil
	}
	return e.bounds.Encode()
}

// environ is the environment of the program: its folders for temporary files and caches are its own, and its proxy is
// ours.
func (e *enforcement) environ(own []string, s Spec) []string {
	if e.guard == nil {
		return own
	}
	own = s.environ(own, e.guard.temp, e.guard.caches)
	if e.proxy != nil {
		own = proxied(own, proxy.Address, s.Record)
	}
	return own
}

// installed follows the keeper's first reply: by then, it has sent the listener for the proxy.
func (e *enforcement) installed() error {
	if e.back == nil {
		return nil
	}
	data, rights := make([]byte, 1), make([]byte, unix.CmsgSpace(4))
	n, m, err := receiveMessage(e.back, data, rights)
	if err != nil || n == 0 {
		return &refusal{"proxy", errors.Join(err, errors.New("the listener did not come"))}
	}
	fd, ok := passed(rights[:m])
	if !ok {
		return &refusal{"proxy", errors.New("the listener did not come")}
	}
	f := os.NewFile(uintptr(fd), "proxy")
	defer f.Close()
	listener, err := net.FileListener(f)
	if err != nil {
		return &refusal{"proxy", err}
	}
	go e.proxy.Serve(listener, false)
	return nil
}

// attach gives the guard the box that it decides for, before there is a call to decide about.
func (e *enforcement) attach(keeper int) {
	if e.guard != nil {
		e.guard.keeper = keeper
	}
}

// started begins to watch the box, when its interpreter runs.
func (e *enforcement) started(end func()) {
	for _, f := range e.files {
		f.Close()
	}
	e.files = nil
	if e.guard != nil {
		if e.launch != nil {
			e.launch.release()
		}
		e.guard.watch.start(e.guard.keeper, end)
	}
}

// close gives up what a box had.
func (e *enforcement) close() {
	for _, f := range e.files {
		f.Close()
	}
	if e.launch != nil {
		e.launch.close()
	}
	if e.back != nil {
		e.back.Close()
	}
	if e.proxy != nil {
		e.proxy.Close()
	}
	if e.guard != nil {
		e.guard.close()
	}
	e.files = nil
}

// limitsOf are the limits of each process, which the system itself enforces.
func limitsOf(l Limits) map[int]uint64 {
	limits := map[int]uint64{unix.RLIMIT_CORE: 0}
	if l.Memory > 0 {
		limits[unix.RLIMIT_DATA] = uint64(l.Memory)
	}
	if l.FileSize > 0 {
		limits[unix.RLIMIT_FSIZE] = uint64(l.FileSize)
	}
	return limits
}
