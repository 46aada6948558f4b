package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/internal/api"
	"github.com/xstate-engine/xstate/state"
)

// Options configure a server. The zero value of each is the usual choice, Dir and Version excepted.
type Options struct {
	Dir     string        // the store; it is made if there is none
	Version string        // the version of xstate, for server.json
	Idle    time.Duration // the server ends when it had nothing to do for so long; 10 minutes
	Memory  int64         // bytes that idle interpreters may take; half of the machine's
	Listen  string        // 127.0.0.1:PORT to serve HTTP there, too; PORT 0 is any
	Log     io.Writer     // remarks for people; none
	// Limit is how long a call of a verb may take; see Containment.
	Limit func(verb string) time.Duration
}

const (
	usualIdle  = 10 * time.Minute
	lookEvery  = time.Second     // at the store, and at the time
	firstTime  = 5 * time.Second // for the first byte of a connection, and for a command
	endingTime = 10 * time.Second

	mostConnections = 512
)

// Page shows the store to browsers. It lets in whom it invited: they need no token.
type Page interface {
	Handler() http.Handler
	// Invite returns the path that lets one browser in. edit: it may change sessions, too.
	Invite(edit bool) string
}

// Server serves one store to the processes of one user.
type Server struct {
	Pool *Pool
	// Handler answers HTTP requests; nil answers none. It is set before Serve.
	Handler http.Handler
	// Page answers the requests of browsers, below PagePath; nil answers none. It is set before Serve.
	Page Page

	o      Options
	dir    string // canonical
	store  os.FileInfo
	lock   *os.File
	socket *net.UnixListener
	tcp    net.Listener
	token  string
	local  *conns // HTTP that came in by the socket
	around string // surroundings of this process

	answers   http.Handler // to HTTP
	places    chan struct{}
	listening sync.Mutex // guards tcp and info once it serves
	info      Info

	ctx  context.Context
	stop context.CancelFunc

	mu     sync.Mutex
	active int // connections and requests
	busy   int // those that are calls being carried out
	follow int // those that only follow what happens: a server that is spent does not wait for their end
	used   time.Time
	spent  bool // it takes no more calls, and ends after those that it has
	calls  sync.WaitGroup
}

// Listen opens the store and begins to listen. Its error has api.CodeServed if another process serves the store.
func Listen(ctx context.Context, o Options) (_ *Server, err error) {
	if o.Idle == 0 {
		o.Idle = usualIdle
	}
	if o.Memory == 0 {
		o.Memory = machineMemory() / 2
	}
	if o.Log == nil {
		o.Log = io.Discard
	}
	if err := os.MkdirAll(o.Dir, 0o777); err != nil {
		return nil, noServer(o.Dir, err)
	}
	s := &Server{o: o, dir: canonical(o.Dir), around: surroundings(), used: time.Now()}
	s.ctx, s.stop = context.WithCancel(context.WithoutCancel(ctx))
	if s.lock, err = lockServer(s.dir); err != nil {
		return nil, noServer(s.dir, err)
	}
	if s.lock == nil {
		who := "another process"
		if info, ok := readInfo(s.dir); ok {
			who = fmt.Sprintf("process %d", info.PID)
		}
		return nil, &state.Error{
			Code:    api.CodeServed,
			Message: fmt.Sprintf("%s serves the store %s already", who, s.dir),
			Hint:    "`xstate serve --status` shows it, and `xstate serve --stop` ends it",
		}
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close())
		}
	}()
	store, err := xstate.Open(ctx, s.dir, xstate.Options{Templates: true})
	if err != nil {
		return nil, err
	}
	s.Pool = NewPool(store, o.Memory)
	if s.store, err = os.Stat(s.dir); err != nil {
		return nil, noServer(s.dir, err)
	}
	if err := s.listen(); err != nil {
		return nil, noServer(s.dir, err)
	}
	s.info = Info{Version: 1, PID: os.Getpid(), Socket: s.socket.Addr().String(), XState: o.Version, Build: Build()}
	if s.o.Listen != "" {
		if err := s.listenTCP(); err != nil {
			return nil, noServer(s.dir, err)
		}
	}
	if err := writeInfo(s.dir, s.info); err != nil {
		return nil, noServer(s.dir, err)
	}
	return s, nil
}

func noServer(dir string, err error) error {
	return &state.Error{
		Code:    api.CodeNoServer,
		Message: fmt.Sprintf("the store %s cannot be served: %v", dir, err),
		Hint:    "commands work without a server, too; check the folder and its permissions",
		Err:     err,
	}
}

