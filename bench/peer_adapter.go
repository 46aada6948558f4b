package bench

import (
	"bufio"
	"bytes"
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/patch"
	"github.com/xstate-engine/xstate/runner/kernel"
	py "github.com/xstate-engine/xstate/runner/kernel/python"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/output"
	"github.com/xstate-engine/xstate/state/query"
)

// The peers: other tools, each driven by an adapter in the folder peers.
const (
	Marimo   Strategy = "marimo"   // a reactive notebook
	Ipyflow  Strategy = "ipyflow"  // a reactive kernel for Jupyter
	Joblib   Strategy = "joblib"   // cached functions in a script that is run again
	Nbclient Strategy = "nbclient" // all cells in a fresh kernel
)

// Peers lists all peers. The usual bench leaves them out, because the interpreter must have them installed.
var Peers = []Strategy{Marimo, Ipyflow, Joblib, Nbclient}

// peerNeeds lists the packages that each adapter imports, the tool itself first.
var peerNeeds = map[Strategy][]string{
	Marimo:   {"marimo"},
	Ipyflow:  {"ipyflow", "jupyter_client", "ipykernel"},
	Joblib:   {"joblib"},
	Nbclient: {"nbclient", "nbformat", "ipykernel"},
}

//go:embed peers/*.py
var adapters embed.FS

// peer runs one program with another tool.
type peer struct {
	*testbed
	copy   *folderCopy
	dir    string // its own folder, for the adapters and what the tool stores
	broken string // why it refuses further versions; "" while it runs

	process *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Reader
	pipe    io.Closer // the read end behind out
	stderr  bytes.Buffer
	ended   chan struct{}
}

type (
	peerBlock struct {
		ID     string `json:"id"`
		Source string `json:"source"`
	}
	peerRequest struct {
		Op     string      `json:"op"`
		Blocks []peerBlock `json:"blocks,omitempty"`
	}
	peerReply struct {
		Seconds float64 `json:"seconds"`
		Refused string  `json:"refused"`
		Blocks  []struct {
			Ran     bool            `json:"ran"`
			Outputs []output.Output `json:"outputs"`
			Error   string          `json:"error"`
		} `json:"blocks"`
		Values map[string]state.Digest `json:"values"`
	}
)

// run runs a version with the tool. A tool that breaks refuses this version and all later ones; the measurement
// continues.
func (p *peer) run(ctx context.Context, v int) (*outcome, error) {
	if err := p.activate(p.copy); err != nil {
		return nil, err
	}
	defer p.deactivate(p.copy)
	blocks := p.program.Versions[v].Blocks
	out := &outcome{
		peer:    true,
		ran:     make([]bool, len(blocks)),
		blocks:  make([]blockOutput, len(blocks)),
		stopped: len(blocks),
		refused: p.broken,
	}
	if p.broken != "" {
		return out, nil
	}
	if err := p.ask(ctx, blocks, out); err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		p.broken = "broke: " + err.Error()
		out.refused = p.broken
		return out, p.end()
	}
	if p.copy.strategy == Joblib { // each run of a script has its own process
		if err := p.end(); err != nil {
			return nil, err
		}
		var err error
		if out.bytes, err = sizeOf(p.dir); err != nil {
			return nil, err
		}
	}
	if out.refused != "" {
		return out, nil
	}
	var err error
	out.files, err = p.changedFiles()
	return out, err
}

// ask sends a version to the adapter and stores its answer in out.
func (p *peer) ask(ctx context.Context, blocks []patch.Block, out *outcome) error {
	if p.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, p.timeout*time.Duration(len(blocks)))
		defer cancel()
	}
	if p.process == nil {
		start := time.Now()
		if err := p.start(ctx); err != nil {
			return err
		}
		out.seconds = time.Since(start).Seconds()
	}
	request := peerRequest{Op: "run"}
	for _, b := range blocks {
		request.Blocks = append(request.Blocks, peerBlock{b.ID, b.Source})
	}
	reply, err := p.request(ctx, request)
	if err != nil {
		return err
	}
	out.seconds += reply.Seconds
	if out.refused = reply.Refused; out.refused != "" {
		return nil
	}
	if len(reply.Blocks) != len(blocks) {
		return fmt.Errorf("it answered for %d blocks, want %d", len(reply.Blocks), len(blocks))
	}
	for i, b := range reply.Blocks {
		out.ran[i], out.blocks[i] = b.Ran, blockOutput{text: plainText(b.Outputs), err: strings.TrimSpace(b.Error)}
		if b.Ran {
			out.nodes += p.nodes(blocks[i])
		}
		if b.Error != "" {
			out.stopped = min(out.stopped, i)
		}
	}
	if reply, err = p.request(ctx, peerRequest{Op: "values"}); err != nil {
		return err
	}
	out.values = reply.Values
	return nil
}

