package gateway

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/xstate-engine/xstate/internal/xstatetest/await"
)

// Credentials of the user of a gateway.
const (
	User     = "xstate-test"
	Password = "xstate-test-password"
)

// Gateway is a server with one bucket, which is a folder.
type Gateway struct {
	folder  string
	notes   string // what it knows of objects
	port    string
	process *exec.Cmd
	log     bytes.Buffer // read it when the process has ended
}

// Start starts a server with an empty bucket. It ends with the test.
func Start(t *testing.T) *Gateway {
	t.Helper()
	program := os.Getenv("XSTATE_TEST_S3")
	if program == "" {
		t.Skip("XSTATE_TEST_S3 names no program; .ci/gateway makes it")
	}
	g := &Gateway{folder: t.TempDir(), notes: t.TempDir()}
	if err := os.Mkdir(filepath.Join(g.folder, "results"), 0o700); err != nil {
		t.Fatal(err)
	}
	for range 5 { // another program may take a port that is free now
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		_, g.port, _ = net.SplitHostPort(listener.Addr().String())
		listener.Close()
		if g.start(t, program) {
			t.Cleanup(func() { g.Kill(t) })
			return g
		}
	}
	t.Fatalf("the gateway does not start:\n%s", &g.log)
	return nil
}

// start starts the process, and waits until it can be reached. It reports false if it ends before.
func (g *Gateway) start(t *testing.T, program string) bool {
	t.Helper()
	g.process = exec.Command(program, "--quiet", "--access", User, "--secret", Password,
		"--port", "127.0.0.1:"+g.port, "posix", "--sidecar", g.notes, g.folder)
	g.process.Stdout, g.process.Stderr = &g.log, &g.log
	if err := g.process.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		g.process.Wait() // its error is in the log
		close(ended)
	}()
	listens := false
	await.Until(t, "the gateway listens, or ends", func() bool {
		connection, err := net.Dial("tcp", "127.0.0.1:"+g.port)
		if listens = err == nil; listens {
			connection.Close()
			return true
		}
		select {
		case <-ended:
			return true
		default:
			return false
		}
	})
	return listens
}

// Kill ends the process, as a crash would. A test that failed prints what it wrote.
func (g *Gateway) Kill(t *testing.T) {
	if err := g.process.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		t.Error(err)
	}
	if t.Failed() {
		t.Logf("the gateway:\n%s", &g.log)
	}
}

// Address is that of a cache in the bucket.
func (g *Gateway) Address() string {
	return fmt.Sprintf("s3://results/team?endpoint=http://127.0.0.1:%s&region=us-east-1", g.port)
}

// File is that of an object of the cache. Folder is "blobs" or "records".
func (g *Gateway) File(folder, name string) string {
	return filepath.Join(g.folder, "results", "team", folder, name)
}

// Lose removes an object of the cache.
func (g *Gateway) Lose(t *testing.T, folder, name string) {
	t.Helper()
	notes := filepath.Join(g.notes, "results", "team", folder, name)
	if err := errors.Join(os.Remove(g.File(folder, name)), os.RemoveAll(notes)); err != nil {
		t.Fatal(err)
	}
}