// listen opens the socket, and removes one that a dead server left: the caller holds the lock.
func (s *Server) listen() error {
	paths := socketPaths(s.dir)
	if len(paths) == 0 {
		return errors.New("there is no folder for its socket")
	}
	err := error(nil)
	for _, path := range paths {
		if folder := filepath.Dir(path); folder != s.dir {
			if err = privateFolder(folder); err != nil {
				continue
			}
		}
		if old, bad := os.Lstat(path); bad == nil && old.Mode()&os.ModeSocket != 0 {
			_ = os.Remove(path)
		}
		if s.socket, err = net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"}); err == nil {
			err = os.Chmod(path, 0o600) // who connects before is checked, too
			break
		}
	}
	return err
}

// listenTCP begins to listen on this machine.
func (s *Server) listenTCP() (err error) {
	if s.token, err = token(s.dir); err == nil {
		s.tcp, err = listenLocally(s.o.Listen)
	}
	if err == nil {
		s.info.HTTP = "http://" + s.tcp.Addr().String()
	}
	return err
}

// Info describes the server.
func (s *Server) Info() Info {
	s.listening.Lock()
	defer s.listening.Unlock()
	return s.info
}

// Token is what callers of HTTP show.
func (s *Server) Token() (string, error) { return token(s.dir) }

// look ends the server if it is idle, or if its store is gone, and keeps to the budget of memory.
func (s *Server) look() {
	if s.gone() {
		fmt.Fprintf(s.o.Log, "the store is gone\n")
		s.stop()
	} else if _, ok := readInfo(s.dir); !ok {
		_ = writeInfo(s.dir, s.Info()) // it was removed or damaged; without it no client finds the server
	}
	s.Pool.look()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.active == 0 && time.Since(s.used) >= s.o.Idle {
		fmt.Fprintf(s.o.Log, "nothing to do for %s\n", s.o.Idle)
		s.stop()
	}
}

// gone reports whether the store, or a file that is open, was deleted, moved, or replaced by another.
func (s *Server) gone() bool {
	if s.store == nil {
		return false
	}
	now, err := os.Stat(s.dir)
	if err != nil || !os.SameFile(now, s.store) {
		return true
	}
	for _, name := range []string{"history.db", "results.db"} {
		if _, err := os.Stat(filepath.Join(s.dir, name)); err != nil {
			return true
		}
	}
	return false
}

// Spent makes Serve end after the current calls. It takes no more: the open store may be of no use. why goes to the
// log.
func (s *Server) Spent(why string) {
	fmt.Fprintf(s.o.Log, "takes no more calls: %s\n", why)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.spent = true; s.active == s.follow {
		s.stop()
	}
}

// ending reports whether the server takes no more calls.
func (s *Server) ending() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.spent || s.ctx.Err() != nil
}

// Stop makes Serve end.
func (s *Server) Stop() { s.stop() }

// Idle returns how long the server waits for something to do.
func (s *Server) Idle() time.Duration { return s.o.Idle }

// Memory returns how many bytes idle interpreters may take.
func (s *Server) Memory() int64 { return s.o.Memory }

// begin notes a connection or request. It reports false if the server takes no more.
func (s *Server) begin() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ctx.Err() != nil || s.spent || s.active >= mostConnections {
		return false
	}
	s.active++
	s.calls.Add(1)
	return true
}

func (s *Server) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.active--
	s.used = time.Now()
	s.calls.Done()
	if s.spent && s.active == s.follow {
		s.stop()
	}
}

// following notes that a request follows what happens, until the caller calls ended.
func (s *Server) following() (ended func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.follow++
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.follow--
	}
}

// call notes that a call is carried out, until the caller calls ended.
func (s *Server) call() (ended func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.busy++
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.busy--
	}
}

// retire ends the server if it has no call to carry out.
func (s *Server) retire() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.busy > 0 {
		return false
	}
	s.stop()
	return true
}

// close ends everything. It waits for the calls, which are interrupted, but not for ever.
func (s *Server) close() error {
	s.stop()
	if s.socket != nil {
		s.socket.SetUnlinkOnClose(!s.gone()) // another server may have the place
		s.socket.Close()
	}
	if s.tcp != nil {
		s.tcp.Close()
	}
	if s.local != nil {
		s.local.Close()
	}
	done := make(chan struct{})
	go func() { s.calls.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(endingTime):
	}
	var err error
	if s.Pool != nil {
		closed := make(chan error, 1)
		go func() { closed <- s.Pool.Close() }()
		select {
		case err = <-closed:
		case <-time.After(endingTime): // the system ends what is left with this process
		}
	}
	if info, ok := readInfo(s.dir); ok && info.PID == os.Getpid() {
		_ = os.Remove(filepath.Join(s.dir, infoFile))
	}
	if s.lock != nil {
		s.lock.Close()
	}
	return err
}

// Serves reports whether a folder is the store of this server.
func (s *Server) Serves(dir string) bool {
	if dir == s.dir || dir == s.o.Dir {
		return true
	}
	info, err := os.Stat(dir)
	return err == nil && os.SameFile(info, s.store)
}
