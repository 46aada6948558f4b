package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/xstate-engine/xstate/internal/api"
	"github.com/xstate-engine/xstate/internal/verb"
	"github.com/xstate-engine/xstate/state"
)

// Client carries calls out through the server of a store.
type Client struct {
	dir  string
	Info Info
}

// RefusedError reports that a server did nothing for a call, which its caller can carry out alone.
type RefusedError struct {
	Reason string
	Ending bool // it ends, so that another can be started
	Silent bool // it does not answer
}

func (e *RefusedError) Error() string { return "the server cannot do this: " + e.Reason }

// ErrPipe reports that a call ended because its output has no reader any more.
var ErrPipe = errPipe

// Find returns a client for the server of the store in dir; nil if none says that it is there.
func Find(dir string) *Client {
	dir = canonical(dir)
	info, ok := readInfo(dir)
	if !ok || !slices.Contains(socketPaths(dir), info.Socket) {
		return nil
	}
	return &Client{dir: dir, Info: info}
}

// Same reports whether the server is of the same build as this process.
func (c *Client) Same() bool { return c.Info.Build == Build() }

// connect returns a connection to the server. An error means that there is none that this process may use.
func (c *Client) connect(ctx context.Context) (*net.UnixConn, error) {
	d := net.Dialer{Timeout: 2 * time.Second}
	conn, err := d.DialContext(ctx, "unix", c.Info.Socket)
	if err != nil {
		return nil, err
	}
	u := conn.(*net.UnixConn)
	if _, err := checkPeer(u); err != nil {
		u.Close()
		return nil, err
	}
	return u, nil
}

// Alive reports whether the server answers.
func (c *Client) Alive(ctx context.Context) bool {
	conn, err := c.connect(ctx)
	if err == nil {
		conn.Close()
	}
	return err == nil
}

// Send carries out a call. Cancelling ctx interrupts it, and waits for it to end. Its error is a *RefusedError if the
// server did nothing, is ErrPipe, or has api.CodeServerGone or api.CodeServerSilent.
func (c *Client) Send(ctx context.Context, call Call) (exit int, err error) {
	return c.send(ctx, call, surroundings())
}

// Operate carries out an operation, whose answer comes back as lines. Its error is one of Send.
func (c *Client) Operate(ctx context.Context, call verb.Call) (answer any, failed *api.Error, err error) {
	wire, err := verb.Pack(call)
	if err != nil {
		return nil, nil, err
	}
	out := &verb.Reader{Event: call.Event}
	_, err = c.exchange(ctx, Call{Stdin: strings.NewReader(""), Stdout: out, Stderr: io.Discard}, command{
		Operation: &wire, Folder: call.Folder, Environ: call.Environ, Surroundings: surroundings(),
	})
	if err != nil {
		return nil, nil, err
	}
	answer, failed = out.End()
	return answer, failed, nil
}

// Control is Send for a call that runs no program, so that the server carries it out whatever it would pass on to one.
func (c *Client) Control(ctx context.Context, call Call) (exit int, err error) {
	return c.send(ctx, call, "")
}

func (c *Client) send(ctx context.Context, call Call, around string) (exit int, err error) {
	return c.exchange(ctx, call, command{
		Args: call.Args, Folder: call.Folder, Environ: call.Environ, Surroundings: around,
	})
}

// exchange sends a command with the streams of a call.
func (c *Client) exchange(ctx context.Context, streams Call, cmd command) (exit int, err error) {
	conn, err := c.connect(ctx)
	if err != nil {
		return 0, &RefusedError{Reason: "it does not answer", Ending: true}
	}
	defer conn.Close()
	files, finish, err := filesOf(streams)
	if err != nil {
		return 0, err
	}
	cmd.Version = Build()
	exit, err = c.converse(ctx, conn, cmd, files)
	finish()
	return exit, err
}

const (
	readyTime     = 5 * time.Second  // for a server to be ready for a call
	interruptTime = 30 * time.Second // for a call to end after an interrupt
)

