package remote

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"cloud.google.com/go/longrunning/autogen/longrunningpb"
	reapi "github.com/bazelbuild/remote-apis/build/bazel/remote/execution/v2"
	"google.golang.org/grpc"
	"google.golang.org/grpc/status"

	"github.com/xstate-engine/xstate/state"
)

// Executor executes Actions on other machines.
type Executor interface {
	// Execute executes an Action of the cache. It calls began when a worker has begun, and returns when it has ended.
	// An error says why it did not do its work.
	Execute(ctx context.Context, action state.BlobRef, began func()) error
	Close() error
}

// OpenExecutor returns the executor of the settings; nil if they have none.
func OpenExecutor(s Settings) (Executor, error) {
	switch {
	case len(s.Launcher) > 0:
		return &launcher{command: s.Launcher, cache: s.Address}, nil
	case s.Executor == "":
		return nil, nil
	}
	at, err := parseAddress(s.Executor)
	if err != nil {
		return nil, err
	}
	connection, err := s.Server.connect(at)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.Executor, err)
	}
	return &executor{s.Executor, at.instance, connection, reapi.NewExecutionClient(connection),
		reapi.NewContentAddressableStorageClient(connection)}, nil
}

// executor is a server of the Remote Execution API v2.
type executor struct {
	address, instance string
	connection        *grpc.ClientConn
	client            reapi.ExecutionClient
	contents          reapi.ContentAddressableStorageClient
}

func (x *executor) Close() error { return x.connection.Close() }

// mostWaits is how often a stream of an operation that ended early is asked for again.
const mostWaits = 5

// operations is a stream of the states of an operation.
type operations interface {
	Recv() (*longrunningpb.Operation, error)
}

func (x *executor) Execute(ctx context.Context, action state.BlobRef, began func()) error {
	var stream operations
	stream, err := x.client.Execute(ctx, &reapi.ExecuteRequest{InstanceName: x.instance, SkipCacheLookup: true,
		ActionDigest: digestMessage(action)})
	name := ""
	for range mostWaits {
		var done *longrunningpb.Operation
		if err == nil {
			done, err = follow(stream, &name, began)
		}
		if done != nil {
			return x.outcome(ctx, done)
		}
		if name == "" || ctx.Err() != nil {
			break
		}
		stream, err = x.client.WaitExecution(ctx, &reapi.WaitExecutionRequest{Name: name})
	}
	return fmt.Errorf("%s: execute: %w", x.address, cmp.Or(ctx.Err(), err))
}

// follow reads a stream until the operation is done, or the stream ends.
func follow(stream operations, name *string, began func()) (*longrunningpb.Operation, error) {
	for {
		op, err := stream.Recv()
		if err != nil {
			return nil, err
		}
		*name = op.GetName()
		meta := &reapi.ExecuteOperationMetadata{}
		if op.GetMetadata().UnmarshalTo(meta) == nil && meta.GetStage() == reapi.ExecutionStage_EXECUTING {
			began()
		}
		if op.GetDone() {
			return op, nil
		}
	}
}

// outcome returns why an operation that is done did not do its work; nil if it did.
func (x *executor) outcome(ctx context.Context, op *longrunningpb.Operation) error {
	if s := op.GetError(); s != nil {
		return fmt.Errorf("%s: execute: %w", x.address, status.ErrorProto(s))
	}
	answer := &reapi.ExecuteResponse{}
	if err := op.GetResponse().UnmarshalTo(answer); err != nil {
		return fmt.Errorf("%s: execute: %w", x.address, err)
	}
	if err := status.ErrorProto(answer.GetStatus()); err != nil {
		return fmt.Errorf("%s: execute: %w", x.address, err)
	}
	result := answer.GetResult()
	if result.GetExitCode() == 0 {
		return nil
	}
	why := lastLine(cmp.Or(string(result.GetStderrRaw()), x.stderr(ctx, result.GetStderrDigest()), answer.GetMessage()))
	return fmt.Errorf("%s: a worker ended with code %d: %s", x.address, result.GetExitCode(), why)
}

// stderr returns what a command wrote to stderr, if that is short. Some servers give its digest alone.
func (x *executor) stderr(ctx context.Context, digest *reapi.Digest) string {
	if digest.GetSizeBytes() == 0 || digest.GetSizeBytes() > mostStderr {
		return ""
	}
	answer, err := x.contents.BatchReadBlobs(ctx,
		&reapi.BatchReadBlobsRequest{InstanceName: x.instance, Digests: []*reapi.Digest{digest}})
	if err != nil || len(answer.GetResponses()) != 1 {
		return "" // it is for people
	}
	return string(answer.GetResponses()[0].GetData())
}

// mostStderr is how much of what a worker wrote is fetched.
const mostStderr = 64 << 10

// lastLine returns the last line before the hint, which is for people at the worker.
func lastLine(text string) string {
	lines := slices.DeleteFunc(strings.Split(strings.TrimSpace(text), "\n"), func(line string) bool {
		return strings.HasPrefix(line, "hint: ")
	})
	if len(lines) == 0 {
		return ""
	}
	return strings.TrimPrefix(lines[len(lines)-1], "xstate: ")
}

// Began is the line that a worker prints when it begins.
const Began = "xstate: a worker has begun"

// launcher starts a command for each Action. The command decides where that is executed.
type launcher struct {
	command []string // with {action} and {cache}
	cache   string
}

func (*launcher) Close() error { return nil }

// endWait is how long a command that is ended may take to end its children.
const endWait = 2 * time.Second

func (l *launcher) Execute(ctx context.Context, action state.BlobRef, began func()) error {
	places := strings.NewReplacer("{action}", ActionName(action), "{cache}", l.cache)
	var arguments []string
	for _, a := range l.command {
		arguments = append(arguments, places.Replace(a))
	}
	cmd := exec.CommandContext(ctx, arguments[0], arguments[1:]...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = endWait
	stderr := &tail{}
	cmd.Stdout, cmd.Stderr = &lineFinder{line: Began, found: sync.OnceFunc(began)}, stderr
	err := cmd.Run()
	switch {
	case ctx.Err() != nil:
		if cmd.Process != nil {
			_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // what it has started and did not end
		}
		return ctx.Err()
	case err == nil:
		return nil
	}
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		if why := lastLine(stderr.String()); why != "" {
			return fmt.Errorf("%s: %w: %s", arguments[0], err, why)
		}
	}
	return fmt.Errorf("%s: %w", arguments[0], err)
}

// lineFinder calls found when a line is written. It forgets what it is given.
type lineFinder struct {
	line  string
	found func()
	rest  []byte
}

func (f *lineFinder) Write(p []byte) (int, error) {
	f.rest = append(f.rest, p...)
	for {
		line, rest, ended := bytes.Cut(f.rest, []byte("\n"))
		if !ended {
			f.rest = f.rest[max(0, len(f.rest)-mostLine):]
			return len(p), nil
		}
		if strings.TrimSpace(string(line)) == f.line {
			f.found()
		}
		f.rest = rest
	}
}

// mostLine is how much is kept of what a command writes.
const mostLine = 4 << 10

// tail keeps the end of what is written.
type tail struct{ bytes.Buffer }

func (t *tail) Write(p []byte) (int, error) {
	if t.Len() > mostLine {
		kept := bytes.Clone(t.Bytes()[t.Len()-mostLine:])
		t.Reset()
		t.Buffer.Write(kept)
	}
	return t.Buffer.Write(p)
}

var _ io.Writer = &tail{}
