package runner

import (
	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/depgraph/languages"
)

// ownCalls counts, by name, the functions that blocks define and those that statements of blocks call. A program that
// calls one of its functions may have nodes that depend on several blocks, see depgraph.Part. The planner leaves such a
// program to a walk.
type ownCalls struct {
	of    map[uint32][2][]string // block → functions that it defines, functions that it calls
	times map[string]*[2]int
	both  int // names that are defined and called

	lastValues map[uint32]bool // blocks that read the value of another cell by a name of IPython's
}

// set replaces what is known of a block; facts are nil if it is gone or does not parse.
func (o *ownCalls) set(x uint32, facts *depgraph.Facts) {
	if o.of == nil {
		o.of, o.times, o.lastValues = map[uint32][2][]string{}, map[string]*[2]int{}, map[uint32]bool{}
	}
	if delete(o.lastValues, x); languages.ReadsLastValues(facts) {
		o.lastValues[x] = true
	}
	o.count(o.of[x], -1)
	delete(o.of, x)
	var now [2][]string
	if facts != nil {
		for i := range facts.Nodes {
			if n := &facts.Nodes[i]; n.Kind == depgraph.KindDef {
				now[0] = append(now[0], n.Defines...)
			}
		}
		now[1] = facts.Calls
	}
	if len(now[0])+len(now[1]) > 0 {
		o.of[x] = now
		o.count(now, 1)
	}
}

func (o *ownCalls) count(names [2][]string, by int) {
	for side, list := range names {
		for _, name := range list {
			t := o.times[name]
			if t == nil {
				t = new([2]int)
				o.times[name] = t
			}
			was := t[0] > 0 && t[1] > 0
			t[side] += by
			if is := t[0] > 0 && t[1] > 0; is && !was {
				o.both++
			} else if was && !is {
				o.both--
			}
			if *t == [2]int{} {
				delete(o.times, name)
			}
		}
	}
}
