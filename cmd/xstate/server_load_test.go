package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/xstate-engine/xstate/internal/api"
	"github.com/xstate-engine/xstate/internal/serve"
)

// loadBudget is less than eleven interpreters take, so that sessions are closed and come back.
const loadBudget = 200_000_000

// TestServerLoad has ten agents on ten sessions and three on one, with little memory for interpreters. Results equal
// those of plain runs, which for the three is some order of what they had executed. XSTATE_EXECS says how many there
// are.
func TestServerLoad(t *testing.T) {
	execs := 150
	if text := os.Getenv("XSTATE_EXECS"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		execs = n
	}
	a := newAgents(t)
	a.must("", "serve", "--background", "--memory", fmt.Sprintf("%dB", loadBudget))
	server := serve.Find(a.store).Info.PID
	var number atomic.Int64
	next := func() int { return int(number.Add(1)) }
	sessions := map[string][]*adder{}
	for i := range 13 {
		d := &adder{session: fmt.Sprintf("s%d", min(i, 10)), exec: a.exec, next: next,
			all: &a.acknowledged, printed: map[string]string{}}
		if i%3 == 0 {
			d.exec = a.post
		}
		if sessions[d.session] == nil {
			if err := os.Mkdir(filepath.Join(a.folder, d.session), 0o777); err != nil {
				t.Fatal(err)
			}
			a.must(d.session, "exec", "--session", d.session, "--append", "-c", firstBlock)
		}
		sessions[d.session] = append(sessions[d.session], d)
	}
	var all sync.WaitGroup
	for _, adders := range sessions {
		for _, d := range adders {
			all.Go(func() {
				for number.Load() < int64(execs) && !t.Failed() {
					d.add()
				}
			})
		}
	}
	all.Wait()
	a.wait("idle interpreters take more than the budget", func() bool {
		var d api.Server
		if err := json.Unmarshal(a.must("", "serve", "--status", "--json"), &d); err != nil {
			t.Error(err)
		}
		total := int64(0)
		for _, s := range d.Sessions {
			total += s.Bytes
		}
		return total <= loadBudget
	})
	most := peak(t, server)
	t.Logf("%d calls, the server took at most %d MB", number.Load(), most>>20)
	if most > 400<<20 {
		t.Errorf("the server took %d MB", most>>20)
	}
	acknowledged := 0
	for name, adders := range sessions {
		for _, d := range adders {
			acknowledged += len(d.acknowledged)
		}
		a.judge(name, adders...)
	}
	if acknowledged != int(number.Load()) {
		t.Errorf("%d of %d calls were acknowledged", acknowledged, number.Load())
	}
	a.must("", "check")
}

// peak returns the most memory that a process has taken.
func peak(t *testing.T, pid int) int64 {
	t.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(data), "VmHWM:")
	kilobytes, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return kilobytes << 10
}
