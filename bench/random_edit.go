package bench

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/depgraph/python"
	"github.com/xstate-engine/xstate/patch"
	"github.com/xstate-engine/xstate/patch/syntax"
)

// Kind is the type of an edit.
type Kind string

const (
	KindFirst    Kind = "first"    // no edit: the original program
	KindConstant Kind = "constant" // a number changes
	KindOperator Kind = "operator" // + becomes -, < becomes <=, …
	KindComment  Kind = "comment"  // a comment is added
	KindRename   Kind = "rename"   // a local variable of a function is renamed
	KindBody     Kind = "body"     // a function computes something else, or gets a statement
	KindInsert   Kind = "insert"   // a block that inspects a value is added
	KindDelete   Kind = "delete"   // a block that binds nothing used later is deleted
	KindMove     Kind = "move"     // a block moves past others with which it shares no names
	KindUndo     Kind = "undo"     // the previous edit is reverted
	KindRecorded Kind = "recorded" // the edits between two runs of an archived session
	KindAppend   Kind = "append"   // a block is added at the end
	KindEmit     Kind = "re-emit"  // a failed block is rewritten
	KindVariant  Kind = "variant"  // a block is replaced by an alternative
)

// editKinds are the kinds that Edits chooses from.
var editKinds = []Kind{KindConstant, KindOperator, KindComment, KindRename, KindBody, KindInsert, KindDelete, KindMove}

// Edits returns the program of a name and count edits of it, each based on the one before. Equal arguments give equal
// edits. The kinds come in random order, each once, then again in another order; a kind that does not fit the program
// is skipped. The edit after a changed operator reverts it: people seldom continue with the wrong one.
func Edits(name string, blocks []patch.Block, seed uint64, count int) []Version {
	h := fnv.New64a()
	h.Write([]byte(name))
	e := &randomEditor{Rand: rand.New(rand.NewPCG(seed, h.Sum64())), facts: map[string]*depgraph.Facts{}}
	p := Program{}
	p.addVersion(KindFirst, blocks)
	var kinds []Kind
	for misses := 0; len(p.Versions) <= count && misses < 2*len(editKinds); {
		if len(kinds) == 0 {
			kinds = slices.Clone(editKinds)
			e.Shuffle(len(kinds), func(i, j int) { kinds[i], kinds[j] = kinds[j], kinds[i] })
		}
		kind := kinds[0]
		kinds = kinds[1:]
		if next := e.edit(kind, p.Versions[len(p.Versions)-1].Blocks); next != nil {
			p.addVersion(kind, next)
			if n := len(p.Versions); kind == KindOperator && n <= count {
				p.addVersion(KindUndo, p.Versions[n-2].Blocks)
			}
			misses = 0
		} else {
			misses++
		}
	}
	return p.Versions
}

// randomEditor makes random edits of a program. It caches analyses, because most blocks stay the same from edit to
// edit.
type randomEditor struct {
	*rand.Rand
	facts  map[string]*depgraph.Facts // by source
	number int                        // number of edits tried, which names new variables
}

// edit returns the blocks after an edit, or nil if no block fits it.
func (e *randomEditor) edit(kind Kind, blocks []patch.Block) []patch.Block {
	e.number++
	switch kind {
	case KindInsert:
		return e.insert(blocks)
	case KindDelete:
		return e.delete(blocks)
	case KindMove:
		return e.move(blocks)
	}
	for _, i := range e.Perm(len(blocks)) {
		b := blocks[i]
		if e.factsOf(b) == nil {
			continue // a block that does not parse is not edited
		}
		source, ok := e.rewrite(kind, b)
		if !ok || source == b.Source {
			continue
		}
		b.Source = source
		if e.factsOf(b) == nil {
			continue
		}
		blocks = slices.Clone(blocks)
		blocks[i] = b
		return blocks
	}
	return nil
}

// rewrite returns the text of a block after an edit within it.
func (e *randomEditor) rewrite(kind Kind, b patch.Block) (string, bool) {
	if kind == KindComment {
		return b.Source + fmt.Sprintf("\n# edit %d", e.number), true
	}
	s := parse(b)
	if s == nil {
		return "", false
	}
	var places []textChange
	switch kind {
	case KindConstant:
		places = s.constants(0)
	case KindOperator:
		places = s.operators(0)
	case KindRename:
		if f, ok := e.pick(s.functions()); ok {
			return s.rename(f, e.IntN)
		}
		return "", false
	case KindBody:
		f, ok := e.pick(s.functions())
		if !ok {
			return "", false
		}
		places = append(s.constants(f), s.operators(f)...)
		if len(places) == 0 {
			places = s.statement(f, e.number)
		}
	}
	if len(places) == 0 {
		return "", false
	}
	c := places[e.IntN(len(places))]
	return b.Source[:c.start] + c.text + b.Source[c.end:], true
}

