package bash

import (
	"maps"
	"slices"
	"strings"

	"github.com/xstate-engine/xstate/depgraph"
	source "github.com/xstate-engine/xstate/depgraph/bash"
)

// uses are what a node may use, with all that it calls.
type uses struct {
	names      map[string]bool // that it may read
	assigned   map[string]bool // that it may assign
	keys       map[string]bool // hidden state
	evaluated  map[string]bool // variables whose values it reads as numbers
	everything bool
	exported   bool // it executes programs, or lists what is exported
	positional bool // it reads or changes the program's arguments
	definition bool // it defines a function, and does nothing else
	features
}

// code is what the text of a node, a function or a handler says.
type code struct {
	facts *depgraph.Facts
	needs []source.Needs
	features
}

// codeOf reads a text. The answer for a text that does not parse says that it may do anything.
func (s *session) codeOf(text string) code {
	if c, known := s.codes[text]; known {
		return c
	}
	c := code{}
	facts, err := source.Analyze([]byte(text), source.Bash)
	f := featuresOf([]byte(text))
	if err == nil && f != nil {
		c = code{facts, source.Needed(facts), *f}
	}
	if s.codes == nil || len(s.codes) > 10_000 {
		s.codes = map[string]code{}
	}
	s.codes[text] = c
	return c
}

// usesOf returns what a node may use in the present state.
func (s *session) usesOf(text string) *uses {
	u := &uses{names: map[string]bool{}, assigned: map[string]bool{}, keys: map[string]bool{}}
	u.fds, u.marks, u.numbers = map[string]bool{}, map[string]bool{}, map[string]bool{}
	u.evaluated, u.flows, u.within = map[string]bool{}, flows{}, map[string]bool{}
	u.operands, u.texts = map[string]bool{}, map[string]bool{}
	own := s.codeOf(text)
	u.definition = own.facts != nil && len(own.facts.Nodes) == 1 && own.facts.Nodes[0].Kind == depgraph.KindDef
	done := map[string]bool{}
	if u.definition {
		u.add(s, code{facts: own.facts}, false, done)
	} else {
		u.add(s, own, true, done)
	}
	if u.definition {
		for key := range map[string]bool{keyOptions: true, keyVariables: true} {
			u.keys[key] = true
		}
		return u
	}
	s.handlers(u, done)
	if u.draws && !u.inner { // the generator of another process begins anew
		for name := range u.within {
			u.inner = u.inner || name == "" || s.draws(source.Function(name), map[string]bool{})
		}
	}
	for name := range u.assigned {
		if s.live.vars[name].has("i") {
			u.evaluated[name] = true
		}
	}
	u.computed(s, nil)
	s.stateKeys(u)
	for name := range u.assigned { // what is exported changes with it
		u.exported = u.exported || name == source.Exports || s.live.vars[name].has("x") || s.base.vars[name].has("x") ||
			strings.HasPrefix(s.live.hidden[keyAttrs+name], "-x")
	}
	return u
}

// handlers adds the handlers that the node may call.
func (s *session) handlers(u *uses, done map[string]bool) {
	texts := s.live.hidden[keyTraps]
	if u.programs || u.signals || u.jobs || u.everything {
		u.keys[keySignals] = true
		texts += s.live.hidden[keySignals]
	}
	if u.exits || u.everything || u.traps || s.live.onOptions() != "" {
		u.keys[keyExit] = true
		texts += s.live.hidden[keyExit]
	}
	if u.traps {
		u.keys[keySignals] = true
	}
	for line := range strings.Lines(texts) {
		if text, is := strings.CutPrefix(line, "builtin trap -- "); is {
			word := text[:strings.LastIndexByte(strings.TrimSpace(text), ' ')]
			u.add(s, s.codeOf(strings.ReplaceAll(strings.Trim(word, "'"), `'\''`, "'")), true, done)
		} else {
			u.everything = true // a handler of several lines
		}
	}
}

