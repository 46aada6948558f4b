package flow

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/query"
)

func (f *flow) find() {
	groups := slices.SortedFunc(maps.Values(f.groups), func(a, b []int) int { return a[0] - b[0] })
	for _, group := range groups {
		f.split(group)
	}
	f.cuts()
	for _, group := range groups {
		f.dropped(group)
	}
}

func (f *flow) add(code string, calls []int, sources []string, format string, values ...any) {
	x := Finding{Code: code, Text: fmt.Sprintf(format, values...), Calls: []state.CallID{}, Blocks: []state.BlockID{},
		Sources: sources}
	for _, i := range calls {
		x.Calls = append(x.Calls, f.Calls[i].ID)
		if id := f.Calls[i].Block; !slices.Contains(x.Blocks, id) {
			x.Blocks = append(x.Blocks, id)
		}
	}
	f.Findings = append(f.Findings, x)
}

// item is what a group divides among its calls: a file of a folder, or a part of a list.
type item struct {
	name  string
	calls []int // those that were given it
	other bool  // another request or a result has it
}

// split looks how a group divides its sources.
func (f *flow) split(group []int) {
	for _, family := range f.families(group) {
		given, most := 0, 0
		for _, it := range family.items {
			if len(it.calls) > 0 {
				given++
			}
			most = max(most, len(it.calls))
		}
		if given == 0 {
			continue
		}
		var out, twice []item
		for _, it := range family.items {
			switch {
			case len(it.calls) == 0 && !it.other:
				out = append(out, it)
			case len(it.calls) > 1:
				twice = append(twice, it)
			}
		}
		said := slices.ContainsFunc(f.Findings, func(x Finding) bool {
			return x.Code == LeftOut && slices.Equal(x.Sources, names(out))
		})
		if len(out) > 0 && !said {
			f.add(LeftOut, group, names(out), "%d of %d %s are in no request and in no result, though others are in "+
				"those of %s: %s", len(out), len(family.items), family.what, f.groupText(group),
				query.Shorten(names(out)))
		}
		// If all were given the same, it is what they share. If most parts have several calls, that is the plan.
		shared := len(twice) == given && most == len(group) && len(out) == 0
		if shared || len(twice)*2 > len(family.items) {
			continue
		}
		for _, it := range twice {
			f.add(GivenTwice, it.calls, []string{it.name}, "%s were given the same: %s", f.callsText(it.calls),
				it.name)
		}
	}
}

// family is a set of items, one of which each call of a group may be given.
type family struct {
	what  string // what the sources are
	items []item
}

// families are the lists among the sources of a group, and the folders from which several files are.
func (f *flow) families(group []int) (all []family) {
	folders := map[string]*family{}
	var order []string
	for k, s := range f.texts.sources {
		if !f.mayReach(s, f.Calls[group[0]].Node, group[0]) || !s.kept {
			continue
		}
		if s.list && len(s.parts) > 1 {
			x := family{what: "parts of " + s.Name}
			for i := range s.parts {
				p := &s.parts[i]
				if p.looked == 0 {
					continue
				}
				x.items = append(x.items, f.item(group, s.Name+"#"+p.name, func(covers map[int32]*cover) bool {
					c := covers[int32(k)]
					return c != nil && p.has(p.found(c))
				}))
			}
			all = append(all, x)
			continue
		}
		if s.call >= 0 {
			continue // see dropped
		}
		folder := path.Dir(strings.TrimPrefix(s.Name, "file:"))
		id := folder + "\x00" + strings.Join(s.nodes, " ")
		if folders[id] == nil {
			folders[id] = &family{what: "files of " + folder}
			order = append(order, id)
		}
		x := folders[id]
		x.items = append(x.items, f.item(group, s.Name, func(covers map[int32]*cover) bool {
			return covers[int32(k)] != nil
		}))
	}
	for _, folder := range order {
		if len(folders[folder].items) > 1 {
			all = append(all, *folders[folder])
		}
	}
	return all
}

