package runner

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"github.com/xstate-engine/xstate/state"
)

// errKernelDied says that the process ended while it had something to do.
var errKernelDied = errors.New("the kernel process died")

// kernel is one interpreter process. It answers one request at a time.
type kernel struct {
	cmd     *exec.Cmd
	in      *os.File // requests
	out     *bufio.Reader
	close   []io.Closer
	stderr  *tail
	printed [2]*printed // stdout and stderr of the program
	waited  chan struct{}
	exit    error
	bound   time.Duration // how long an interrupted kernel may take to answer before it is killed
}

// kernelOptions is the first frame.
type kernelOptions struct {
	File    string `json:"file,omitempty"`
	Folder  string `json:"folder"`
	Spool   string `json:"spool"`
	Store   string `json:"store"`
	Seed    uint64 `json:"seed"`
	Observe string `json:"observe,omitempty"`
	IPython bool   `json:"ipython,omitempty"`
	Guard   *Guard `json:"guard,omitempty"`
}

// bootstrap takes the current directory, which -c puts first, off the path: the kernel's own imports must not find the
// program's files.
const bootstrap = `import sys; sys.path[0] = sys.argv[1]; import xstate_kernel.%s as m; del sys.path[0]; m.start()`

// startKernel starts an interpreter and waits until it says hello.
func startKernel(ctx context.Context, python, driverFolder string, environ []string, o kernelOptions) (*kernel, error) {
	return startDriver(ctx, python, "main", driverFolder, environ, o.Folder, o.Spool, o)
}

// startDriver starts an interpreter in folder with a module of the driver, gives it options, and waits until it says hello.
func startDriver(ctx context.Context, python, module, driverFolder string, environ []string, folder, spool string, options any) (*kernel, error) {
	printed, err := newPrinted(spool)
	if err != nil {
		return nil, err
	}
	reqR, reqW, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("start kernel: %w", err)
	}
	evR, evW, err := os.Pipe()
	if err != nil {
		reqR.Close()
		reqW.Close()
		return nil, fmt.Errorf("start kernel: %w", err)
	}
	k := &kernel{in: reqW, out: bufio.NewReaderSize(evR, 1<<16), close: []io.Closer{reqW, evR}, stderr: &tail{}, printed: printed, waited: make(chan struct{}), bound: 2 * time.Second}
	k.cmd = exec.Command(python, "-c", fmt.Sprintf(bootstrap, module), driverFolder)
	k.cmd.Dir = folder
	k.cmd.Env = append(environ, "XSTATE_KERNEL_FDS=3,4,5,6")
	k.cmd.ExtraFiles = []*os.File{reqR, evW}
	for _, p := range printed {
		k.cmd.ExtraFiles = append(k.cmd.ExtraFiles, p.file)
	}
	k.cmd.Stderr = k.stderr
	k.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	k.cmd.WaitDelay = time.Second
	err = k.cmd.Start()
	reqR.Close()
	evW.Close()
	if err != nil {
		reqW.Close()
		evR.Close()
		return nil, brokenPython(python, err, "")
	}
	go func() {
		k.exit = k.cmd.Wait()
		k.kill() // what it started must not outlive it, nor hold its pipes open
		close(k.waited)
	}()
	stop := context.AfterFunc(ctx, func() { k.kill() })
	defer stop()
	err = writeFrame(k.in, options, nil)
	if err == nil {
		_, _, err = readFrame(k.out)
	}
	if err != nil {
		k.stop()
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, brokenPython(python, k.exit, k.stderr.String())
	}
	return k, nil
}

// kill ends the process and all that it started, at once.
func (k *kernel) kill() {
	_ = syscall.Kill(-k.cmd.Process.Pid, syscall.SIGKILL)
}

// begin forgets what was printed before the node about to run.
func (k *kernel) begin() {
	for _, p := range k.printed {
		p.sent = 0
	}
}

// stop ends the kernel and reaps it.
func (k *kernel) stop() {
	for _, c := range k.close {
		c.Close()
	}
	select {
	case <-k.waited:
	case <-time.After(500 * time.Millisecond):
	}
	k.kill()
	<-k.waited
}

// release gives up what stop leaves to be read.
func (k *kernel) release() {
	for _, p := range k.printed {
		p.file.Close()
	}
}

// how tells how the process ended, once it did.
func (k *kernel) how() string {
	<-k.waited
	var exit *exec.ExitError
	if errors.As(k.exit, &exit) {
		if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
			return fmt.Sprintf("killed by signal %d (%s)", int(status.Signal()), status.Signal())
		}
		return fmt.Sprintf("exit status %d", exit.ExitCode())
	}
	return "exit status 0"
}

