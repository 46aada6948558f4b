package patch

import (
	"math"

	"github.com/xstate-engine/xstate/patch/diff"
	"github.com/xstate-engine/xstate/patch/syntax"
)

// Decision says which block a rewritten text replaces, and which other block it could replace.
type Decision struct {
	Block         string  `json:"block,omitempty"` // "" if the text is a new block
	By            By      `json:"by"`
	Score         float64 `json:"score"` // 0 to 1
	RunnerUp      string  `json:"runner_up,omitempty"`
	RunnerUpScore float64 `json:"runner_up_score,omitempty"`
}

// Threshold is the lowest score at which a text replaces an existing block. Below it, the text is a new block.
const Threshold = 0.8

// decider finds out which block an agent wrote again. It caches what it computed from texts.
type decider struct {
	in     diff.Interner
	traits map[string]diff.Traits
	names  map[code]*syntax.Bindings
	lists  map[code][]syntax.Statement
}

// code is a text in a language.
type code struct {
	*syntax.Syntax
	text string
}

// code returns the source of a block with its language.
func (b Block) code() code { return code{syntax.Of(b.Dialect), b.Source} }

func newDecider() *decider {
	return &decider{diff.Interner{}, map[string]diff.Traits{}, map[code]*syntax.Bindings{},
		map[code][]syntax.Statement{}}
}

// of returns the traits and the bindings of a text.
func (g *decider) of(c code) (diff.Traits, *syntax.Bindings) {
	if g.names[c] == nil {
		g.traits[c.text], g.names[c] = g.in.Traits(c.text), c.Bindings(c.text)
	}
	return g.traits[c.text], g.names[c]
}

// decide returns the block that text replaces. It leaves out blocks of other languages, and taken blocks, which other
// texts replace already. failed holds the blocks that failed in the last run; the text may correct one of them.
func (g *decider) decide(blocks []Block, text code, failed, taken map[string]bool) Decision {
	c := g.compare(blocks, text)
	best, second := Decision{By: ByNothing}, Decision{}
	for i, b := range blocks {
		if taken[b.ID] || syntax.Of(b.Dialect) != text.Syntax {
			continue
		}
		d := Decision{Block: b.ID, By: ByContent, Score: 1}
		if b.Source != text.text {
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

// programLikeness returns the similarity of a text and a whole program, by lines. It is 0 if one block of the program
// is as similar.
func (g *decider) programLikeness(blocks []Block, text code) float64 {
	mine, _ := g.of(text)
	var lines []int
	most := 0.0
	for _, b := range blocks {
		t, _ := g.of(b.code())
		lines = append(lines, t.Lines...)
		most = max(most, diff.Ratio(t.Lines, mine.Lines))
	}
	if all := diff.Ratio(lines, mine.Lines); len(blocks) > 1 && all > most {
		return all
	}
	return 0
}

// comparison compares a text with the blocks of a program.
type comparison struct {
	*decider
	blocks []Block
	mine   diff.Traits
	names  *syntax.Bindings
	spread map[int]int    // by line or word: the number of blocks that have it
	last   map[string]int // by function or class: the last block that defines it, which hides the others
}

func (g *decider) compare(blocks []Block, text code) *comparison {
	c := &comparison{decider: g, blocks: blocks, spread: map[int]int{}, last: map[string]int{}}
	c.mine, c.names = g.of(text)
	for i, b := range blocks {
		t, n := g.of(b.code())
		for name := range n.Defines {
			c.last[name] = i
		}
		for _, w := range t.Distinct() {
			c.spread[w]++
		}
	}
	return c
}

// weightedLikeness returns the share of lines and words that two texts have in common. A line or word weighs less if
// more blocks have it.
func (c *comparison) weightedLikeness(a, b diff.Traits) float64 {
	weight := func(n int) float64 { return 1 / float64(max(1, c.spread[n])) }
	in := map[int]bool{}
	total, both := 0.0, 0.0
	for _, n := range a.Distinct() {
		in[n] = true
		total += weight(n)
	}
	for _, n := range b.Distinct() {
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

// features are the arguments for and against a block.
type features struct {
	Like   float64 // similarity of the texts
	Rare   float64 // similarity, with less weight on what many blocks have
	Same   float64 // both define a function or class of the same name
	Apart  float64 // both define some, but none of the same name
	Shares float64 // the share of other names that both bind
	Needs  float64 // the new text uses a name that only this block binds, so it cannot replace the block
	Failed float64 // the block failed, and the text came next
}

func (c *comparison) featuresOf(i int, failed bool) features {
	t, n := c.of(c.blocks[i].code())
	e := features{Like: diff.Likeness(t, c.mine), Rare: c.weightedLikeness(t, c.mine),
		Shares: shared(n.Assigns, c.names.Assigns)}
	for name := range n.Defines {
		if c.names.Defines[name] && c.last[name] == i {
			e.Same = 1
		}
	}
	if len(n.Defines) > 0 && len(c.names.Defines) > 0 && !syntax.Intersects(n.Defines, c.names.Defines) {
		e.Apart = 1
	}
	if syntax.Intersects(n.Defines, c.names.Free) || syntax.Intersects(n.Assigns, c.names.Free) {
		e.Needs = 1
	}
	if failed {
		e.Failed = 1
	}
	return e
}

// score returns the certainty, 0 to 1, by a logistic function. Its weights were fitted on labelled submissions; see
// testdata/decisions.md.
func (e features) score() float64 {
	x := -8.5 + 9*e.Rare + 2*e.Like + 7*e.Same - 3*e.Apart + 1.5*e.Shares + (3.5+4*e.Rare)*e.Failed - 3*e.Needs
	return 1 / (1 + math.Exp(-x))
}

// by returns the strongest argument.
func (e features) by() By {
	switch {
	case e.Same > 0:
		return ByDefinition
	case e.Like < diff.MinLikeness && e.Failed > 0:
		return ByAnswer
	}
	return BySimilarity
}

// shared returns the share of elements that two sets have in common, 0 to 1.
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
