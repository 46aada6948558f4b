package xstatetest

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// Confirmed holds claims that live judges confirmed: runs from scratch and interpreters alone. A claim is looked up in
// two places:
//
//   - testdata/confirmed.txt, a golden, so that a machine that never ran the tests needs no judge. A line has a
//     session's name and claims; -update writes it.
//   - a file in the user's cache folder, to which each confirmed claim is added. Its name is a digest of what judged:
//     interpreters, packages, and the semantics of the kernels.
//
// A confirmed claim can only acquit. Where a claim is not among them, live judges decide: so a stale or damaged file
// costs time and hides nothing. An outcome that differs from what it should be makes another claim.
type Confirmed struct {
	mu      sync.Mutex
	golden  map[string]map[Claim]bool // by session
	cached  map[Claim]bool
	path    string // the cache file; "": there is none
	renewed map[string]map[Claim]bool
}

// confirmedFile is the golden.
const confirmedFile = "confirmed.txt"

// maxConfirmedCache bounds the file in the user's cache folder, in bytes. One that is larger begins anew.
const maxConfirmedCache = 4 << 20

// OpenConfirmed reads what is confirmed. judges describes all that decides what a live judge finds.
func OpenConfirmed(judges string) *Confirmed {
	c := &Confirmed{golden: map[string]map[Claim]bool{}, cached: map[Claim]bool{}, renewed: map[string]map[Claim]bool{}}
	data, err := os.ReadFile(Testdata(confirmedFile))
	if err != nil && !os.IsNotExist(err) {
		panic("xstatetest: " + err.Error())
	}
	for line := range strings.Lines(string(data)) {
		words := strings.Fields(line)
		c.golden[words[0]] = map[Claim]bool{}
		for _, w := range words[1:] {
			c.golden[words[0]][Claim(w)] = true
		}
	}
	folder, err := os.UserCacheDir()
	if err != nil {
		return c
	}
	c.path = filepath.Join(folder, "xstate-tests", "confirmed-"+claimDigest(judges))
	data, err = os.ReadFile(c.path)
	if err != nil || len(data) > maxConfirmedCache {
		_ = os.Remove(c.path)
		data = nil
	}
	for line := range strings.Lines(string(data)) {
		c.cached[Claim(strings.TrimSpace(line))] = true
	}
	return c
}

// Has reports whether a claim of a session is confirmed.
func (c *Confirmed) Has(session string, claim Claim) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.golden[session][claim] || c.cached[claim]
}

// Add adds a claim that live judges confirmed.
func (c *Confirmed) Add(session string, claim Claim) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.renewed[session] == nil {
		c.renewed[session] = map[Claim]bool{}
	}
	c.renewed[session][claim] = true
	if c.cached[claim] || c.path == "" {
		return
	}
	c.cached[claim] = true
	if os.MkdirAll(filepath.Dir(c.path), 0o755) != nil {
		return
	}
	f, err := os.OpenFile(c.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return
	}
	defer f.Close()
	fmt.Fprintln(f, claim) // one write, so that lines of two processes do not mix
}

// WriteGolden writes the golden with the claims of the sessions that were judged, and without sessions that are gone.
func (c *Confirmed) WriteGolden(t *testing.T) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	maps.Copy(c.golden, c.renewed)
	var b strings.Builder
	for _, session := range slices.Sorted(maps.Keys(c.golden)) {
		if files, _ := filepath.Glob(Testdata(session + ".txt*")); len(files) == 0 {
			continue
		}
		b.WriteString(session)
		for _, claim := range slices.Sorted(maps.Keys(c.golden[session])) {
			b.WriteString(" " + string(claim))
		}
		b.WriteByte('\n')
	}
	if err := os.WriteFile(Testdata(confirmedFile), []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}
