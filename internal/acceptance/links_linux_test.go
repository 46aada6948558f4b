package acceptance

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/runner/sandbox/policy"
)

// TestLinkRace exchanges a folder of the program and a link to a neighbour all the time, while the engine restores the
// files of the folder. A run may fail for it. Nothing outside changes, and no content comes from there.
func TestLinkRace(t *testing.T) {
	rounds := 40
	if os.Getenv("XSTATE_TEST_ALL") != "" {
		rounds = 1000
	}
	l := newLinkSession(t, &policy.Policy{Level: policy.Workspace}) // it writes through no link: the engine might
	folder, link := filepath.Join(l.dir, "d"), filepath.Join(l.dir, "l")
	if err := os.Symlink("../outside", link); err != nil {
		t.Fatal(err)
	}
	text := func(i int) []string {
		return []string{"import os", "os.makedirs('d', exist_ok=True)", "pass",
			fmt.Sprintf("open('d/keep', 'w').write('chosen %d')", i), "os.chmod('d/keep', 0o666)",
			"print(os.path.exists('d/keep'))"}
	}
	stop, done := make(chan bool), make(chan int)
	go func() {
		for n := 0; ; {
			select {
			case <-stop:
				done <- n
				return
			default:
				if unix.Renameat2(unix.AT_FDCWD, folder, unix.AT_FDCWD, link, unix.RENAME_EXCHANGE) == nil {
					n++
				}
			}
		}
	}()
	failed := 0
	for i := range rounds {
		if _, err := l.Exec(t.Context(), strings.Join(text(i%2), "\n"), xstate.ExecOptions{}); err != nil {
			failed++
		}
	}
	close(stop)
	if n := <-done; n < rounds {
		t.Errorf("the folder and the link were exchanged %d times only", n)
	}
	l.contained(t)
	t.Logf("%d of %d runs failed", failed, rounds)
}
