package remote

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/xstate-engine/xstate/internal/xstatetest/await"
	"github.com/xstate-engine/xstate/state"
)

// bazelRemote is a server of the Remote Execution API that others wrote. It listens at a socket in a folder, to which
// a port is forwarded: so no port can be taken by another program, and a new process serves the same port.
type bazelRemote struct {
	folder  string
	flags   []string
	port    string
	socket  atomic.Pointer[string]
	starts  int
	process *exec.Cmd
	log     *bytes.Buffer // read it when the process has ended
}

// startBazelRemote starts a server with an empty cache. It ends with the test.
func startBazelRemote(t *testing.T, flags ...string) *bazelRemote {
	t.Helper()
	if os.Getenv("XSTATE_TEST_BAZEL_REMOTE") == "" {
		t.Skip("XSTATE_TEST_BAZEL_REMOTE names no program; .ci/bazel-remote makes it")
	}
	folder, err := os.MkdirTemp("", "reapi") // the path of a socket must be short
	if err != nil {
		t.Fatal(err)
	}
	b := &bazelRemote{folder: folder, flags: flags}
	t.Cleanup(func() {
		b.kill(t)
		if err := os.RemoveAll(folder); err != nil {
			t.Error(err)
		}
	})
	b.start(t)
	b.listen(t)
	return b
}

// start starts the process, and waits until it can be reached.
func (b *bazelRemote) start(t *testing.T) {
	t.Helper()
	b.starts++
	socket := filepath.Join(b.folder, fmt.Sprintf("grpc-%d", b.starts))
	b.log = &bytes.Buffer{}
	b.process = exec.Command(os.Getenv("XSTATE_TEST_BAZEL_REMOTE"), append([]string{
		"--dir", filepath.Join(b.folder, "cache"), "--max_size", "1", "--idle_timeout", "10m",
		"--grpc_address", "unix://" + socket,
		"--http_address", "unix://" + filepath.Join(b.folder, fmt.Sprintf("http-%d", b.starts))}, b.flags...)...)
	b.process.Stdout, b.process.Stderr = b.log, b.log
	if err := b.process.Start(); err != nil {
		t.Fatal(err)
	}
	await.Until(t, "bazel-remote listens", func() bool {
		connection, err := net.Dial("unix", socket)
		if err == nil {
			connection.Close()
		}
		return err == nil
	})
	b.socket.Store(&socket)
}

// kill ends the process, as a crash would. A test that failed prints what it wrote.
func (b *bazelRemote) kill(t *testing.T) {
	if b.process == nil || b.process.Process == nil || b.process.ProcessState != nil {
		return
	}
	if err := b.process.Process.Kill(); err != nil {
		t.Error(err)
	}
	b.process.Wait() // its error says that it was killed
	if t.Failed() {
		t.Logf("bazel-remote:\n%s", b.log)
	}
}

// stop stops the process without an end: it answers nothing from now on.
func (b *bazelRemote) stop(t *testing.T) {
	t.Helper()
	if err := b.process.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
}

func (b *bazelRemote) address(scheme string) string { return scheme + "://127.0.0.1:" + b.port }

// listen forwards a port to the process that runs at that time.
func (b *bazelRemote) listen(t *testing.T) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	_, b.port, _ = net.SplitHostPort(listener.Addr().String())
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return // the test has ended
			}
			go forward(connection, *b.socket.Load())
		}
	}()
}

// forward passes bytes both ways until one side ends.
func forward(connection net.Conn, socket string) {
	defer connection.Close()
	server, err := net.Dial("unix", socket)
	if err != nil {
		return
	}
	defer server.Close()
	ended := make(chan struct{}, 2)
	for _, way := range [][2]net.Conn{{connection, server}, {server, connection}} {
		go func() {
			io.Copy(way[0], way[1]) // an error is an end
			ended <- struct{}{}
		}()
	}
	<-ended
}

// path is a pattern of the files of a blob, also of one that has not come in full.
func (b *bazelRemote) path(d state.Digest) string {
	return filepath.Join(b.folder, "cache/cas.v2", string(d[:2]), string(d)+"*")
}

// lose starts the server anew without a blob, and waits until the store reaches it.
func (b *bazelRemote) lose(t *testing.T, s Store, ref state.BlobRef) {
	t.Helper()
	b.kill(t)
	files, err := filepath.Glob(b.path(ref.Digest))
	if err != nil || len(files) != 1 {
		t.Fatalf("files of the blob: %q, %v", files, err)
	}
	if err := os.Remove(files[0]); err != nil {
		t.Fatal(err)
	}
	b.start(t)
	await.Until(t, "the store reaches the server", func() bool {
		_, err := s.Missing(t.Context(), []state.BlobRef{ref})
		return err == nil
	})
}

func openTestServer(t *testing.T, address string, o Server) Store {
	t.Helper()
	s, err := openServer(address, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeStore(t, s) })
	return s
}

// TestBazelRemoteKilled kills the server in the middle of calls. Each of them ends with an error that names it.
func TestBazelRemoteKilled(t *testing.T) {
	for name, call := range map[string]func(t *testing.T, s Store, content []byte, kill func()) error{
		"Blob": func(t *testing.T, s Store, content []byte, kill func()) error {
			putBlob(t, s, content)
			_, err := s.Blob(await.Context(t), refOf(content), eventWriter(kill))
			return err
		},
		"PutBlob": func(t *testing.T, s Store, content []byte, kill func()) error {
			begin, end := bytes.NewReader(content[:maxPart]), bytes.NewReader(content[maxPart:])
			return s.PutBlob(await.Context(t), refOf(content), io.MultiReader(begin, eventReader(kill), end))
		},
	} {
		t.Run(name, func(t *testing.T) {
			server := startBazelRemote(t)
			s := openTestServer(t, server.address("grpc"), Server{})
			content := testContent(t, "", 70<<20) // more than what can be on its way
			wantFailure(t, call(t, s, content, func() { server.kill(t) }), server.address("grpc"))
			for call, err := range allCalls(await.Context(t), s, refOf(testContent(t, "other", 100))) {
				t.Run(call, func(t *testing.T) { wantFailure(t, err, server.address("grpc")) })
			}
		})
	}
}