// start starts the adapter in its own process group, so that kill reaches its kernels, and waits until it is ready.
func (p *peer) start(ctx context.Context) error {
	if p.dir == "" {
		var err error
		if p.dir, err = p.folder("peer-"); err != nil {
			return err
		}
		if err := os.CopyFS(p.dir, adapters); err != nil {
			return fmt.Errorf("write the adapter: %w", err)
		}
	}
	cfg, err := py.Peer(p.dir, p.environ)
	if err != nil {
		return err
	}
	file := ""
	if p.program.File != "" {
		file = p.path(p.program.File)
	}
	options, err := json.Marshal(
		map[string]any{"folder": p.work(), "file": file, "seed": seed, "kernel": cfg.Kernel, "scratch": p.dir},
	)
	if err != nil {
		return err
	}
	p.stderr.Reset()
	p.process = exec.Command(
		p.python.Path,
		filepath.Join(p.dir, "peers", "run_"+string(p.copy.strategy)+".py"),
		string(options),
	)
	p.process.Dir, p.process.Env, p.process.Stderr = p.work(), cfg.Environ, &p.stderr
	p.process.SysProcAttr = kernel.OwnGroup()
	p.process.WaitDelay = time.Second
	if p.in, err = p.process.StdinPipe(); err != nil {
		return err
	}
	read, write, err := os.Pipe()
	if err != nil {
		return err
	}
	p.out, p.pipe, p.process.Stdout = bufio.NewReader(read), read, write
	err = p.process.Start()
	write.Close()
	if err != nil {
		read.Close()
		p.process = nil
		return err
	}
	process, ended := p.process, make(chan struct{})
	p.ended = ended
	go func() {
		_ = process.Wait()
		close(ended)
	}()
	_, err = p.answer(ctx)
	return err
}

func (p *peer) request(ctx context.Context, r peerRequest) (*peerReply, error) {
	data, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	if _, err := p.in.Write(append(data, '\n')); err != nil {
		return nil, p.why(err)
	}
	return p.answer(ctx)
}

// answer reads one line. It kills an adapter that exceeds the deadline of ctx.
func (p *peer) answer(ctx context.Context) (*peerReply, error) {
	stop := context.AfterFunc(ctx, p.kill)
	defer stop()
	line, err := p.out.ReadBytes('\n')
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	var reply peerReply
	if err == nil {
		err = json.Unmarshal(line, &reply)
	}
	if err != nil {
		return nil, p.why(err)
	}
	return &reply, nil
}

// why kills a broken adapter and returns the last line of its standard error, or err.
func (p *peer) why(err error) error {
	p.kill()
	<-p.ended
	lines := strings.Split(strings.TrimSpace(p.stderr.String()), "\n")
	if last := lines[len(lines)-1]; last != "" {
		return errors.New(last)
	}
	return err
}

func (p *peer) kill() { _ = syscall.Kill(-p.process.Process.Pid, syscall.SIGKILL) }

// end closes the adapter's input, upon which it ends its kernels and itself. After ten seconds it is killed.
func (p *peer) end() error {
	if p.process == nil {
		return nil
	}
	err := p.in.Close()
	select {
	case <-p.ended:
	case <-time.After(10 * time.Second):
	}
	p.kill()
	<-p.ended
	p.pipe.Close()
	p.process = nil
	if errors.Is(err, os.ErrClosed) {
		err = nil
	}
	return err
}

func (p *peer) close() error { return errors.Join(p.end(), p.remove(p.dir)) }

// plainText keeps of outputs what all tools display alike: printed text, and the text of results. Warnings name
// places in each tool's own files, and each tool draws figures differently.
func plainText(outputs []output.Output) string {
	var kept []output.Output
	for _, o := range outputs {
		switch text, ok := o.Data["text/plain"]; {
		case o.Kind == "stdout":
			kept = append(kept, o)
		case o.Kind == "result" && ok:
			kept = append(kept, output.Output{Kind: o.Kind, Text: text})
		}
	}
	return query.Text(kept)
}

// CheckPeers returns the versions of the peers among strategies, as "NAME VERSION". It fails if the interpreter lacks
// one.
func CheckPeers(ctx context.Context, python py.Interpreter, strategies []Strategy) ([]string, error) {
	var found []string
	for _, s := range strategies {
		if !slices.Contains(Peers, s) {
			continue
		}
		needs := peerNeeds[s]
		script := "import importlib, importlib.metadata as m, sys\n" +
			"for n in sys.argv[1:]: importlib.import_module(n)\nprint(m.version(sys.argv[1]))"
		out, err := exec.CommandContext(ctx, python.Path, append([]string{"-c", script}, needs...)...).Output()
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			return nil, &xstate.Error{
				Code:    CodeNoPeer,
				Message: fmt.Sprintf("%s cannot be measured: %s does not import it", s, python.Path),
				Hint:    python.Path + " -m pip install " + strings.Join(needs, " "),
				Err:     err,
			}
		}
		found = append(found, string(s)+" "+strings.TrimSpace(string(out)))
	}
	return found, nil
}