// request sends one request and returns the fields and body of the reply. Events before it go to onEvent.
// When ctx ends, the kernel is interrupted, and killed if it does not answer.
func (k *kernel) request(ctx context.Context, header any, body []byte, reply any, onEvent func(json.RawMessage)) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	answered, interrupted := make(chan struct{}), make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		k.interrupt(answered)
		close(interrupted)
	})
	defer func() {
		close(answered)
		if !stop() {
			<-interrupted // a signal sent late would hit the next request
		}
	}()
	if err := writeFrame(k.in, header, body); err != nil {
		return nil, fmt.Errorf("%w: %w", errKernelDied, err)
	}
	for {
		text, data, err := readFrame(k.out)
		if err != nil {
			k.kill()
			return nil, fmt.Errorf("%w: %w", errKernelDied, err)
		}
		var ev struct {
			Ev    string `json:"ev"`
			OK    bool   `json:"ok"`
			Error string `json:"error"`
			Trace string `json:"trace"`
		}
		if bytes.HasPrefix(text, []byte(`{"ev": "reply"`)) {
			if err := json.Unmarshal(text, &ev); err != nil {
				return nil, fmt.Errorf("reply of the kernel: %w", err)
			}
			if !ev.OK && ev.Error != "" {
				return nil, fmt.Errorf("kernel: %s\n%s", ev.Error, ev.Trace)
			}
			if reply != nil {
				if err := json.Unmarshal(text, reply); err != nil {
					return nil, fmt.Errorf("reply of the kernel: %w", err)
				}
			}
			return data, nil
		}
		if onEvent != nil {
			onEvent(text)
		}
	}
}

// interrupt asks politely, three times, then kills: a program may catch KeyboardInterrupt.
func (k *kernel) interrupt(answered <-chan struct{}) {
	for range 3 {
		_ = k.cmd.Process.Signal(syscall.SIGINT)
		select {
		case <-answered:
			return
		case <-k.waited:
			return
		case <-time.After(k.bound / 3):
		}
	}
	k.kill()
}

// tail keeps the end of what is written to it.
type tail struct {
	mu   sync.Mutex
	text []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p...)
	if n := len(t.text) - 8192; n > 0 {
		t.text = t.text[n:]
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.text)
}

