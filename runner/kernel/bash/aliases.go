package bash

import (
	"fmt"
	"slices"

	"github.com/xstate-engine/xstate/runner/kernel"
	"github.com/xstate-engine/xstate/state"
)

// aliases are the namerefs of a shell, which are all that shares values in Bash. A nameref and what it points to are a
// group; its digest is that of the target.
type aliases struct {
	s     *snapshot
	refs  map[string]string // nameref → the variable at its end
	paths map[string]string // nameref → the indices on the way
}

func aliasesOf(s *snapshot) *aliases {
	a := &aliases{s: s, refs: map[string]string{}, paths: map[string]string{}}
	for name, d := range s.vars {
		path := ""
		for range 10 {
			to, index, is := d.target()
			if !is {
				break
			}
			path += "[" + index
			a.refs[name], a.paths[name] = to, path
			d = s.vars[to]
		}
	}
	return a
}

// digest names the value of a declaration.
func (a *aliases) digest(d declaration) state.Digest {
	end, is := a.refs[d.name]
	if !is || !d.has("n") {
		return d.digest()
	}
	of, there := a.s.vars[end]
	if path := a.paths[d.name]; !there || path != "[" && path != "[[" && path != "[[[" {
		return state.DigestOf(fmt.Appendf(nil, "bash nameref %s %s %s", path, of.digest(), end))
	}
	return of.digest()
}

// pairs returns the names that share, of which one is among some names.
func (a *aliases) pairs(names []string) (shares [][3]string) {
	groups := map[string][]string{}
	for name, end := range a.refs {
		groups[end] = append(groups[end], name)
	}
	for end, list := range groups {
		if _, is := a.s.vars[end]; is {
			list = append(list, end)
		}
		slices.Sort(list)
		for i, x := range list {
			for _, y := range list[i+1:] {
				if slices.Contains(names, x) || slices.Contains(names, y) {
					how := state.DigestOf(fmt.Appendf(nil, "%q %q", a.paths[x], a.paths[y]))
					shares = append(shares, [3]string{x, y, string(how)})
				}
			}
		}
	}
	slices.SortFunc(shares, func(p, q [3]string) int { return slices.Compare(p[:], q[:]) })
	return shares
}

// touched returns the names that a change of some names concerns.
func (a *aliases) touched(names []string) (all []string) {
	for _, p := range a.pairs(names) {
		all = append(all, p[0], p[1])
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func groupOf(text string) kernel.Group { return kernel.Group(text) }
