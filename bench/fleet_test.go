package bench

import (
	stdheap "container/heap"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A fleet is many sessions that share a cache server, a scheduler and workers, in a simulation of discrete events. Its
// times are those that were measured of one bazel-remote and one Buildbarn on two cores, and of workers that start anew
// for each action. A day of sessions is eight hours long.
type fleet struct {
	sessions int     // a day
	workers  int     // each executes one action at a time
	misses   float64 // the share of nodes of which the cache has no result
	whole    bool    // one action is a whole run, as with `--jobs remote`; else a node, eight of a session at once
}

const (
	fleetNodes   = 100         // a session's
	askNodes     = 64          // that one request of a session asks for
	givenNodes   = 10          // whose results an action takes
	fleetSeconds = 600         // that are simulated
	fleetDay     = 8 * 60 * 60 // seconds
	requestTime  = 1 / 12283.0 // the cache's, for a request
	readTime     = 36.6e-6     // the cache's, for a record that it reads: 412 requests for 64 records in a second
	writeTime    = 1 / 1817.0  // the cache's, for a record that it writes
	dispatchTime = 1 / 277.0   // the scheduler's, for an action
	startTime    = 0.45        // a worker's
	meanTime     = 2.0         // a node's that executes, with a logarithm that has
	spreadTime   = 1.5         // this standard deviation
	sessionJobs  = 8           // actions of a session at once
	recordBytes  = 3000        // a node's, without its values
	shortTime    = 0.5         // a node that takes less executes at the caller
	sharedMisses = 0.08        // as of rollouts
	freshMisses  = 0.5         // as of new programs
)

// event is what happens at a time.
type event struct {
	at   float64
	next func()
}

type eventQueue []event

func (q eventQueue) Len() int           { return len(q) }
func (q eventQueue) Less(i, j int) bool { return q[i].at < q[j].at }
func (q eventQueue) Swap(i, j int)      { q[i], q[j] = q[j], q[i] }
func (q *eventQueue) Push(x any)        { *q = append(*q, x.(event)) }
func (q *eventQueue) Pop() any {
	last := (*q)[len(*q)-1]
	*q = (*q)[:len(*q)-1]
	return last
}

// simulation is one run of a fleet.
type simulation struct {
	fleet
	random *rand.Rand
	now    float64
	events eventQueue

	cache, scheduler, pool station
	waits                  []float64 // of actions: beyond their own times
	actions, nodes, done   int
}

// station is what serves several at once, in the order in which they come.
type station struct {
	sim     *simulation
	servers int
	busy    int
	waiting []func()
	since   float64
	used    float64 // seconds of servers
}

func (s *station) note() {
	s.used += float64(s.busy) * (min(s.sim.now, fleetSeconds) - min(s.since, fleetSeconds))
	s.since = s.sim.now
}

// acquire calls next with a server, now or later.
func (s *station) acquire(next func()) {
	s.note()
	if s.busy == s.servers {
		s.waiting = append(s.waiting, next)
		return
	}
	s.busy++
	next()
}

func (s *station) release() {
	s.note()
	if len(s.waiting) > 0 {
		next := s.waiting[0]
		s.waiting = s.waiting[1:]
		next()
		return
	}
	s.busy--
}

// serve has a server work for some seconds, and then calls next.
func (s *station) serve(seconds float64, next func()) {
	s.acquire(func() {
		s.sim.after(seconds, func() {
			s.release()
			next()
		})
	})
}

func (s *station) utilization() float64 { return s.used / fleetSeconds / float64(s.servers) }

func (s *simulation) after(seconds float64, next func()) {
	stdheap.Push(&s.events, event{s.now + seconds, next})
}

// simulate runs a fleet until all sessions that have begun have ended.
func simulate(f fleet) *simulation {
	s := &simulation{fleet: f, random: rand.New(rand.NewPCG(1, 2))}
	s.cache, s.scheduler = station{sim: s, servers: 1}, station{sim: s, servers: 1}
	s.pool = station{sim: s, servers: f.workers}
	s.arrive()
	for len(s.events) > 0 {
		e := stdheap.Pop(&s.events).(event)
		s.now = e.at
		e.next()
	}
	return s
}

// arrive begins a session, and has others follow.
func (s *simulation) arrive() {
	s.after(s.random.ExpFloat64()*fleetDay/float64(s.sessions), func() {
		if s.now < fleetSeconds {
			s.arrive()
			s.session()
		}
	})
}

// session asks for keys and for results, and has executed what is missing.
func (s *simulation) session() {
	var long []float64
	for range fleetNodes {
		s.nodes++
		if s.random.Float64() >= s.misses {
			continue
		}
		seconds := meanTime * math.Exp(spreadTime*s.random.NormFloat64()-spreadTime*spreadTime/2)
		if seconds >= shortTime || s.whole {
			long = append(long, seconds)
		}
	}
	s.ask(2*fleetNodes, func() { // keys and results
		if s.whole && len(long) > 0 {
			all := 0.0
			for _, seconds := range long {
				all += seconds
			}
			s.action(all, len(long), func() { s.done++ })
			return
		}
		s.execute(long)
	})
}

// ask reads records from the cache, one request after the other.
func (s *simulation) ask(records int, next func()) {
	if records == 0 {
		next()
		return
	}
	now := min(records, askNodes)
	s.cache.serve(askTime(now), func() { s.ask(records-now, next) })
}

// askTime is how long the cache needs for a request.
func askTime(records int) float64 { return requestTime + float64(records)*readTime }

// execute has nodes of a session executed, some at once.
func (s *simulation) execute(long []float64) {
	running := 0
	var more func()
	more = func() {
		if running == 0 && len(long) == 0 {
			s.done++
			return
		}
		for running < sessionJobs && len(long) > 0 {
			seconds := long[0]
			long = long[1:]
			running++
			s.action(seconds, 1, func() {
				running--
				more()
			})
		}
	}
	more()
}

// action has a worker execute some nodes, which take some seconds together.
func (s *simulation) action(seconds float64, nodes int, next func()) {
	s.actions++
	writes := float64(nodes) * 2 * writeTime // a record and a value each
	found := min(2*nodes, askNodes)
	alone := writeTime + dispatchTime + startTime + askTime(givenNodes) + seconds + writes + askTime(found)
	began := s.now
	s.cache.serve(writeTime, func() {
		s.scheduler.serve(dispatchTime, func() {
			s.pool.acquire(func() {
				s.after(startTime, func() {
					s.ask(givenNodes, func() {
						s.after(seconds, func() {
							s.cache.serve(writes, func() {
								s.pool.release()
								s.ask(found, func() {
									s.waits = append(s.waits, s.now-began-alone)
									next()
								})
							})
						})
					})
				})
			})
		})
	})
}

// row is a line of the table: what is used to which share, and how long half and 99 of 100 actions wait.
func (s *simulation) row() string {
	slices.Sort(s.waits)
	unit := "node"
	if s.whole {
		unit = "run"
	}
	day := float64(fleetDay) / fleetSeconds
	return fmt.Sprintf("| %d | %.0f%% | %s | %.0f | %.0f%% | %.0f%% | %.0f%% | %.1f, %.1f | %.0f | %.0f |\n",
		s.sessions, 100*s.misses, unit, float64(s.actions)/fleetSeconds,
		100*s.scheduler.utilization(), 100*s.cache.utilization(), 100*s.pool.utilization(),
		s.waits[len(s.waits)/2], s.waits[len(s.waits)*99/100],
		s.pool.used/60/60*day, float64(s.nodes)*s.misses*recordBytes/1e9*day)
}

// TestFleet: the table of docs/remote.md is what the simulation gives, and the simulation obeys what holds for all
// such systems. -update writes the table.
func TestFleet(t *testing.T) {
	table := "| sessions a day | misses | action | actions a second | scheduler | cache | workers | " +
		"seconds waited: half, 99 of 100 | hours of workers | GB of records |\n" +
		strings.Repeat("| --- ", 10) + "|\n"
	for _, f := range []fleet{
		{sessions: 10_000, misses: sharedMisses}, {sessions: 10_000, misses: freshMisses},
		{sessions: 100_000, misses: freshMisses}, {sessions: 200_000, misses: freshMisses},
		{sessions: 250_000, misses: freshMisses}, {sessions: 300_000, misses: freshMisses},
		{sessions: 250_000, misses: freshMisses, whole: true},
		{sessions: 250_000, misses: sharedMisses},
	} {
		f.workers = 1000
		s := simulate(f)
		table += s.row()
		if began := float64(s.nodes) / fleetNodes; float64(s.done) != began {
			t.Errorf("%+v: %d sessions of %.0f ended", f, s.done, began)
		}
		if s.pool.busy+s.cache.busy+s.scheduler.busy != 0 {
			t.Errorf("%+v: something is busy at the end", f)
		}
		if slices.Min(s.waits) < -1e-9 {
			t.Errorf("%+v: an action took less than its own times", f)
		}
	}
	const page, begin, end = "../docs/remote.md", "<!-- fleet -->\n", "<!-- end -->"
	text, err := os.ReadFile(page)
	before, rest, found := strings.Cut(string(text), begin)
	old, after, ended := strings.Cut(rest, end)
	if err != nil || !found || !ended {
		t.Fatalf("%s has no part of the fleet: %v", page, err)
	}
	if *update {
		if err := os.WriteFile(page, []byte(before+begin+table+end+after), 0o666); err != nil {
			t.Fatal(err)
		}
	} else if d := cmp.Diff(old, table); d != "" {
		t.Errorf("%s (-page +simulation):\n%s", page, d)
	}
}

// TestFleetQueue: of a station with one server, random arrivals and equal times, the mean wait is that of queueing
// theory (Pollaczek and Khinchine: ρs/2(1-ρ)).
func TestFleetQueue(t *testing.T) {
	s := &simulation{random: rand.New(rand.NewPCG(3, 4))}
	one := station{sim: s, servers: 1}
	const n, service, load = 200_000, 1.0, 0.8
	waited, at := 0.0, 0.0
	for range n {
		at += s.random.ExpFloat64() * service / load
		stdheap.Push(&s.events, event{at, func() {
			came := s.now
			one.acquire(func() {
				waited += s.now - came
				s.after(service, one.release)
			})
		}})
	}
	for len(s.events) > 0 {
		e := stdheap.Pop(&s.events).(event)
		s.now = e.at
		e.next()
	}
	want := load * service / 2 / (1 - load)
	if mean := waited / n; math.Abs(mean-want) > want/20 {
		t.Errorf("the mean wait is %.3f, want %.3f", mean, want)
	}
}
