package state

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/xstate-engine/xstate/internal/xstatetest/sampling"
)

// The test binary is its own child: with this in its environment it is not a test but a program that commits.
const childVar = "XSTATE_STATE_TEST_CHILD"

func TestMain(m *testing.M) {
	if role, dir, ok := strings.Cut(os.Getenv(childVar), ":"); ok {
		if err := children[role](dir, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

var children = map[string]func(dir string, out io.Writer) error{
	"commit": commitForever,
	"call":   callForever,
}

func child(role, dir string) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childVar+"="+role+":"+dir)
	return cmd
}

// commitForever commits steps and frees results now and then. It prints the number of each step once it is
// acknowledged.
func commitForever(dir string, out io.Writer) error {
	s, err := Open(ctx, dir, Options{})
	if err != nil {
		return err
	}
	n, _, err := s.Head(ctx, "s")
	if err != nil {
		return err
	}
	for {
		n++
		if _, err := s.PutTrace(Trace{Code: DigestOf([]byte("c")), Marks: []string{itoa(int(n))}}); err != nil {
			return err
		}
		if _, err := s.PutBlob(noise(uint64(n), 20_000)); err != nil {
			return err
		}
		d := insert(BlockID("b"+itoa(int(n))), "", "x = "+itoa(int(n)))
		if n%3 == 0 {
			d = Draft{Kind: KindRun, Run: &RunSummary{}}
		}
		if n%8 == 0 {
			if _, err := s.Collect(ctx, CollectOptions{MaxBytes: 300_000}); err != nil {
				return err
			}
		}
		if _, err := s.Commit(ctx, "s", n-1, []Draft{d}); err != nil {
			return err
		}
		fmt.Fprintln(out, n)
	}
}

// noise returns bytes that do not compress.
func noise(seed uint64, n int) []byte {
	r := rand.New(rand.NewPCG(seed, 1))
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

// TestKill kills a committing process at random moments: every step it acknowledged is there, and nothing is broken.
// XSTATE_KILLS says how often.
func TestKill(t *testing.T) {
	dir := storeDir(t)
	s, err := Open(ctx, dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	create(t, s, "s")
	checkClose(t, s)
	random := rand.New(rand.NewPCG(sampling.Seed(t), 0))
	kills := 20
	if text := os.Getenv("XSTATE_KILLS"); text != "" {
		if kills, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	for range kills {
		acknowledged := killed(t, "commit", dir, random.IntN(30), time.Duration(random.IntN(3000))*time.Microsecond)
		s, err := Open(ctx, dir, Options{})
		if err != nil {
			t.Fatal(err)
		}
		head, _, err := s.Head(ctx, "s")
		if err != nil || int(head) < acknowledged {
			t.Errorf("Head = %d, %v; step %d was acknowledged", head, err, acknowledged)
		}
		if _, err := s.Step(ctx, "s", head); head > 0 && err != nil {
			t.Errorf("Step(%d): %v", head, err)
		}
		if notices := s.Notices(); len(notices) > 0 {
			t.Errorf("Notices = %q, want none", notices)
		}
		checkClose(t, s)
	}
}

// killed runs a child until it has acknowledged some steps and a little longer, kills it, and returns the last step it
// acknowledged.
func killed(t *testing.T, role, dir string, steps int, longer time.Duration) (last int) {
	t.Helper()
	cmd := child(role, dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	read := func() bool {
		ok := lines.Scan()
		if ok {
			fmt.Sscan(lines.Text(), &last)
		}
		return ok
	}
	for range steps {
		if !read() {
			t.Fatalf("the child ended after step %d", last)
		}
	}
	time.AfterFunc(longer, func() { cmd.Process.Kill() })
	for read() {
	}
	cmd.Wait()
	return last
}
