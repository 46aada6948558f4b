package sandbox

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/xstate-engine/xstate/runner/sandbox/keeper"
)

// watch ends a box whose processes use more than they may. It looks ten times a second while a node runs.
type watch struct {
	limits Limits
	top    int    // the keeper's process
	kill   func() // ends the box
	done   chan bool

	mu       sync.Mutex
	inside   bool
	since    time.Time     // when the node began
	used     time.Duration // processor time of all, at the last look
	before   time.Duration // the same when the node began
	exceeded *Denial       // why the box was ended
	stopped  bool
}

const lookEvery = 100 * time.Millisecond

// start begins to look, if there is something to look for.
func (w *watch) start(top int, end func()) {
	l := w.limits
	if l.CPU == 0 && l.Wall == 0 && l.Memory == 0 {
		return
	}
	w.top, w.kill, w.done = top, end, make(chan bool)
	go w.run(w.done)
}

func (w *watch) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.done != nil && !w.stopped {
		w.stopped = true
		close(w.done)
	}
}

func (w *watch) begin() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.inside, w.since, w.before = true, time.Now(), w.used
}

func (w *watch) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.inside = false
}

func (w *watch) run(done chan bool) {
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	for {
		select {
		case <-done:
			return
		case <-ticker.C:
			if w.look() {
				w.kill()
				return
			}
		}
	}
}

// look reports whether a limit is exceeded, and notes which.
func (w *watch) look() bool {
	var used time.Duration
	var resident int64
	all := append([]int{w.top}, keeper.Descendants(w.top, nil)...)
	for _, pid := range all {
		t, r := usage(pid)
		used += t
		if pid != w.top {
			resident += r
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.used = max(w.used, used) // a process that ends is counted by its parent a little later
	l := w.limits
	switch {
	case l.Memory > 0 && resident > l.Memory && shared(all[1:]) > l.Memory:
		w.exceeded = limitDenial("memory", strconv.FormatInt(l.Memory, 10))
	case !w.inside:
	case l.CPU > 0 && w.used-w.before > l.CPU:
		w.exceeded = limitDenial("cpu", l.CPU.String())
	case l.Wall > 0 && time.Since(w.since) > l.Wall:
		w.exceeded = limitDenial("wall", l.Wall.String())
	}
	return w.exceeded != nil
}

// tick is the unit of times in /proc. It is the same on all systems: the system call interface fixes it.
const tick = time.Second / 100

// usage is the processor time of a process and of its children that ended, and its resident bytes.
func usage(pid int) (time.Duration, int64) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0, 0
	}
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if len(fields) < 22 {
		return 0, 0
	}
	var ticks, pages int64
	for _, field := range fields[11:15] { // utime, stime, cutime, cstime
		n, _ := strconv.ParseInt(field, 10, 64)
		ticks += n
	}
	pages, _ = strconv.ParseInt(fields[21], 10, 64)
	return time.Duration(ticks) * tick, pages * int64(os.Getpagesize())
}

// shared is what processes hold of the memory, where each page that several share counts once. It costs more than to
// add what each holds, which counts these pages many times.
func shared(pids []int) (sum int64) {
	for _, pid := range pids {
		text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/smaps_rollup")
		if err != nil {
			_, resident := usage(pid) // it cannot be looked into: what is known counts
			sum += resident
			continue
		}
		_, rest, _ := strings.Cut(string(text), "\nPss:")
		var kilobytes int64
		_, _ = fmt.Sscan(rest, &kilobytes)
		sum += kilobytes << 10
	}
	return sum
}

// limitDenial is the denial by a limit.
func limitDenial(name, amount string) *Denial {
	return &Denial{Action: name, Target: amount, Rule: "limits." + name}
}

// why says which limit ended the box; nil: none did.
func (w *watch) why() *Denial {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.exceeded
}