func (e *randomEditor) pick(list []int) (int, bool) {
	if len(list) == 0 {
		return 0, false
	}
	return list[e.IntN(len(list))], true
}

// factsOf returns the facts of a block; nil if it does not parse.
func (e *randomEditor) factsOf(b patch.Block) *depgraph.Facts {
	key := b.Dialect + "\n" + b.Source
	f, known := e.facts[key]
	if !known {
		var err error
		if f, err = python.Analyze([]byte(b.Source), depgraph.Dialect(b.Dialect)); err != nil {
			f = nil
		}
		e.facts[key] = f
	}
	return f
}

// insert adds a block that prints the size or type of a value. It reads the value without changing it.
func (e *randomEditor) insert(blocks []patch.Block) []patch.Block {
	at := e.IntN(len(blocks) + 1)
	var values []string
	for _, b := range blocks[:at] {
		f := e.factsOf(b)
		if f == nil {
			continue
		}
		for i := range f.Nodes {
			if f.Nodes[i].Kind == depgraph.KindStatement {
				values = append(values, f.Nodes[i].Certain...)
			}
		}
	}
	values = slices.DeleteFunc(values, func(n string) bool { return strings.HasPrefix(n, "_") })
	if len(values) == 0 {
		return nil
	}
	name := values[e.IntN(len(values))]
	b := patch.Block{ID: fmt.Sprintf("probe-%d", e.number), Dialect: syntax.Python,
		Source: fmt.Sprintf(
			"probe_%d = len(%s) if hasattr(%s, \"__len__\") else type(%s).__name__\nprint(probe_%d)",
			e.number,
			name,
			name,
			name,
			e.number,
		)}
	return slices.Insert(slices.Clone(blocks), at, b)
}

// delete removes a block that binds nothing that a later block mentions, so that the program still runs.
func (e *randomEditor) delete(blocks []patch.Block) []patch.Block {
	for _, i := range e.Perm(len(blocks)) {
		own, ok := e.names(blocks[i])
		for _, b := range blocks[i+1:] {
			other, parsed := e.names(b)
			ok = ok && parsed && !overlap(own.binds, other.uses)
		}
		if ok && len(blocks) > 2 {
			return slices.Delete(slices.Clone(blocks), i, i+1)
		}
	}
	return nil
}

// move moves a block past blocks with which it shares no names.
func (e *randomEditor) move(blocks []patch.Block) []patch.Block {
	for _, i := range e.Perm(len(blocks)) {
		var to []int
		for _, step := range []int{-1, 1} {
			for j := i + step; j >= 0 && j < len(blocks) && e.independent(blocks[i], blocks[j]); j += step {
				to = append(to, j)
			}
		}
		if j, ok := e.pick(to); ok {
			moved := slices.Delete(slices.Clone(blocks), i, i+1)
			return slices.Insert(moved, j, blocks[i])
		}
	}
	return nil
}

// independent reports whether two blocks can change places: neither binds what the other binds or mentions.
func (e *randomEditor) independent(a, b patch.Block) bool {
	x, ok := e.names(a)
	y, too := e.names(b)
	return ok && too && !overlap(x.binds, y.uses) && !overlap(y.binds, x.uses) && !overlap(x.binds, y.binds)
}

// blockNames are the names that a block may bind or change, and those that it mentions.
type blockNames struct{ binds, uses map[string]bool }

// names returns the names in the text of a block. ok is false if code such as exec may use others.
func (e *randomEditor) names(b patch.Block) (n blockNames, ok bool) {
	n = blockNames{binds: map[string]bool{}, uses: map[string]bool{}}
	f := e.factsOf(b)
	if f == nil {
		return n, false
	}
	for i := range f.Nodes {
		x := &f.Nodes[i]
		ok := len(x.Dynamic) == 0
		if !ok {
			return n, false
		}
		for _, list := range [][]string{x.Defines, x.Deletes, x.Rebinds, x.Mutates, x.MutatesLater} {
			for _, name := range list {
				n.binds[name] = true
			}
		}
		for _, list := range [][]string{x.Uses, x.Later, x.Deletes} {
			for _, name := range list {
				n.uses[name] = true
			}
		}
	}
	return n, true
}

func overlap(a, b map[string]bool) bool {
	for name := range a {
		if b[name] {
			return true
		}
	}
	return false
}
