package node

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestWalks: of random values, the walk by layouts and the walk that asks each object write the same bytes and number
// the same objects. And no value that was changed in a random way counts as unchanged.
func TestWalks(t *testing.T) {
	driver, err := filepath.Abs(driverRoot)
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range interpreters(t) {
		t.Run(i.String(), func(t *testing.T) {
			var written [2]bytes.Buffer
			for at, more := range [][]string{nil, {"slow"}} {
				args := append([]string{filepath.Join("testdata", "walks.js"), driver, "20261128", "4000"}, more...)
				c := exec.CommandContext(t.Context(), i.Path, args...)
				var said bytes.Buffer
				c.Stdout, c.Stderr = &written[at], &said
				if err := c.Run(); err != nil {
					t.Fatalf("%v\n%s", err, &said)
				}
				t.Logf("%s", &said)
			}
			if fast, slow := lines(&written[0]), lines(&written[1]); len(fast) < 4000 || len(fast) != len(slow) {
				t.Fatalf("%d and %d values", len(fast), len(slow))
			} else {
				for n := range fast {
					if fast[n] != slow[n] {
						t.Fatalf("seed, digest and numbers of a value: %s, by asking each object %s", fast[n], slow[n])
					}
				}
			}
		})
	}
}

func lines(b *bytes.Buffer) []string { return strings.Split(strings.TrimSpace(b.String()), "\n") }