// The requests and replies of the driver's operations.
type (
	runRequest struct {
		Op         string              `json:"op"`
		Node       string              `json:"node"`
		Filename   string              `json:"filename"`
		Line       int                 `json:"line"`
		Future     []string            `json:"future,omitempty"`
		Expr       bool                `json:"expr,omitempty"`
		Quiet      bool                `json:"quiet,omitempty"`
		Last       bool                `json:"last,omitempty"`
		First      bool                `json:"first,omitempty"`          // of the program: a string at its beginning is __doc__
		Def        bool                `json:"definition,omitempty"`     // the node only defines: the code nested in it does not run
		Import     bool                `json:"library_import,omitempty"` // an import and no more: what it adds to the warning filters is the package's
		Uses       []string            `json:"uses"`
		Imports    []string            `json:"imports,omitempty"`
		Submodules []string            `json:"submodules,omitempty"` // dotted names that nodes before may have imported: attributes of packages
		Fresh      bool                `json:"fresh,omitempty"`      // the interpreter was started for this node
		Imported   []string            `json:"imported,omitempty"`   // libraries with a load: key
		Certain    []string            `json:"certain,omitempty"`    // names bound on every path
		Unbound    []string            `json:"unbound,omitempty"`    // names that have a value and that the namespace was not given
		Reach      map[string][]string `json:"reach,omitempty"`      // class → names whose values reach it
		Order      []string            `json:"order,omitempty"`      // in which the program has bound its names, where a node may ask
		Lined      bool                `json:"lined,omitempty"`      // lines of functions that it executes are to be told
		Lists      bool                `json:"lists,omitempty"`      // it may list subclasses, and is given all that there are
	}
	runReply struct {
		Reads        []string                `json:"reads"`
		Absent       []string                `json:"absent"`
		Deleted      []string                `json:"deleted"` // names that it may have bound and deleted: not there before, nor after
		Comembers    []string                `json:"comembers"`
		Altered      []string                `json:"altered"` // qualified names of classes, functions and what workspace modules hold, that it changed in place
		Writes       []runWrite              `json:"writes"`
		Lists        bool                    `json:"lists"`      // it was not run: it may list subclasses, as code of a module does
		Stale        bool                    `json:"stale"`      // a library that it imports, and that is none of Imported, would come out otherwise in a new interpreter, or it lists classes of earlier versions: it was undone
		Restored     []string                `json:"restored"`   // libraries that were imported since the node before
		Again        []string                `json:"again"`      // names of Unbound that the node asked for: it is undone
		Everything   bool                    `json:"everything"` // the namespace was handed out as a whole
		Touched      []string                `json:"touched"`
		After        [][3]string             `json:"after"`
		Born         []string                `json:"born"`
		Dropped      []string                `json:"dropped"`
		Unparked     []groupDigest           `json:"unparked"` // groups that are parked no more: they reach a class or function that was changed or made anew
		Classes      []state.Digest          `json:"classes"`  // classes that are there no more, for the same reason
		Hidden       map[string]state.Digest `json:"hidden"`
		HiddenReads  []string                `json:"hidden_reads"`
		Imports      runImports              `json:"imports"`
		Files        runFiles                `json:"files"`
		Environ      map[string]*string      `json:"environ"`
		EnvironReads []string                `json:"environ_reads"`
		Marks        []string                `json:"marks"`
		Figures      bool                    `json:"figures"`
		HadFigures   bool                    `json:"had_figures"`
		Cites        []string                `json:"cites"`
		Lined        map[string][2][]int     `json:"lined"`    // lines of blocks on which functions begin something, and those of them that were executed
		Modules      []string                `json:"modules"`  // modules whose attributes the node changed; "process": see process.py
		Pristine     bool                    `json:"pristine"` // and it left them as in a new interpreter
		Planted      []string                `json:"planted"`  // names that what the program put into the interpreter may use
		Held         map[string]state.Digest `json:"held"`     // workspace modules that it changed, or whose load was not quiet: what they hold
		Quiet        map[string][2]string    `json:"quiet"`    // workspace modules whose load was: the file, what they hold
		Unloaded     []string                `json:"unloaded"`
	}
	unloadReply struct {
		Stale    bool           `json:"stale"`    // only a new interpreter will do
		Unloaded []string       `json:"unloaded"` // modules
		Dropped  []string       `json:"dropped"`  // names
		Classes  []state.Digest `json:"classes"`
	}
	runWrite struct {
		Name    string          `json:"name"`
		Deleted bool            `json:"deleted"`
		Digest  state.Digest    `json:"digest"`
		Opaque  string          `json:"opaque"`
		Size    int64           `json:"size"`
		Deps    []string        `json:"deps"`
		Code    []string        `json:"code"`
		Fragile bool            `json:"fragile"`
		Rests   bool            `json:"rests"`
		Held    []string        `json:"held"`
		Info    state.ValueInfo `json:"info"`
	}
	runImports struct {
		Libraries map[string][]string     `json:"libraries"`
		Loads     map[string]state.Digest `json:"loads"` // libraries that it imported and that look at something when they are: what they saw
		Files     []string                `json:"files"`
		Held      []string                `json:"held"` // workspace modules that the node or what it read may run
	}
	runFiles struct {
		Reads    map[string]*string     `json:"reads"`
		Listings []string               `json:"listings"`
		Writes   map[string]*fileBefore `json:"writes"` // nil: nothing was there
		Modes    []string               `json:"modes"`  // whose permissions were asked
		Chmods   map[string]uint32      `json:"chmods"` // permissions before, of files that were given others
		Times    []string               `json:"times"`  // whose times were asked
	}
	// fileBefore is what was at a path before a node wrote there.
	fileBefore struct {
		Copy string `json:"copy"` // where the content is; "directory", "special" or "symlink:TARGET" of what is no regular file
		Mode uint32 `json:"mode"`
		Time int64  `json:"time"` // of the last change, nanoseconds
	}
	runResult struct {
		Ev      string    `json:"ev"`
		Seconds float64   `json:"seconds"`
		Error   *runError `json:"error"`
	}
	runError struct {
		Type      string   `json:"type"`
		Message   string   `json:"message"`
		Traceback []string `json:"traceback"`
		Line      int      `json:"line"`
		Name      string   `json:"name"`
	}
	bindRequest struct {
		Op     string        `json:"op"`
		Park   []parkItem    `json:"park,omitempty"`
		Drop   []groupDigest `json:"drop,omitempty"` // parked groups to forget
		Unbind []string      `json:"unbind,omitempty"`
		Unpark []groupDigest `json:"unpark,omitempty"`
	}
	loadRequest struct {
		Op    string   `json:"op"`
		Names []string `json:"names"`
		Path  string   `json:"path,omitempty"`
		First int64    `json:"first,omitempty"` // size of the first part, when there are several
	}
	loadReply struct {
		OK       bool                    `json:"ok"`
		Need     []string                `json:"need"`
		Digests  map[string]state.Digest `json:"digests"`
		Shares   [][3]string             `json:"shares"`
		Unparked []groupDigest           `json:"unparked"` // groups that are parked no more
	}
	storeReply struct {
		Stored bool        `json:"stored"`
		Why    string      `json:"why"`
		Path   string      `json:"path"`
		Size   int64       `json:"size"`
		Parts  []int64     `json:"parts"` // sizes of those that the file consists of; none: it is one
		Needs  [][2]string `json:"needs"`
	}
)

// parkItem is a group that is put aside.
type parkItem struct {
	groupDigest groupDigest
	names       []string
}

func (p parkItem) MarshalJSON() ([]byte, error) { return json.Marshal([]any{p.groupDigest, p.names}) }