// item says which calls of a group were given something, and whether another text has it.
func (f *flow) item(group []int, name string, has func(map[int32]*cover) bool) item {
	it := item{name: name}
	for i, covers := range f.covers {
		if has(covers) {
			if slices.Contains(group, i) {
				it.calls = append(it.calls, i)
			} else {
				it.other = true
			}
		}
	}
	it.other = it.other || slices.ContainsFunc(f.inside, has)
	return it
}

// cuts finds requests that have the beginning of a source alone.
func (f *flow) cuts() {
	for i := range f.Calls {
		for j := range f.Calls[i].Given {
			p := &f.Calls[i].Given[j]
			if p.Cut == 0 {
				continue
			}
			k := slices.IndexFunc(f.texts.sources, func(s *source) bool { return s.Name == p.Source })
			if f.hasRest(i, int32(k), p.Cut) {
				p.Cut = 0
				continue
			}
			f.add(Cut, []int{i}, []string{p.Source}, "%s was given the first %d of %d words of %s, and nothing after "+
				"them", f.callsText([]int{i}), p.Cut, len(f.texts.sources[k].words), p.Source)
		}
	}
}

// hasRest reports whether other requests of the group of a call have the words of a source after one.
func (f *flow) hasRest(call int, source int32, from int) bool {
	rest := len(f.texts.sources[source].words) - from
	had := make([]bool, rest)
	for _, i := range f.groupOf(call) {
		if c := f.covers[i][source]; c != nil && i != call {
			for at, has := range c.words[from:] {
				had[at] = had[at] || has
			}
		}
	}
	n := 0
	for _, has := range had {
		if has {
			n++
		}
	}
	return n*2 > rest
}

func (f *flow) groupOf(call int) []int {
	for _, group := range f.groups {
		if slices.Contains(group, call) {
			return group
		}
	}
	return nil
}

// dropped finds answers that reached nothing.
func (f *flow) dropped(group []int) {
	var out []int
	used := 0
	for _, i := range group {
		s := f.texts.sources[i]
		looked := slices.ContainsFunc(s.parts, func(p part) bool { return p.looked > 0 })
		switch {
		case len(f.Calls[i].Answer) > 0:
			used++
		case looked || !f.isRead(i):
			out = append(out, i)
		}
	}
	var sources []string
	for _, i := range out {
		sources = append(sources, f.texts.sources[i].Name)
	}
	switch {
	case len(out) == 0:
	case used > 0:
		f.add(Dropped, out, sources, "%d of %d answers of %s are in no later request and in no result: %s", len(out),
			len(group), f.Calls[group[0]].Node, query.Shorten(sources))
	default:
		for _, i := range out {
			if !f.isRead(i) {
				name := f.texts.sources[i].Name
				f.add(Dropped, []int{i}, []string{name}, "no request and no result depends on the answer of %s, "+
					"unless its own block decided by it", f.callsText([]int{i}))
			}
		}
	}
}

// isRead reports whether a later call or a result depends on the answer of a call. The last block leaves results, too.
func (f *flow) isRead(i int) bool {
	s := f.texts.sources[i]
	if f.Calls[i].Block == f.last {
		return true
	}
	for j := i + 1; j < len(f.Calls); j++ {
		if f.mayReach(s, f.Calls[j].Node, j) {
			return true
		}
	}
	return slices.ContainsFunc(f.Results, func(r ResultFlow) bool {
		return slices.ContainsFunc(r.nodes, func(node string) bool { return f.mayReach(s, node, -1) })
	})
}

func names(items []item) (names []string) {
	for _, it := range items {
		names = append(names, it.name)
	}
	return names
}

// groupText names a group.
func (f *flow) groupText(group []int) string {
	c := f.Calls[group[0]]
	if len(group) == 1 {
		return fmt.Sprintf("%s (a call of %s)", c.Node, c.Tool)
	}
	return fmt.Sprintf("%s (%d calls of %s)", c.Node, len(group), c.Tool)
}

// callsText names calls.
func (f *flow) callsText(calls []int) string {
	var ids []string
	for _, i := range calls {
		ids = append(ids, fmt.Sprint(f.Calls[i].ID))
	}
	word := "call "
	if len(ids) > 1 {
		word = "calls "
	}
	return word + query.Shorten(ids) + " of " + string(f.Calls[calls[0]].Block)
}