// add adds a code. calls: its functions are called, and what they make is used.
func (u *uses) add(s *session, c code, calls bool, done map[string]bool) {
	if c.facts == nil {
		u.everything, u.exported, u.programs, u.files, u.exits, u.anyFd = true, true, true, true, true, true
		u.draws, u.status, u.last = true, true, true
		return
	}
	u.join(&c.features)
	for i := range c.facts.Nodes {
		n := &c.facts.Nodes[i]
		for _, name := range n.Uses {
			if i >= len(c.needs) || !slices.Contains(c.needs[i].Kinds, name) {
				u.use(s, name, done)
			}
		}
		if calls {
			for _, name := range n.Later {
				u.use(s, name, done)
			}
			for _, name := range n.Rebinds {
				u.assigned[name] = true
			}
		}
		for _, list := range [][]string{n.Defines, n.Deletes} {
			for _, name := range list {
				u.assigned[name] = true
			}
		}
		for _, d := range n.Dynamic {
			if d.Later && !calls {
				continue
			}
			u.dynamic(s, d, &c, n, done)
		}
		for _, e := range n.Effects {
			if e.Later && !calls {
				continue
			}
			u.effect(e)
		}
	}
	if !calls {
		return
	}
	maps.Copy(u.evaluated, c.numbers)
	for _, needs := range c.needs {
		for _, name := range needs.Numbers {
			u.evaluated[name] = true
		}
	}
}

// draws reports whether a function, or one that it may call, uses RANDOM.
func (s *session) draws(function string, done map[string]bool) bool {
	d, is := s.live.vars[function]
	if !is || done[function] {
		return false
	}
	done[function] = true
	c := s.codeOf(d.value)
	if c.facts == nil || c.features.draws {
		return true
	}
	for i := range c.facts.Nodes {
		for _, name := range slices.Concat(c.facts.Nodes[i].Uses, c.facts.Nodes[i].Later) {
			if _, calls := source.IsFunction(name); calls && s.draws(name, done) {
				return true
			}
		}
	}
	return false
}

// called returns the code of a function without its definition.
func (c code) called(function string) code {
	if c.facts == nil {
		return c
	}
	facts := *c.facts
	facts.Nodes = slices.Clone(facts.Nodes)
	for i := range facts.Nodes {
		n := &facts.Nodes[i]
		n.Defines = slices.DeleteFunc(slices.Clone(n.Defines), func(name string) bool { return name == function })
	}
	c.facts = &facts
	return c
}

// dynamic adds a construct whose names the text does not show. A command that is the value of a variable is known here.
func (u *uses) dynamic(s *session, d depgraph.Dynamic, c *code, n *depgraph.Node, done map[string]bool) {
	if d.What == "computed command" && len(c.computed) > 0 {
		for _, name := range c.computed {
			v, is := s.live.vars[name]
			text, plain := v.scalar()
			fields := strings.Fields(text)
			if name == "" || u.assigned[name] || is && (!plain || len(fields) == 0) || !is && !s.unbound[name] {
				u.everything = true
				return
			}
			if !is {
				continue // it will be bound
			}
			if dangerous[fields[0]] {
				u.everything = true
			}
			u.use(s, source.Function(fields[0]), done)
		}
		return
	}
	u.everything = u.everything || d.Reads
	if d.What == "eval" || d.What == "source" || d.What == "trap" || strings.HasPrefix(d.What, "another") {
		u.add(s, code{}, true, done)
	}
}

// dangerous are builtins that execute, or name, what the text does not show.
var dangerous = map[string]bool{"eval": true, "source": true, ".": true, "command": true, "builtin": true, "exec": true,
	"trap": true, "declare": true, "export": true, "typeset": true, "local": true, "readonly": true, "unset": true,
	"read": true, "printf": true, "set": true, "let": true, "mapfile": true, "readarray": true, "cd": true,
	"pushd": true, "popd": true, "getopts": true, "env": true, "exit": true, "return": true}

func (u *uses) effect(e depgraph.Effect) {
	switch e.Kind {
	case depgraph.EffectSubprocess:
		if e.What != "wait" {
			u.exported, u.files = true, true
		}
	case depgraph.EffectFile:
		u.files = true
	}
	u.positional = u.positional || e.Key == "conf:argv"
	u.status = u.status || e.Key == keyStatus && e.Mode != depgraph.Writes
}

