package patch

import "math"

// Decision says which block a block that was written again was taken for, and what else it could have been.
type Decision struct {
	Block         string  `json:"block,omitempty"` // "": none, it is new
	By            By      `json:"by"`
	Score         float64 `json:"score"` // 0 to 1
	RunnerUp      string  `json:"runner_up,omitempty"`
	RunnerUpScore float64 `json:"runner_up_score,omitempty"`
}

// Threshold is the score from which on a block that is written again replaces one that is there. Below, it is a new block.
const Threshold = 0.8

// decider finds out which block is written again. It remembers what it has seen of texts.
type decider struct {
	in     interner
	traits map[string]traits
	names  map[string]*bindings
	lists  map[string][]stmt
}

func newDecider() *decider {
	return &decider{interner{}, map[string]traits{}, map[string]*bindings{}, map[string][]stmt{}}
}

// of returns what counts of a text.
func (g *decider) of(source string) (traits, *bindings) {
	if g.names[source] == nil {
		g.traits[source], g.names[source] = g.in.traits(source), bindingsOf(source)
	}
	return g.traits[source], g.names[source]
}

// decide tells which of the blocks that are not taken yet is written again as text. failed are the blocks that failed in the last
// run, which it may answer.
func (g *decider) decide(blocks []Block, text string, failed, taken map[string]bool) Decision {
	c := g.compare(blocks, text)
	best, second := Decision{By: ByNothing}, Decision{}
	for i, b := range blocks {
		if taken[b.ID] {
			continue
		}
		d := Decision{Block: b.ID, By: ByContent, Score: 1}
		if b.Source != text {
			e := c.featuresOf(i, failed[b.ID])
			d.Score, d.By = e.score(), e.by()
		}
		if d.Score > best.Score {
			best, second = d, best
		} else if d.Score > second.Score {
			second = d
		}
	}
	best.RunnerUp, best.RunnerUpScore = second.Block, second.Score
	if best.Score < Threshold {
		return Decision{By: ByNothing, Score: best.Score, RunnerUp: best.Block, RunnerUpScore: best.Score}
	}
	return best
}

// whole tells how like a text is to all of a program, by lines; 0 when it is as like to one of its blocks.
func (g *decider) programLikeness(blocks []Block, text string) float64 {
	mine, _ := g.of(text)
	var lines []int
	most := 0.0
	for _, b := range blocks {
		t, _ := g.of(b.Source)
		lines = append(lines, t.lines...)
		most = max(most, ratio(t.lines, mine.lines))
	}
	if all := ratio(lines, mine.lines); len(blocks) > 1 && all > most {
		return all
	}
	return 0
}

// comparison is a text that was submitted, next to the blocks there are.
type comparison struct {
	*decider
	blocks []Block
	mine   traits
	names  *bindings
	spread map[int]int    // of a line or word, how many of the blocks have it
	last   map[string]int // of a function or class, the last block that defines it: the others were written over
}

func (g *decider) compare(blocks []Block, text string) *comparison {
	c := &comparison{decider: g, blocks: blocks, spread: map[int]int{}, last: map[string]int{}}
	c.mine, c.names = g.of(text)
	for i, b := range blocks {
		t, n := g.of(b.Source)
		for name := range n.defines {
			c.last[name] = i
		}
		for _, w := range t.distinct() {
			c.spread[w]++
		}
	}
	return c
}

// rare is what two texts share over what they hold, each line and word counting less the more blocks have it.
func (c *comparison) weightedLikeness(a, b traits) float64 {
	weight := func(n int) float64 { return 1 / float64(max(1, c.spread[n])) }
	in := map[int]bool{}
	total, both := 0.0, 0.0
	for _, n := range a.distinct() {
		in[n] = true
		total += weight(n)
	}
	for _, n := range b.distinct() {
		total += weight(n)
		if in[n] {
			both += 2 * weight(n)
		}
	}
	if total == 0 {
		return 0
	}
	return both / total
}

// evidence is what speaks for a block and against it.
type features struct {
	Like   float64 // how alike the texts are
	Rare   float64 // how alike, where what many blocks have counts little
	Same   float64 // both define a function or class of one name
	Apart  float64 // both define some, and none of one name
	Shares float64 // how many of the other names are bound by both
	Needs  float64 // the new one uses what only this block binds: it cannot take its place
	Failed float64 // the block failed, and this came next
}

func (c *comparison) featuresOf(i int, failed bool) features {
	t, n := c.of(c.blocks[i].Source)
	e := features{Like: likeness(t, c.mine), Rare: c.weightedLikeness(t, c.mine), Shares: shared(n.assigns, c.names.assigns)}
	for name := range n.defines {
		if c.names.defines[name] && c.last[name] == i {
			e.Same = 1
		}
	}
	if len(n.defines) > 0 && len(c.names.defines) > 0 && !intersects(n.defines, c.names.defines) {
		e.Apart = 1
	}
	if intersects(n.defines, c.names.free) || intersects(n.assigns, c.names.free) {
		e.Needs = 1
	}
	if failed {
		e.Failed = 1
	}
	return e
}

// score is how sure it is, 0 to 1, by a logistic function whose weights were fitted on submissions of which it is known what they
// were, see testdata/decisions.md.
func (e features) score() float64 {
	x := -8.5 + 9*e.Rare + 2*e.Like + 7*e.Same - 3*e.Apart + 1.5*e.Shares + (3.5+4*e.Rare)*e.Failed - 3*e.Needs
	return 1 / (1 + math.Exp(-x))
}

// by is what speaks most.
func (e features) by() By {
	switch {
	case e.Same > 0:
		return ByDefinition
	case e.Like < minLikeness && e.Failed > 0:
		return ByAnswer
	}
	return BySimilarity
}

// meets reports whether two sets have something in common.
func intersects(a, b map[string]bool) bool {
	for x := range a {
		if b[x] {
			return true
		}
	}
	return false
}

// shared is how much two sets have in common, 0 to 1.
func shared(a, b map[string]bool) float64 {
	both := 0
	for x := range a {
		if b[x] {
			both++
		}
	}
	if both == 0 {
		return 0
	}
	return float64(both) / float64(len(a)+len(b)-both)
}