// converse sends a command, and the descriptors when the server is ready, and reads how the call ended.
func (c *Client) converse(
	ctx context.Context, conn *net.UnixConn, cmd command, files [descriptors]*os.File,
) (exit int, err error) {
	_ = conn.SetDeadline(time.Now().Add(readyTime))
	sent := sendCommand(conn, cmd) // a server that refuses it may not have read it
	var r reply
	err = readFrame(conn, &r)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return 0, &RefusedError{Reason: fmt.Sprintf("process %d does not answer", c.Info.PID), Silent: true}
	}
	if err != nil {
		return 0, &RefusedError{Reason: "it ended", Ending: true}
	}
	if r.Ready {
		sent = sendDescriptors(conn, files)
		_ = conn.SetDeadline(time.Time{})
		stop := context.AfterFunc(ctx, func() {
			_ = conn.SetDeadline(time.Now().Add(interruptTime))
			_, _ = conn.Write([]byte{interruptByte})
		})
		defer stop()
		r = reply{}
		err = readFrame(conn, &r)
	}
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return 0, c.Silent(err)
	case err != nil:
		return 0, &state.Error{
			Code:    api.CodeServerGone,
			Message: "the server of the store ended before it answered",
			Hint:    "run it again; if the code itself ends the server, take it back: `xstate log`, `xstate undo STEP`",
			Err:     errors.Join(sent, err),
		}
	case r.Refused != "":
		return 0, &RefusedError{Reason: r.Refused, Ending: r.Ending}
	case r.Pipe:
		return r.Exit, errPipe
	}
	return r.Exit, nil
}

// Silent is the error of a server that does not answer.
func (c *Client) Silent(err error) error {
	return &state.Error{
		Code:    api.CodeServerSilent,
		Message: fmt.Sprintf("the server of the store, process %d, does not answer", c.Info.PID),
		Hint:    fmt.Sprintf("wait, or end it: kill -9 %d loses nothing that was reported", c.Info.PID),
		Err:     err,
	}
}

// Retire asks the server to end, and reports whether it does: it continues while it has calls to carry out.
func (c *Client) Retire(ctx context.Context) bool {
	conn, err := c.connect(ctx)
	if err != nil {
		return true
	}
	defer conn.Close()
	_, err = c.converse(ctx, conn, command{Version: Build(), Retire: true}, [descriptors]*os.File{})
	return err == nil && WaitGone(ctx, c.dir, 10*time.Second)
}

// WaitGone waits until no server has the store in dir.
func WaitGone(ctx context.Context, dir string, limit time.Duration) bool {
	for deadline := time.Now().Add(limit); ctx.Err() == nil && time.Now().Before(deadline); {
		if !locked(canonical(dir)) {
			return true
		}
		time.Sleep(5 * time.Millisecond)
	}
	return false
}

// filesOf returns the files of a call's streams. A stream that is not a file goes through a pipe; finish waits until
// what was written is out.
func filesOf(call Call) (files [descriptors]*os.File, finish func(), err error) {
	var ends []*os.File // ends of pipes, which the server gets
	var copies sync.WaitGroup
	for i, stream := range []any{call.Stdin, call.Stdout, call.Stderr} {
		if f, ok := stream.(*os.File); ok {
			files[i] = f
			continue
		}
		r, w, bad := os.Pipe()
		if bad != nil {
			return files, nil, bad
		}
		if in, ok := stream.(io.Reader); i == 0 {
			files[i], ends = r, append(ends, r)
			go func() { // it ends when the reader closes, or the server has closed its end
				defer w.Close()
				if ok {
					_, _ = io.Copy(w, in)
				}
			}()
			continue
		}
		files[i], ends = w, append(ends, w)
		copies.Go(func() {
			defer r.Close()
			if out, ok := stream.(io.Writer); ok {
				_, _ = io.Copy(out, r)
			}
		})
	}
	return files, func() {
		for _, f := range ends {
			f.Close()
		}
		copies.Wait()
	}, nil
}