// wantFailure demands an error of the connection.
func wantFailure(t *testing.T, err error, address string) {
	t.Helper()
	if err == nil || errors.Is(err, ErrReadOnly) || errors.Is(err, context.DeadlineExceeded) ||
		!strings.Contains(err.Error(), address) {
		t.Errorf("error %v, want one of the connection to %s", err, address)
	}
}

// TestBazelRemoteSilent ends contexts of calls to a server that does not answer, and then the server.
func TestBazelRemoteSilent(t *testing.T) {
	server := startBazelRemote(t)
	s := openTestServer(t, server.address("grpc"), Server{})
	content := testContent(t, "", 100)
	putBlob(t, s, content) // now it is connected
	server.stop(t)
	for _, end := range []struct {
		name string
		end  func(cancel func())
		want func(t *testing.T, err error)
	}{
		{"canceled", func(cancel func()) { cancel() }, func(t *testing.T, err error) {
			if !errors.Is(err, context.Canceled) {
				t.Errorf("error %v, want %v", err, context.Canceled)
			}
		}},
		{"killed", func(func()) { server.kill(t) }, func(t *testing.T, err error) {
			wantFailure(t, err, server.address("grpc"))
		}},
	} {
		t.Run(end.name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(await.Context(t))
			defer cancel()
			errs := make(chan error)
			for _, call := range []func() error{
				func() error { _, err := s.Records(ctx, testNames(t, 200)); return err },
				func() error { return s.PutRecord(ctx, testNames(t, 1)[0], []byte("record"), nil) },
				func() error { _, err := s.Missing(ctx, []state.BlobRef{refOf(content)}); return err },
				func() error { _, err := s.Blob(ctx, refOf(content), io.Discard); return err },
				func() error { return s.PutBlob(ctx, refOf(content), bytes.NewReader(content)) },
			} {
				go func() { errs <- call() }()
			}
			end.end(cancel)
			for range 5 {
				end.want(t, await.Receive(t, "a call ends", errs))
			}
		})
	}
}

// TestBazelRemoteFull fills a cache but for half a MiB with an upload that does not end. More has no room meanwhile.
func TestBazelRemoteFull(t *testing.T) {
	const room = 1 << 19
	server := startBazelRemote(t)
	s := openTestServer(t, server.address("grpc"), Server{})
	ctx, cancel := context.WithCancel(await.Context(t))
	defer cancel()
	ended := make(chan error)
	most := state.BlobRef{Digest: refOf(testContent(t, "most", 1)).Digest, Size: 1<<30 - room}
	from, rest := io.Pipe()
	go func() { ended <- s.PutBlob(ctx, most, io.MultiReader(bytes.NewReader(make([]byte, maxPart)), from)) }()
	part := server.path(most.Digest)
	await.Until(t, "the server has set the room aside", func() bool {
		files, err := filepath.Glob(part)
		return err != nil || len(files) > 0
	})
	for _, size := range []int{room + 1, 3 << 20} {
		large := testContent(t, "large", size)
		if err := s.PutBlob(ctx, refOf(large), bytes.NewReader(large)); !errors.Is(err, ErrReadOnly) {
			t.Errorf("PutBlob of %d bytes: %v, want %v", size, err, ErrReadOnly)
		}
	}
	names := testNames(t, 2)
	if err := s.PutRecord(ctx, names[0], make([]byte, room+1), nil); !errors.Is(err, ErrReadOnly) {
		t.Errorf("PutRecord: %v, want %v", err, ErrReadOnly)
	}
	small := testContent(t, "small", 100)
	putBlob(t, s, small)
	putRecord(t, s, names[1], []byte(names[1]), refOf(small))
	if err := readAll(ctx, s, names[1:], []state.BlobRef{refOf(small)}); err != nil {
		t.Error(err)
	}
	cancel()
	rest.Close()
	if err := await.Receive(t, "the upload ends", ended); !errors.Is(err, context.Canceled) &&
		!errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("the upload of a part: %v", err)
	}
}

// TestBazelRemoteEvicted: a record whose blob is lost is missing, and can be written again.
func TestBazelRemoteEvicted(t *testing.T) {
	server := startBazelRemote(t)
	s := openTestServer(t, server.address("grpc"), Server{})
	names := testNames(t, 2)
	content, other := testContent(t, "", 1000), testContent(t, "other", 1000)
	for _, c := range [][]byte{content, other} {
		putBlob(t, s, c)
	}
	putRecord(t, s, names[0], []byte("record"), refOf(other), refOf(content))
	putRecord(t, s, names[1], []byte("of the other"), refOf(other))
	server.lose(t, s, refOf(content))
	if got := oneRecord(t, s, names[0]); got != nil {
		t.Errorf("the record whose blob is lost is %q", got)
	}
	if got := oneRecord(t, s, names[1]); string(got) != "of the other" {
		t.Errorf("the other record is %q", got)
	}
	putBlob(t, s, content)
	putRecord(t, s, names[0], []byte("new"), refOf(content))
	if got := oneRecord(t, s, names[0]); got == nil {
		t.Error("the record is still missing")
	}
}
