package acceptance

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/state"
)

// spent is where the time of a session goes, in seconds of wall time.
type spent struct {
	session                                           string
	starts, imports, executions, rest, scratch, alone float64
	started                                           int // interpreters, those of runs from scratch not counted
}

var allSpent = struct {
	sync.Mutex
	by map[string]*spent
}{by: map[string]*spent{}}

func spentOn(session string) *spent {
	allSpent.Lock()
	defer allSpent.Unlock()
	if allSpent.by[session] == nil {
		allSpent.by[session] = &spent{session: session}
	}
	return allSpent.by[session]
}

func (s *spent) add(what *float64, seconds float64) {
	allSpent.Lock()
	defer allSpent.Unlock()
	*what += seconds
}

// run adds a run that took some seconds, its planning included.
func (s *spent) run(out *xstate.Outcome, seconds float64) {
	allSpent.Lock()
	defer allSpent.Unlock()
	imports := 0.0
	for _, b := range out.Blocks {
		lines := strings.Split(b.Source, "\n")
		for _, n := range b.Nodes {
			if n.Status != state.StatusRan || n.Line < 1 || n.Line > len(lines) {
				continue
			}
			word, _, _ := strings.Cut(strings.TrimSpace(lines[n.Line-1]), " ")
			if word == "import" || word == "from" {
				imports += n.Seconds
			}
		}
	}
	if out.StartSeconds > 0 {
		s.started++
	}
	s.starts += out.StartSeconds
	s.imports += imports
	s.executions += out.Seconds - imports
	s.rest += seconds - out.StartSeconds - out.Seconds
}

func (s *spent) total() float64 {
	return s.starts + s.imports + s.executions + s.rest + s.scratch + s.alone
}

func (s *spent) String() string {
	return fmt.Sprintf(
		"%7.1f s: starts %.1f (%d), imports %.1f, executions %.1f, engine %.1f, from scratch %.1f, alone %.1f",
		s.total(), s.starts, s.started, s.imports, s.executions, s.rest, s.scratch, s.alone)
}

// spentText describes the seconds of all sessions so far, and the ten slowest.
func spentText() string {
	allSpent.Lock()
	defer allSpent.Unlock()
	all := slices.Collect(maps.Values(allSpent.by))
	clear(allSpent.by)
	sum := spent{}
	for _, s := range all {
		sum.starts += s.starts
		sum.started += s.started
		sum.imports += s.imports
		sum.executions += s.executions
		sum.rest += s.rest
		sum.scratch += s.scratch
		sum.alone += s.alone
	}
	text := fmt.Sprintf("%v: %d sessions; the slowest:\n", &sum, len(all))
	slices.SortFunc(all, func(x, y *spent) int { return cmp.Compare(y.total(), x.total()) })
	for _, s := range all[:min(10, len(all))] {
		text += fmt.Sprintf("%v: %s\n", s, s.session)
	}
	return text
}