// use adds a name, and what it leads to.
func (u *uses) use(s *session, name string, done map[string]bool) {
	if name == source.Exports {
		u.exported = true
		return
	}
	u.names[name] = true
	if done[name] {
		return
	}
	done[name] = true
	d, is := s.live.vars[name]
	if !is {
		return
	}
	if _, function := source.IsFunction(name); function {
		u.add(s, s.codeOf(d.value).called(name), true, done)
	} else if target, index, is := d.target(); is {
		u.use(s, target, done)
		for part := range strings.FieldsFuncSeq(index, func(r rune) bool { return !isLetter(r) }) {
			u.use(s, part, done)
		}
	}
}

// computed adds the names that values read as numbers may name: in the state before the node, in what it assigns, and
// in values.
func (u *uses) computed(s *session, values map[string]declaration) {
	done := map[string]bool{}
	next := sorted(u.evaluated)
	for len(next) > 0 {
		name := next[0]
		next = next[1:]
		if done[name] {
			continue
		}
		done[name] = true
		next = append(next, sorted(u.flows[name])...)
		if name == arguments || !isPlain(name) {
			continue
		}
		if !u.evaluated[name] && !u.names[name] {
			u.use(s, name, map[string]bool{})
		}
		for _, vars := range []map[string]declaration{s.live.vars, values} {
			d, is := vars[name]
			if !is || isInteger(d) {
				continue
			}
			for _, word := range nameInText.FindAllString(d.value, -1) {
				if !slices.Contains(next, word) {
					next = append(next, word)
				}
			}
		}
	}
}

// join adds features.
func (f *features) join(o *features) {
	for _, p := range []struct{ to, from *bool }{
		{&f.pipes, &o.pipes}, {&f.globs, &o.globs}, {&f.matches, &o.matches}, {&f.clobbers, &o.clobbers},
		{&f.echoes, &o.echoes}, {&f.cds, &o.cds}, {&f.files, &o.files}, {&f.programs, &o.programs},
		{&f.signals, &o.signals}, {&f.traps, &o.traps}, {&f.exits, &o.exits}, {&f.jobs, &o.jobs}, {&f.waits, &o.waits},
		{&f.feeds, &o.feeds}, {&f.fed, &o.fed},
		{&f.process, &o.process}, {&f.last, &o.last}, {&f.status, &o.status}, {&f.fails, &o.fails},
		{&f.draws, &o.draws}, {&f.inner, &o.inner}, {&f.both, &o.both}, {&f.anyFd, &o.anyFd},
		{&f.lines, &o.lines}, {&f.open, &o.open}, {&f.outside, &o.outside},
		{&f.input, &o.input}, {&f.wholeInput, &o.wholeInput},
	} {
		*p.to = *p.to || *p.from
	}
	maps.Copy(f.fds, o.fds)
	maps.Copy(f.marks, o.marks)
	maps.Copy(f.within, o.within)
	maps.Copy(f.operands, o.operands)
	maps.Copy(f.texts, o.texts)
	for name, words := range o.flows {
		f.flows.take(name, sorted(words)...)
	}
	f.seeds = append(f.seeds, o.seeds...)
}

// stateKeys adds the hidden state that the node reads.
func (s *session) stateKeys(u *uses) {
	for key, is := range map[string]bool{
		keyOptions: true, keyVariables: true, keyTraps: true,
		keyAliases: s.live.aliases || u.everything,
		keyPipes:   u.pipes, keyGlobs: u.globs, keyMatch: u.matches, keyClobber: u.clobbers, keyEcho: u.echoes,
		keyCd:        u.cds,
		keyCwd:       u.files || u.exported || u.names["PWD"],
		keyUmask:     u.files || u.exported,
		keyDirs:      u.cds || u.names["DIRSTACK"],
		keyArguments: u.positional,
		keyStreams:   true, keyDescriptors: u.anyFd || len(u.fds) > 0,
		keyStatus: u.status, keyLast: u.last, keyRandom: u.draws,
	} {
		if is || u.everything && key != keyLast && key != keyStatus && key != keyRandom {
			u.keys[key] = true
		}
	}
	if u.keys[keyArguments] {
		u.keys["conf:argv"] = true
	}
	for name := range u.assigned {
		if !strings.HasSuffix(name, ")") {
			u.keys[keyAttrs+name] = true
			if s.live.hidden[keyAttrs+name] != "" {
				u.use(s, name, map[string]bool{})
			}
		}
	}
}
