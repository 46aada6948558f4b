package flow

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/artifact"
	"github.com/xstate-engine/xstate/state/query"
)

// flow is what Of works on.
type flow struct {
	Flow
	store   *state.Store
	reached map[string]map[string]bool // by node: those that it depends on, and itself
	texts   index
	covers  []map[int32]*cover // what the request of each call has
	answers []map[int32]*cover // what its answer has
	inside  []map[int32]*cover // what each result has
	groups  map[string][]int   // calls, by node and tool
	last    state.BlockID      // the last block of the program
}

// calls reads the calls that the nodes depend on. Their answers are the first sources, in the same order.
func (f *flow) calls(ctx context.Context, h *query.History, judge *artifact.Assessor) error {
	records := map[state.CallID]*state.Call{}
	for i := range judge.Snapshot.Blocks {
		b := &judge.Snapshot.Blocks[i]
		f.last = b.ID
		for _, node := range b.Nodes {
			for _, r := range node.Reads {
				c, err := h.Call(ctx, r.Key)
				if err != nil {
					return err
				}
				if c == nil || records[c.ID] != nil {
					continue
				}
				c = c.AsOf(r.Digest, f.Step)
				records[c.ID] = c
				args, err := f.store.Read(c.Args)
				if err != nil {
					return err
				}
				v, _ := decode(args)
				f.Calls = append(f.Calls, CallFlow{ID: c.ID, Kind: c.Kind, Tool: c.Tool, Text: c.Text(), Block: b.ID,
					Node: node.Name, Line: c.Caller.Line, request: wordsOf(textOf(v)),
					Given: []Passage{}, Unseen: []string{}, Answer: []Passage{}})
			}
		}
	}
	slices.SortFunc(f.Calls, func(a, b CallFlow) int { return cmp.Compare(a.ID, b.ID) })
	for i := range f.Calls {
		call := &f.Calls[i]
		answer, err := f.store.Read(records[call.ID].Result)
		if err != nil {
			return err
		}
		s := &source{call: i, nodes: []string{call.Node}, SourceFlow: SourceFlow{Name: fmt.Sprintf("call:%d", call.ID)}}
		if v, err := decode(answer); err == nil {
			s.kept = true
			s.cutValue(v)
		}
		f.addSource(s, call.request)
		key := call.Node + "\x00" + call.Kind + "\x00" + call.Tool
		f.groups[key] = append(f.groups[key], i)
	}
	return nil
}

// addSource adds a source; request is that of an answer.
func (f *flow) addSource(s *source, request []uint64) {
	s.Words, s.Parts, s.Status = len(s.words), len(s.parts), Never
	f.texts.add(s, request)
}

