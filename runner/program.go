package runner

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/depgraph/languages"
	"github.com/xstate-engine/xstate/internal/wording"
	"github.com/xstate-engine/xstate/runner/kernel"
	"github.com/xstate-engine/xstate/state"
)

// failedKey says whether a node before has failed. Only the end of the program reads it: an interpreter that ends with
// an error may leave out a part of what it does else.
const failedKey depgraph.Key = "process:failed"

// unit is a block with what the analysis says of it.
type unit struct {
	state.ProgramBlock
	facts          *depgraph.Facts
	err            *state.ExecError // it does not parse
	unparsed       []byte           // its text for the language, which may word why; nil if it is not to be asked
	language       kernel.Language
	compileChecked bool            // the language's verdict is known
	parts          []depgraph.Node // its nodes in the program; nil: those of its facts
	whole          string          // why a function that it calls is one node; "" if there is none
	nodes          []*node
	end            *node // nil: the program continues after it, or has no end
}

// node is the unit of execution, at its place in the program.
type node struct {
	index  int // in the program
	unit   *unit
	text   *unit // whose text the node executes: its unit, or that with the function which the unit calls
	at     int   // in the block
	facts  *depgraph.Node
	code   state.Digest // names its traces
	layout state.Digest // names its exact text and place in its block
	last   bool         // it is the last in its block
	future []string     // features of __future__ in force
}

// isEnd reports whether the node is the end of the program.
func (n *node) isEnd() bool { return n.facts.Kind == depgraph.KindEnd }

// readsAtEnd are the keys that the end of the program reads whatever it does; none for other nodes.
func (n *node) readsAtEnd() []depgraph.Key {
	if !n.isEnd() {
		return nil
	}
	return []depgraph.Key{failedKey, kernel.KeyEnd.In(n.unit.space())}
}

// id names the node for people: the block's id and, unless it is the only one, its place in the block or in a function
// that the block calls.
func (n *node) id() string {
	if label := n.facts.Label(); label != "" {
		return fmt.Sprintf("%s#%s", n.unit.ID, label)
	}
	if len(n.unit.nodes) == 1 {
		return string(n.unit.ID)
	}
	return fmt.Sprintf("%s#%d", n.unit.ID, n.at+1)
}

// lastTrace returns the trace of the node's last result; "" if it has none.
func (n *node) lastTrace() state.Digest {
	if n.unit.Before == nil || n.at >= len(n.unit.Before.Nodes) {
		return ""
	}
	return n.unit.Before.Nodes[n.at].Trace
}

// inert reports whether executing the node only makes a function: nothing of the interpreter's state can matter to it.
func (n *node) inert() bool { return n.facts.Kind == depgraph.KindDef && len(n.facts.Uses) == 0 }

// space is that of the block's language.
func (u *unit) space() string {
	e, err := kernel.Lookup(u.Dialect)
	if err != nil {
		return ""
	}
	return e.Space()
}

// filename is what tracebacks call the block.
func (u *unit) filename() string { return "<" + string(u.ID) + ">" }

// options of the analysis that are part of every key.
type keyOptions struct {
	languages kernel.Languages
	observe   string
	identify  func(kernel.Language) string // names an interpreter, and what it was started with
	known     map[string]string            // identities of interpreters by the name of the language
	script    string                       // the program's file, if it ends, see endOf
}

// of returns the language of a block.
func (o keyOptions) of(b state.ProgramBlock) (kernel.Language, error) {
	return o.languages.Of(b.Dialect)
}

// interpreter names the interpreter of a language.
func (o keyOptions) interpreter(l kernel.Language) string {
	if _, known := o.known[l.Name()]; !known {
		o.known[l.Name()] = o.identify(l)
	}
	return o.known[l.Name()]
}

// analyse reads the blocks of a program, in order. A block that does not parse has no nodes and an error.
func analyse(
	blocks []state.ProgramBlock,
	o keyOptions,
	cache map[state.Digest]*depgraph.Facts,
	keys map[unitPlace][]nodeKeys,
	refused func(*unit) *state.ExecError,
) ([]*unit, []*node) {
	var units []*unit
	var nodes []*node
	var future []string
	for _, b := range blocks {
		u := &unit{ProgramBlock: b}
		u.read(o, cache, refused)
		units = append(units, u)
	}
	unfold(units)
	for _, u := range units {
		if u.err == nil {
			future = withFeatures(future, u.facts.Features)
			u.cut(o, future, len(nodes), units, keys)
		}
		nodes = append(nodes, u.nodes...)
	}
	return units, endOf(o.script, o, units, nodes)
}

