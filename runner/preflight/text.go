package preflight

import (
	"cmp"
	"net/url"
	"slices"
	"strings"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/depgraph/languages"
	"github.com/xstate-engine/xstate/depgraph/python"
	"github.com/xstate-engine/xstate/runner/journal"
	"github.com/xstate-engine/xstate/runner/journal/rule"
	"github.com/xstate-engine/xstate/state"
)

// Text is a program as it is written.
type Text struct {
	Blocks []Block
	Uses   rule.Program // what it would use, as far as its text shows
	Calls  []Call       // calls of tools and models, and questions to people, in order
	// Manifest is what the program declares; nil: nothing.
	Manifest *rule.Manifest

	imports map[string][]string // by the space of the language: modules of Python, packages of JavaScript
	files   []fileUse
	asked   map[string]bool   // files of which the program asks whether they are there, so it does without them
	names   map[string]string // name → text: names that the program assigns once
}

// Block is a block of the program.
type Block struct {
	ID    state.BlockID
	Facts *depgraph.Facts       // nil if it does not parse
	Err   *depgraph.SyntaxError // why not
	space string                // its language's
	calls depgraph.Calls
}

// Place is a position in the program.
type Place struct {
	Block state.BlockID `json:"block,omitempty"`
	Line  int           `json:"line,omitempty"` // within the block
}

// Call is a call that the text shows.
type Call struct {
	Place
	Kind  journal.Kind `json:"kind"` // tool, model or ask
	Name  string       `json:"name"` // the tool's or model's; "" if it is computed
	Class string       `json:"class,omitempty"`
	// Approval is where a person is asked before: a question in the program, or the rule that asks.
	Approval string `json:"approval,omitempty"`
	// Checkpoint is the last place before it whose results are kept when it fails.
	Checkpoint *Place `json:"checkpoint,omitempty"`

	in   string // the function around it
	loop depgraph.Loop
}

type fileUse struct {
	Place
	name string
	mode depgraph.Mode
}

// Read reads a program.
func Read(blocks []state.ProgramBlock) (*Text, error) {
	t := &Text{names: map[string]string{}, asked: map[string]bool{}, imports: map[string][]string{}}
	imported, twice := map[string]string{}, map[string]bool{}
	for _, b := range blocks {
		facts, err := languages.Analyze([]byte(b.Source), b.Dialect)
		read := Block{ID: b.ID, Facts: facts, space: languages.Space(b.Dialect)}
		if err != nil {
			read.Err, _ = err.(*depgraph.SyntaxError)
			read.Err = cmp.Or(read.Err, &depgraph.SyntaxError{Line: 1, Column: 1, Msg: err.Error()})
			read.Facts = nil
		} else if read.space == "" { // blocks of other languages show no calls yet
			read.calls = python.Calls(facts.Code, imported)
		}
		for name, text := range read.calls.Constants {
			_, known := t.names[name]
			t.names[name], twice[name] = text, twice[name] || known
		}
		t.Blocks = append(t.Blocks, read)
	}
	t.keep(blocks)
	for name := range twice {
		if twice[name] {
			delete(t.names, name)
		}
	}
	var err error
	t.Manifest, err = rule.ManifestOf(func(yield func(name, text string) bool) {
		for _, b := range blocks {
			if !yield("block "+string(b.ID), b.Source) {
				return
			}
		}
	})
	t.use()
	return t, err
}

// keep adds the names to which cells of a notebook bind their values.
func (t *Text) keep(blocks []state.ProgramBlock) {
	program, found := make([]languages.Block, len(blocks)), depgraph.Unfolding{Nodes: map[int][]depgraph.Node{}}
	for i, b := range blocks {
		program[i] = languages.Block{Dialect: b.Dialect, Facts: t.Blocks[i].Facts}
	}
	languages.Keep(program, found)
	for i := range t.Blocks {
		if b := &t.Blocks[i]; b.Facts != nil {
			b.Facts = found.Of(i, b.Facts)
		}
	}
}

// use collects what the program would use.
func (t *Text) use() {
	u := &t.Uses
	for i := range t.Blocks {
		b := &t.Blocks[i]
		if b.Facts == nil {
			continue
		}
		for _, n := range b.Facts.Nodes {
			for _, m := range n.Imports {
				if name := moduleOf(b.space, m); name != "" {
					t.imports[b.space] = append(t.imports[b.space], name)
					u.Imports = append(u.Imports, strings.TrimPrefix(name, "node:"))
				}
			}
		}
		for _, c := range b.calls.Calls {
			t.call(b, c)
		}
	}
	for _, c := range t.Calls {
		switch {
		case c.Name == "":
		case c.Kind == journal.KindTool:
			u.Tools = append(u.Tools, c.Name)
		case c.Kind == journal.KindModel:
			u.Models = append(u.Models, c.Name)
		}
	}
	for _, f := range t.files {
		if f.mode != depgraph.Writes {
			u.Reads = append(u.Reads, f.name)
		}
		if f.mode != depgraph.Reads {
			u.Writes = append(u.Writes, f.name)
		}
	}
	u.Packages = []string{}
	for _, list := range []*[]string{&u.Imports, &u.Tools, &u.Models, &u.Hosts, &u.Reads, &u.Writes, &u.Irreversible} {
		slices.Sort(*list)
		if *list = slices.Compact(*list); *list == nil {
			*list = []string{}
		}
	}
}