// files reads the files that the program took in, and its results: what it printed and the files that it left.
func (f *flow) files(judge *artifact.Assessor) error {
	inputs, left := map[string]*source{}, map[string]*ResultFlow{}
	for i := range judge.Snapshot.Blocks {
		b := &judge.Snapshot.Blocks[i]
		for _, node := range b.Nodes {
			for _, r := range node.Reads {
				name := r.Key.Name()
				if r.Key.Space() != "file" || r.By != "" || !r.Digest.IsContent() || isModule(judge, name) {
					continue
				}
				s := inputs[name]
				if s == nil {
					s = &source{call: -1, SourceFlow: SourceFlow{Name: "file:" + name}}
					data, ok, err := f.store.Blob(r.Digest)
					if err != nil {
						return err
					}
					if ok {
						s.cutFile(name, data)
					}
					inputs[name] = s
				}
				s.nodes = query.AppendNew(s.nodes, node.Name)
			}
			for _, w := range node.Writes {
				if w.Key.Space() != "file" {
					continue
				}
				if delete(left, w.Key.Name()); w.Digest.IsContent() {
					data, ok, err := f.store.Blob(w.Digest)
					if err != nil {
						return err
					}
					if ok {
						left[w.Key.Name()] = &ResultFlow{Name: string(w.Key), words: wordsOf(string(data)),
							nodes: []string{node.Name}, Given: []Passage{}}
					}
				}
			}
		}
		if text := query.Text(b.Outputs); text != "" {
			r := ResultFlow{Name: "output:" + string(b.ID), words: wordsOf(text), Given: []Passage{}}
			for _, node := range b.Nodes {
				r.nodes = append(r.nodes, node.Name)
			}
			f.Results = append(f.Results, r)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(left)) {
		f.Results = append(f.Results, *left[name])
	}
	for _, name := range slices.Sorted(maps.Keys(inputs)) {
		f.addSource(inputs[name], nil)
	}
	return nil
}

// isModule reports whether a file is a module that the program imports, and no text that it takes in.
func isModule(judge *artifact.Assessor, name string) bool {
	switch path.Ext(name) {
	case ".pyc", ".so":
		return true
	case ".py", ".js", ".mjs", ".cjs", ".ts", ".mts", ".cts":
	default:
		return false
	}
	stem := strings.TrimSuffix(path.Base(name), path.Ext(name))
	if stem == "__init__" || stem == "index" {
		stem = path.Base(path.Dir(name))
	}
	imported := regexp.MustCompile(`\b(import|from|require)\b.*\b` + regexp.QuoteMeta(stem) + `\b`)
	return slices.ContainsFunc(judge.Snapshot.Blocks, func(b query.BlockView) bool {
		return imported.MatchString(b.Source)
	})
}

// reach finds what each node depends on.
func (f *flow) reach(judge *artifact.Assessor) {
	links := judge.Links()
	var visit func(from string, into map[string]bool)
	visit = func(node string, into map[string]bool) {
		if into[node] {
			return
		}
		into[node] = true
		for _, l := range links[node] {
			if l.From != "" {
				visit(l.From, into)
			}
		}
	}
	for i := range judge.Snapshot.Blocks {
		for _, node := range judge.Snapshot.Blocks[i].Nodes {
			into := map[string]bool{}
			visit(node.Name, into)
			f.reached[node.Name] = into
		}
	}
}

// mayReach reports whether the graph has a way from a source to a node, and to a call if it is not -1.
func (f *flow) mayReach(s *source, node string, call int) bool {
	if s.call >= 0 && call >= 0 && s.call >= call {
		return false // the answer came later, or is its own
	}
	return slices.ContainsFunc(s.nodes, func(from string) bool { return f.reached[node][from] })
}

// match finds the passages.
func (f *flow) match() {
	for i := range f.Calls {
		f.answers = append(f.answers, f.texts.find(f.texts.sources[i].words))
	}
	for i := range f.Calls {
		c := &f.Calls[i]
		found := f.texts.find(c.request)
		for j, s := range f.texts.sources {
			k := int32(j)
			if !f.mayReach(s, c.Node, i) {
				delete(found, k)
				if s.call < i {
					c.Never = append(c.Never, s.Name)
				}
				continue
			}
			p, ok := s.passage(found[k])
			if !ok {
				delete(found, k)
				c.May = append(c.May, s.Name)
				if s.Status == Never {
					s.Status = May
				}
				continue
			}
			p.Through = f.through(k, found)
			c.Given = append(c.Given, p)
			s.Status = Given
			if s.call >= 0 {
				p.Source = fmt.Sprintf("call:%d", c.ID)
				f.Calls[s.call].Answer = append(f.Calls[s.call].Answer, p)
			}
		}
		f.covers = append(f.covers, found)
	}
	for i := range f.Results {
		r := &f.Results[i]
		found := f.texts.find(r.words)
		for j, s := range f.texts.sources {
			k := int32(j)
			may := slices.ContainsFunc(r.nodes, func(node string) bool { return f.mayReach(s, node, -1) })
			p, ok := s.passage(found[k])
			if !may || !ok {
				delete(found, k)
				if may && s.Status == Never {
					s.Status = May
				}
				continue
			}
			p.Through = f.through(k, found)
			r.Given = append(r.Given, p)
			s.Status = Given
			if s.call >= 0 {
				p.Source = r.Name
				f.Calls[s.call].Answer = append(f.Calls[s.call].Answer, p)
			}
		}
		f.inside = append(f.inside, found)
	}
	for i := range f.Calls {
		f.Calls[i].Unseen = f.unseen(i)
	}
}

// through returns the answers by which a text has source k; nil if it has some of it otherwise. found is what it has.
func (f *flow) through(k int32, found map[int32]*cover) (names []string) {
	s := f.texts.sources[k]
	carried := map[int32]bool{}
	for j, c := range found {
		from := f.texts.sources[j]
		if from.call < 0 || from.call >= len(f.covers) || c == nil || f.covers[from.call][k] == nil {
			continue // only an answer to an earlier request that has the source carries it
		}
		if of := f.answers[from.call][k]; of != nil {
			names = append(names, from.Name)
			maps.Copy(carried, of.found)
		}
	}
	other := &cover{found: map[int32]bool{}}
	for at := range found[k].found {
		if !carried[at] {
			other.found[at] = true
		}
	}
	if _, ok := s.passage(other); ok {
		return nil
	}
	slices.Sort(names)
	return names
}

// unseen returns the sources on which the answers that a call was given depend, and of which it was given nothing but
// what these answers repeat.
func (f *flow) unseen(i int) []string {
	given, basis := map[string]bool{}, map[string]bool{}
	for _, p := range f.Calls[i].Given {
		given[p.Source] = len(p.Through) == 0
	}
	var visit func(i int)
	visit = func(i int) {
		for k := range f.covers[i] {
			s := f.texts.sources[k]
			if s.call >= 0 && !basis["\x00"+s.Name] {
				basis["\x00"+s.Name] = true
				for _, p := range f.Calls[s.call].Given {
					basis[p.Source] = true
				}
				visit(s.call)
			}
		}
	}
	visit(i)
	unseen := []string{}
	for name := range basis {
		if !given[name] && !strings.HasPrefix(name, "\x00") {
			unseen = append(unseen, name)
		}
	}
	slices.Sort(unseen)
	return unseen
}