// endOf adds the end of a script to its nodes, in the last block that has some. file is that of the script; "" where
// the program is none, or an interpreter of a session lives on after it.
func endOf(file string, o keyOptions, units []*unit, nodes []*node) []*node {
	if file == "" || len(nodes) == 0 {
		return nodes
	}
	u := nodes[len(nodes)-1].unit
	u.end = &node{
		index: len(nodes),
		unit:  u,
		text:  u,
		at:    len(u.nodes),
		facts: &depgraph.Node{Kind: depgraph.KindEnd, Tokens: fmt.Sprintf("the end of %q", file),
			Line: nodes[len(nodes)-1].facts.Line},
	}
	u.end.code = o.codeDigest(u.end)
	u.end.layout = u.end.code
	return append(nodes, u.end)
}

// all are the nodes of a unit with the end of the program, if that is there.
func (u *unit) all(there func(end *node) bool) []*node {
	if u.end == nil || !there(u.end) {
		return u.nodes
	}
	return append(u.nodes[:len(u.nodes):len(u.nodes)], u.end)
}

// unfold finds the nodes of the units that call functions whose statements are nodes.
func unfold(units []*unit) depgraph.Unfolding {
	program := make([]languages.Block, len(units))
	for i, u := range units {
		program[i].Dialect = u.Dialect
		if u.err == nil {
			program[i].Facts = u.facts
		}
	}
	found := languages.Unfold(program)
	for i, u := range units {
		u.parts, u.whole = found.Nodes[i], found.Whole[i]
	}
	return found
}

// read analyses the block.
func (u *unit) read(
	o keyOptions, cache map[state.Digest]*depgraph.Facts, refused func(*unit) *state.ExecError,
) {
	var err error
	if u.language, err = o.of(u.ProgramBlock); err != nil {
		u.err = noLanguage(u.ID, err)
		return
	}
	facts, err := factsOf(u.ProgramBlock, cache)
	if err != nil {
		var bad *depgraph.SyntaxError
		if errors.As(err, &bad) {
			u.unparsed = bad.Code
		}
		u.err = syntaxError(u.language, u.ProgramBlock, err)
		if worded := refused(u); u.unparsed != nil && worded != nil {
			u.err = worded
		}
		return
	}
	u.facts = facts
	u.err = refused(u)
}

// unitPlace is all that the keys of a block's nodes depend on.
type unitPlace struct {
	id     state.BlockID
	text   state.Digest // see factsKey
	future string       // features in force
	first  bool         // in the program
}

// nodeKeys are the names of a node that are made of its text.
type nodeKeys struct{ code, layout state.Digest }

// cut makes the nodes of a block, of which the first has the index first in the program. future are the features in
// force. units are those of the program, which a unit with parts needs. known holds the keys of blocks that were cut
// before; it may be nil.
func (u *unit) cut(o keyOptions, future []string, first int, units []*unit, known map[unitPlace][]nodeKeys) {
	list := u.facts.Nodes
	if u.parts != nil {
		list, known = u.parts, nil
	}
	place := unitPlace{u.ID, factsKey(u.ProgramBlock), strings.Join(future, " "), first == 0}
	keys := known[place]
	for i := range list {
		n := &node{
			index:  first + i,
			unit:   u,
			text:   u,
			at:     i,
			facts:  &list[i],
			last:   i == len(list)-1,
			future: future,
		}
		if part := n.facts.Part; part != nil {
			n.text = units[part.Block]
		}
		if i == len(keys) {
			layout := fmt.Appendf(nil, "layout %q %d\n%s", n.text.filename(), n.facts.Line, n.source())
			keys = append(keys, nodeKeys{o.codeDigest(n), state.DigestOf(layout)})
		}
		n.code, n.layout = keys[i].code, keys[i].layout
		u.nodes = append(u.nodes, n)
	}
	if known != nil {
		known[place] = keys
	}
}

// withFeatures adds features of __future__ to those in force.
func withFeatures(future, more []string) []string {
	for _, f := range more {
		if !slices.Contains(future, f) {
			future = append(slices.Clone(future), f)
			slices.Sort(future)
		}
	}
	return future
}

// dialectsOf returns the dialects of blocks, each once.
func dialectsOf(blocks []state.ProgramBlock) []depgraph.Dialect {
	var found []depgraph.Dialect
	for _, b := range blocks {
		if !slices.Contains(found, b.Dialect) {
			found = append(found, b.Dialect)
		}
	}
	return found
}

func factsKey(b state.ProgramBlock) state.Digest { return state.Digest(b.Dialect) + b.Version }

func factsOf(b state.ProgramBlock, cache map[state.Digest]*depgraph.Facts) (*depgraph.Facts, error) {
	key := factsKey(b)
	if f := cache[key]; f != nil {
		return f, nil
	}
	f, err := languages.Analyze([]byte(b.Source), b.Dialect)
	if err != nil {
		return nil, err
	}
	cache[key] = f
	return f, nil
}