// moduleOf returns the top-level module that an import of Python is of, or the package that one of JavaScript is of; ""
// if it is of a file of the workspace.
func moduleOf(space string, m depgraph.Import) string {
	if space == "" {
		if m.Level > 0 {
			return ""
		}
		top, _, _ := strings.Cut(m.Module, ".")
		return top
	}
	if m.Module == "" || strings.ContainsAny(m.Module[:1], "./#") || strings.Contains(m.Module, "://") ||
		strings.HasPrefix(m.Module, "data:") {
		return ""
	}
	parts := strings.SplitN(m.Module, "/", 3)
	if strings.HasPrefix(m.Module, "@") && len(parts) > 1 {
		return parts[0] + "/" + parts[1]
	}
	return parts[0]
}

// Spaces returns the spaces of the languages of the program, in the order of its blocks.
func (t *Text) Spaces() (spaces []string) {
	for i := range t.Blocks {
		if s := t.Blocks[i].space; !slices.Contains(spaces, s) {
			spaces = append(spaces, s)
		}
	}
	return spaces
}

// Imports returns the modules that blocks of a language import, sorted: what the language is asked for.
func (t *Text) Imports(space string) []string {
	names := slices.Clone(t.imports[space])
	slices.Sort(names)
	return slices.Compact(names)
}

// asksWhether reports whether a function finds out which files there are.
func asksWhether(function string) bool {
	return slices.Contains([]string{"exists", "lexists", "isfile", "isdir", "is_file", "is_dir", "glob", "iglob",
		"rglob"},
		function[strings.LastIndexByte(function, '.')+1:])
}

// call adds what one call uses.
func (t *Text) call(b *Block, c depgraph.Call) {
	at := Place{b.ID, c.Line}
	first, _ := t.text(c.First)
	switch {
	case c.Effect == depgraph.EffectFile && first != "" && !c.First.Begin:
		t.files = append(t.files, fileUse{at, first, c.Mode})
		if asksWhether(c.Name) {
			t.asked[first] = true
		}
		return
	case c.Effect == depgraph.EffectNetwork:
		for _, a := range []depgraph.Argument{c.First, c.Named["url"]} {
			if host := t.host(a); host != "" {
				t.Uses.Hosts = append(t.Uses.Hosts, host)
			}
		}
		return
	}
	kind, name, is := offered(c, first)
	if !is {
		return
	}
	if model, given := c.Named["model"]; kind == journal.KindModel {
		if name = DefaultModel; given {
			name, _ = t.text(model)
		}
	}
	t.Calls = append(t.Calls, Call{Place: at, Kind: kind, Name: name, in: c.In, loop: c.Loop})
}

// DefaultModel represents the model of a call that names none.
const DefaultModel = "default"

// offered says which of xstate's calls a call is.
func offered(c depgraph.Call, first string) (kind journal.Kind, name string, is bool) {
	rest, own := strings.CutPrefix(c.Name, "xstate.")
	if !own {
		return "", "", false
	}
	of, tool, _ := strings.Cut(rest, ".")
	switch {
	case (rest == "tool" || rest == "atool") && !c.First.Begin:
		return journal.KindTool, first, true
	case rest == "tool" || rest == "atool":
		return journal.KindTool, "", true
	case (of == "tools" || of == "atools") && tool != "":
		return journal.KindTool, tool, true
	case of == "llm" || of == "allm":
		return journal.KindModel, "", true
	case rest == "ask" || rest == "aask" || rest == "approve":
		return journal.KindAsk, "", true
	}
	return "", "", false
}

// text returns the text of an argument, as far as the program shows it.
func (t *Text) text(a depgraph.Argument) (text string, known bool) {
	if a.Name != "" {
		text, known = t.names[a.Name]
		return text, known
	}
	return a.Text, a.Text != ""
}

// host returns the host of an address; "" where the text does not show it.
func (t *Text) host(a depgraph.Argument) string {
	text, _ := t.text(a)
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || a.Begin && u.Path == "" && a.Name == "" {
		return ""
	}
	return strings.ToLower(u.Host)
}

// unbounded returns the calls of tools and models that repeat without a bound: in a loop that only a break ends, also
// by way of functions, or in functions that call themselves.
func (t *Text) unbounded() (found []Call) {
	var all []depgraph.Call
	for i := range t.Blocks {
		all = append(all, t.Blocks[i].calls.Calls...)
	}
	endless := map[string]bool{} // functions
	for _, name := range python.Recursive(all) {
		endless[name] = true
	}
	for again := true; again; {
		again = false
		for _, c := range all {
			if (c.Loop == depgraph.Forever || c.In != "" && endless[c.In]) && !endless[c.Name] && c.Name != "" {
				endless[c.Name], again = true, true
			}
		}
	}
	for _, c := range t.Calls {
		if c.Kind != journal.KindAsk && (c.loop == depgraph.Forever || c.in != "" && endless[c.in]) {
			found = append(found, c)
		}
	}
	return found
}