// noLanguage is the error of a block whose language cannot be had.
func noLanguage(b state.BlockID, err error) *state.ExecError {
	e := &state.ExecError{Type: "NoLanguage", Message: err.Error(), Block: b}
	var known *state.Error
	if errors.As(err, &known) && known.Hint != "" {
		e.Message += ": " + wording.Program.Hint(known.Hint)
	}
	return e
}

func syntaxError(language kernel.Language, b state.ProgramBlock, err error) *state.ExecError {
	v := kernel.Verdict{Message: err.Error()}
	var bad *depgraph.SyntaxError
	if errors.As(err, &bad) {
		v.Message, v.Line, v.Column = bad.Msg, bad.Line, bad.Column
	}
	return language.Refusal(b.ID, b.Source, v)
}

// layoutOf digests the exact text of the blocks that a result of n cites, and the position of n: a result that cites
// lines holds only for these, and not for the same code in another place.
func layoutOf(units []*unit, n *node, cited []string) state.Digest {
	if len(cited) == 0 {
		return state.Absent
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%q %d\n", n.id(), n.facts.Line)
	for _, u := range units {
		if u.facts != nil && slices.Contains(cited, u.filename()) {
			fmt.Fprintf(&b, "%q %q\n", u.filename(), n.citable(u))
		}
	}
	return state.DigestOf([]byte(b.String()))
}

// citable is the text of a unit that n may cite: of the function that n is a part of, nothing after n.
func (n *node) citable(u *unit) []byte {
	part := n.facts.Part
	if part == nil || part.End < n.facts.End || u.filename() != n.text.filename() {
		return u.facts.Code
	}
	return slices.Concat(u.facts.Code[:n.facts.End], u.facts.Code[part.End:])
}

// source is the text that the node executes.
func (n *node) source() []byte {
	if n.isEnd() {
		return nil
	}
	return n.text.facts.Code[n.facts.Start:n.facts.End]
}

// partOf returns what a kernel needs to know of a node that is a part of a function; nil for any other node.
func partOf(units []*unit, n *node) *kernel.FunctionPart {
	if n.facts.Part == nil {
		return nil
	}
	part := &kernel.FunctionPart{Part: n.facts.Part}
	for _, c := range n.facts.Part.Calls {
		part.Calls = append(part.Calls, kernel.CallSite{
			Filename: units[c.Block].filename(), Line: c.Line, Function: c.Function})
	}
	return part
}

// codeDigest names what would be executed.
func (o keyOptions) codeDigest(n *node) state.Digest {
	text := o.keyText(n, o.interpreter(n.unit.language))
	debugKey(n.id(), text)
	return state.DigestOf([]byte(text))
}

// keyText says what would be executed, by an interpreter of this identity: one fact a line, so that two keys can be
// compared by eye (XSTATE_DEBUG=key).
func (o keyOptions) keyText(n *node, interpreter string) string {
	var b strings.Builder
	l := n.unit.language
	fmt.Fprintf(&b, "xstate trace 1\nsemantics %s\ninterpreter %s\nobserve %q\n", l.Semantics(), interpreter, o.observe)
	fmt.Fprintf(&b, "future %q\n", n.future)
	shown := n.facts.Expr && n.last && !n.unit.facts.Quiet
	fmt.Fprintf(&b, "shown %v\nlast %v\n", shown, n.last)
	if shown && n.unit.Dialect != "" && string(n.unit.Dialect) != l.Name() {
		fmt.Fprintf(&b, "dialect %s\n", n.unit.Dialect) // it says how a result is shown
	}
	if n.index == 0 {
		if opening := l.Opening(n.source()); opening != "" {
			b.WriteString(opening + "\n")
		}
	}
	if p := n.facts.Part; p != nil && (p.Function != "" || p.Call != "") {
		fmt.Fprintf(&b, "function %q locals %q deletes %q globals %q async %v returned %q\n", p.Function, p.Locals,
			p.Deletes, p.Globals, p.Async, p.Returned)
		fmt.Fprintf(&b, "call %q header %q results %q\n", p.Call, p.Header, p.Results)
	}
	if len(n.facts.Keeps) > 0 {
		fmt.Fprintf(&b, "keeps %q\n", n.facts.Keeps)
	}
	fmt.Fprintf(&b, "tokens %q\n", n.facts.Tokens)
	return b.String()
}

// isGuarded reports whether the kernel of a node keeps it from effects that cannot be taken back, see kernel.Guard. No
// other one may be executed if it may have to execute again.
func isGuarded(n *node) bool { return n.unit.language.Name() == "python" }
