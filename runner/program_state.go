package runner

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/runner/basestate"
	"github.com/xstate-engine/xstate/runner/kernel"
	"github.com/xstate-engine/xstate/state"
)

// groupDigest names the content of a group: names whose values share mutable objects. A name that shares with none is a
// group by itself. Its group digest is the digest of its value, whatever the name, so that equal values are stored
// once.
type groupDigest = kernel.Group

// Keys of state that cannot be stored: it is rebuilt by running the node that wrote it.
const (
	figuresKey depgraph.Key = "display:figures" // figures that a block has begun and not yet shown
	runningKey depgraph.Key = "process:running" // child processes that run, see processes.go
	modulesKey depgraph.Key = "conf:modules"    // what the program changed in libraries, see modules.py
)

// pair is two names that share objects, in order.
type pair [2]string

// programState is the state at one place in the program: what each key has, and which names share objects.
type programState struct {
	base    func(depgraph.Key) state.Digest // what a key has that no node wrote
	keys    *keyTable
	aliases map[pair]state.Digest

	context           state.Digest          // see modules.go
	moduleState       map[depgraph.Key]bool // held: and load: keys, and names that modules hold a part of
	bindOrder         *bindOrder            // the order of the bound names
	lifetimeSensitive map[string]bool       // names whose values have a finalizer, or refer weakly to others
	end               ending
}

// ending says whether the program has ended at a place: by is the block that ended it, "" if it continues. If sure is
// false, the block has to run first, and ended it when it ran last. died: a failure has ended the interpreter alone.
type ending struct {
	by         state.BlockID
	sure, died bool
}

// newProgramState returns the state before the first node.
func newProgramState(base func(depgraph.Key) state.Digest) *programState {
	return newProgramStateFor(base, 0)
}

// newProgramStateFor does the same, with room for what so many nodes write.
func newProgramStateFor(base func(depgraph.Key) state.Digest, room int) *programState {
	return &programState{
		base:              base,
		keys:              newKeyTable(room),
		aliases:           map[pair]state.Digest{},
		moduleState:       map[depgraph.Key]bool{},
		lifetimeSensitive: map[string]bool{},
		bindOrder:         newBindOrder(room),
	}
}

func (p *programState) clone() *programState {
	q := *p
	q.keys, q.aliases, q.moduleState = p.keys.clone(), maps.Clone(p.aliases), maps.Clone(p.moduleState)
	q.lifetimeSensitive, q.bindOrder = maps.Clone(p.lifetimeSensitive), p.bindOrder.clone()
	return &q
}

// over returns a state that is that of p and can be changed, as long as p does not change. It costs less than a clone.
func (p *programState) over() *programState {
	q := *p
	q.keys, q.aliases, q.moduleState = p.keys.over(), maps.Clone(p.aliases), maps.Clone(p.moduleState)
	q.lifetimeSensitive, q.bindOrder = maps.Clone(p.lifetimeSensitive), p.bindOrder.over()
	return &q
}

func (p *programState) get(k depgraph.Key) entry {
	if e, ok := p.keys.find(k); ok {
		return e
	}
	if !hasBase(k) {
		return entry{writer: -1}
	}
	switch k.Space() {
	case "names":
		space, _ := k.Cut()
		names := inSpace(p.ordered(), space)
		return entry{digest: state.DigestOf(fmt.Appendf(nil, "names %q", names)), writer: -1}
	case "reach":
		if k == reachAll {
			return entry{digest: state.DigestOf(fmt.Appendf(nil, "reach %q", p.namesReachingCode())), writer: -1}
		}
		names, last := p.namesReaching(k.Name())
		return entry{digest: state.DigestOf(fmt.Appendf(nil, "reach %q", names)), writer: last}
	case "files":
		return entry{digest: p.files(), writer: -1}
	case "stat":
		return p.presence(k.Name())
	case "time":
		if e, ok := p.keys.find(depgraph.Key("file:" + k.Name())); ok {
			return entry{digest: digestWritten, writer: e.writer, marks: e.marks}
		}
	case "order":
		return p.writeOrder(k)
	case spaceScope:
		return p.effectsOn(k.Name())
	case "dir":
		return entry{digest: p.listing(k), writer: -1}
	case "isset":
		e := p.get(depgraph.Key("env:" + k.Name()))
		if e.digest != state.Absent {
			e.digest = "set"
		}
		return e
	case "env":
		if space, plain := k.Cut(); plain == envAll || plain == envOfChildren {
			return entry{digest: p.environment(space, nil), writer: -1}
		}
	}
	return entry{digest: p.base(k), writer: -1}
}

// hasBase reports whether a key may have something before the first node.
func hasBase(k depgraph.Key) bool {
	switch k.Space() {
	case "var", "display", "link", "held", "load", "process", spaceOpen, spaceInode, spaceCount, spaceEffect:
		return false
	}
	return true
}

// namesReaching returns the names whose values reach a class or function of the program, given its qualified name, or a
// part of what a workspace module holds. These names form no group: many nodes use such an object, and few change it. A
// node that does changes all of them. last is the node that wrote one of the names last.
func (p *programState) namesReaching(what string) (names []string, last int) {
	last = -1
	is := func(code string) bool { return code == what || code == "*" || strings.HasPrefix(code, what+"#") }
	for k, e := range p.keys.reachingCode() {
		if slices.ContainsFunc(e.info.Code, is) || slices.Contains(e.info.ModuleReferences, what) {
			names, last = append(names, k.Name()), max(last, e.writer)
		}
	}
	slices.Sort(names)
	return names, last
}

// reachAll is read by nodes that list subclasses.
const reachAll depgraph.Key = "reach:*"

// namesReachingCode returns the names that reach a class or function of the program, in the order of their binding.
func (p *programState) namesReachingCode() []string {
	return slices.DeleteFunc(p.ordered(), func(name string) bool { return !p.reachesCode(name) })
}

func (p *programState) reachesCode(name string) bool {
	info := p.keys.of(depgraph.Var(name)).info
	return info != nil && len(info.Code) > 0
}

// namesReachingClass returns, by qualified name, the names that reach a class such as n may define. The new class
// differs from theirs even if it is equal.
func (p *programState) namesReachingClass(n *node) map[string][]string {
	found := map[string][]string{}
	defines := n.facts.Kind == depgraph.KindClass
	names := p.keys.reachingLocal()
	if defines {
		names = p.keys.reachingCode()
	}
	for k, e := range names {
		for _, code := range e.info.Code {
			name, _, _ := strings.Cut(code, "#")
			if defines && name == n.facts.Defines[0] || strings.Contains(name, localMark) {
				found[code] = append(found[code], k.Name())
			}
		}
	}
	return found
}

// digestWritten is the time of a file that the program wrote. Such times differ in any two runs.
const digestWritten state.Digest = "written"

// pristine returns what hidden state has before any node.
func (p *programState) pristine(k depgraph.Key) state.Digest { return p.base(k) }

// presence returns what a query depends on that only checks whether a file exists.
func (p *programState) presence(name string) entry {
	e := p.get(depgraph.Key("file:" + name))
	if basestate.IsFile(e.digest) {
		e.digest = "file"
	}
	return e
}

// ageOf returns the place of a file in the order of what t wrote.
func ageOf(t *state.Trace, k depgraph.Key) int {
	if len(t.FileOrder) == 0 || k.Space() != "file" {
		return 0
	}
	return slices.Index(t.FileOrder, k.Name())
}

// writeOrder returns the order of the files that a key names: by their last writers, and what each left.
func (p *programState) writeOrder(k depgraph.Key) entry {
	names := strings.Split(k.Name(), "\n")
	last := -1
	of := func(name string) entry { return p.keys.of(depgraph.Key("file:" + name)) }
	for _, name := range names {
		last = max(last, of(name).writer)
	}
	slices.SortStableFunc(names, func(a, b string) int {
		x, y := of(a), of(b)
		return cmp.Or(cmp.Compare(x.writer, y.writer), cmp.Compare(x.age, y.age))
	})
	return entry{digest: state.DigestOf(fmt.Appendf(nil, "order %q", names)), writer: last}
}

// listing returns what a directory holds here: its content at the base, with the files written or deleted so far.
func (p *programState) listing(dir depgraph.Key) state.Digest {
	changed := map[string]bool{}
	folder, counts := dir.Listing()
	prefix := folder + "/"
	if folder == "." {
		prefix = ""
	}
	for k, e := range p.keys.in("file") {
		if rest, ok := strings.CutPrefix(k.Name(), prefix); ok && rest != "" && !strings.HasPrefix(rest, "/") {
			name, _, nested := strings.Cut(rest, "/")
			if !counts(name) {
				continue
			}
			changed[name] = changed[name] || e.digest != state.Absent || nested && e.digest != state.Absent
		}
	}
	itself, written := p.keys.find(depgraph.Key("file:" + folder))
	if written && itself.digest == state.Absent {
		return state.Absent
	}
	if len(changed) == 0 && !written {
		return p.base(dir)
	}
	var b strings.Builder
	b.WriteString(string(dir))
	for _, name := range slices.Sorted(maps.Keys(changed)) {
		fmt.Fprintf(&b, "\x00%s=%v", name, changed[name])
	}
	if len(changed) == 0 {
		b.WriteString("\x00") // the program made it, and it is empty
	}
	return p.base(depgraph.Key(b.String()))
}

// files digests which files the program wrote or deleted so far.
func (p *programState) files() state.Digest {
	var names []string
	for k := range p.keys.in("file") {
		names = append(names, k.Name())
	}
	slices.Sort(names)
	return state.DigestOf(fmt.Appendf(nil, "files %q", names))
}

// environment digests a language's environment: what it is at the base, and the program's changes without leftOut.
func (p *programState) environment(space string, leftOut func(entry) bool) state.Digest {
	var lines []string
	for k, e := range p.keys.in("env") {
		if of, plain := k.Cut(); of == space && (leftOut == nil || !leftOut(e)) {
			lines = append(lines, fmt.Sprintf("\n%s=%s", plain.Name(), e.digest))
		}
	}
	slices.Sort(lines)
	return state.DigestOf([]byte(string(p.base(envAll)) + strings.Join(lines, "")))
}

// namesKey is read by nodes that may list the names of the program, in the space of their language.
const namesKey depgraph.Key = "names:*"

// envAll is read by nodes that iterate over the environment. envOfChildren has the same digest, and is read by nodes
// that start processes.
const (
	envAll        depgraph.Key = "env:*"
	envOfChildren depgraph.Key = "env:+"
)

// filesWritten is read by child processes.
const filesWritten depgraph.Key = "files:+"

// names returns the names that have a value here, sorted.
func (p *programState) names() []string {
	var names []string
	for k, e := range p.keys.all() {
		if k.Space() == "var" && e.hasValue() {
			names = append(names, k.Name())
		}
	}
	slices.Sort(names)
	return names
}

// ordered returns the names in the order in which they were bound, as a namespace lists them.
func (p *programState) ordered() []string {
	names := p.names()
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(p.bindOrder.of(a), p.bindOrder.of(b)) })
	return names
}

// noteBindings notes which names t binds for the first time, or again after they were deleted.
func (p *programState) noteBindings(t *state.Trace) {
	for _, name := range t.BindOrder {
		if was, moved := strings.CutPrefix(name, "-"); moved {
			p.bindOrder.remove(was)
			name = was
		}
		p.bindOrder.add(name)
	}
	for _, w := range t.Writes {
		if w.Key.Space() == "var" && w.Digest != state.Absent {
			p.bindOrder.add(w.Key.Name())
		} else if w.Key.Space() == "var" {
			p.bindOrder.remove(w.Key.Name())
		}
	}
}

// group returns the names whose values form one object graph with that of name. They are sorted, and include name.
func (p *programState) group(name string) []string {
	if len(p.aliases) == 0 {
		return []string{name}
	}
	near := make(map[string][]string, len(p.aliases))
	for pr := range p.aliases {
		near[pr[0]] = append(near[pr[0]], pr[1])
		near[pr[1]] = append(near[pr[1]], pr[0])
	}
	seen := map[string]bool{name: true}
	for todo := []string{name}; len(todo) > 0; {
		n := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, other := range near[n] {
			if !seen[other] {
				seen[other] = true
				todo = append(todo, other)
			}
		}
	}
	return slices.Sorted(maps.Keys(seen))
}

// groupDigest returns the group of name and its digest.
func (p *programState) groupDigest(name string) (groupDigest, []string) {
	names := p.group(name)
	if len(names) == 1 {
		return groupDigest(p.keys.of(depgraph.Var(name)).digest), names
	}
	var b strings.Builder
	b.WriteString("group\n")
	for _, n := range names {
		fmt.Fprintf(&b, "%q %s\n", n, p.keys.of(depgraph.Var(n)).digest)
	}
	for _, s := range sortedAliases(p.aliases, func(pr pair) bool { return slices.Contains(names, pr[0]) }) {
		fmt.Fprintf(&b, "%q\n", []string(s))
	}
	return groupDigest(state.DigestOf([]byte(b.String()))), names
}

// groupDigests has the digests of groups by their names, as long as the program's state does not change. It visits a
// group once: names may all be in one group, and to find it takes the square of their number.
type groupDigests struct {
	of    *programState
	known map[string]groupDigest
}

func (g *groupDigests) get(name string) groupDigest {
	if j, is := g.known[name]; is {
		return j
	}
	j, names := g.of.groupDigest(name)
	if g.known == nil {
		g.known = map[string]groupDigest{}
	}
	for _, n := range names {
		g.known[n] = j
	}
	return j
}

// writer returns the last node that wrote one of the names. They share objects as they do since then.
func (p *programState) writer(names []string) int {
	last := -1
	for _, n := range names {
		last = max(last, p.keys.of(depgraph.Var(n)).writer)
	}
	return last
}

func sortedAliases(aliases map[pair]state.Digest, keep func(pair) bool) []state.Alias {
	var found []state.Alias
	for pr, d := range aliases {
		if keep(pr) {
			found = append(found, state.Alias{pr[0], pr[1], string(d)})
		}
	}
	slices.SortFunc(found, func(a, b state.Alias) int { return slices.Compare(a, b) })
	return found
}

// aliasesWithin returns the pairs of names read that share objects.
func (p *programState) aliasesWithin(reads []state.Access) []state.Alias {
	if len(p.aliases) == 0 {
		return nil
	}
	read := map[string]bool{}
	for _, a := range reads {
		if a.Key.Space() == "var" {
			read[a.Key.Name()] = true
		}
	}
	return sortedAliases(p.aliases, func(pr pair) bool { return read[pr[0]] && read[pr[1]] })
}

// aliasesAround returns the pairs that share objects, and of which one is among names.
func (p *programState) aliasesAround(names []string) []state.Alias {
	if len(p.aliases) == 0 {
		return nil
	}
	return sortedAliases(
		p.aliases,
		func(pr pair) bool { return slices.Contains(names, pr[0]) || slices.Contains(names, pr[1]) },
	)
}

// firstChangedRead is the function of that name, at this state.
func (p *programState) firstChangedRead(t *state.Trace) (first state.Access, now entry, ok bool) {
	return firstChangedRead(walkPlace{programState: p}, t)
}

// apply makes p the state after node i, with trace t.
func (p *programState) apply(i int, t *state.Trace) {
	var gone []string
	context := false
	for _, w := range t.Writes {
		if _, bad := p.keys.of(w.Key).poisoned(); bad && w.Digest == state.Absent {
			continue // the name stays poisoned: its users are blocked, whether a run observed the deletion or not
		}
		e := entry{digest: w.Digest, writer: i, took: t.Seconds, age: ageOf(t, w.Key)}
		if info, ok := t.Info[w.Key]; ok {
			e.info = &info
		}
		if name := w.Key.Name(); w.Key.Space() == "var" {
			gone = append(gone, name)
			if delete(p.lifetimeSensitive, name); e.info != nil && e.info.LifetimeSensitive {
				p.lifetimeSensitive[name] = true
			}
		}
		p.keys.set(w.Key, e)
		if w.Key.Space() == "held" || w.Key.Space() == "load" || e.info != nil && len(e.info.ModuleReferences) > 0 {
			p.moduleState[w.Key] = true
		} else {
			delete(p.moduleState, w.Key)
		}
		context = context || w.Key.Space() == "conf" || w.Key.Space() == "cwd"
	}
	p.noteBindings(t)
	if context {
		p.context = p.contextOf()
	}
	if len(p.aliases) > 0 {
		among := map[string]bool{}
		for _, name := range slices.Concat(gone, t.AliasSensitive) {
			among[name] = true
		}
		maps.DeleteFunc(p.aliases, func(pr pair, _ state.Digest) bool {
			return among[pr[0]] || among[pr[1]]
		})
	}
	for _, s := range t.AliasesAfter {
		p.aliases[pair{s[0], s[1]}] = state.Digest(s[2])
	}
}

// isLifetimeSensitive reports whether the value of name, or one that shares with it, is lifetime-sensitive.
func (p *programState) isLifetimeSensitive(name string) bool {
	if len(p.lifetimeSensitive) == 0 {
		return false
	}
	return slices.ContainsFunc(p.group(name), func(n string) bool { return p.lifetimeSensitive[n] })
}

// allMarks returns the marks of a trace and of everything that it read.
func (p *programState) allMarks(t *state.Trace) []string {
	marks := slices.Clone(t.Marks)
	for _, a := range t.Reads {
		for _, m := range p.get(a.Key).marks {
			marks = appendNew(marks, m)
		}
	}
	return marks
}

// mark sets the marks of what t wrote.
func (p *programState) mark(t *state.Trace, marks []string) {
	for _, w := range t.Writes {
		if e, ok := p.keys.find(w.Key); ok && len(marks) > 0 {
			e.marks = marks
			p.keys.set(w.Key, e)
		}
	}
}

// fail makes p the state after node i failed in block, or was blocked by it. Names that the node defines are poisoned.
// Figures that its block has begun are shown with the failure.
func (p *programState) fail(i int, block state.BlockID, defines []string) {
	for _, name := range defines {
		p.keys.set(depgraph.Var(name), entry{digest: poison, writer: i, failed: block})
		delete(p.moduleState, depgraph.Var(name))
		delete(p.lifetimeSensitive, name)
		p.bindOrder.remove(name)
		maps.DeleteFunc(p.aliases, func(pr pair, _ state.Digest) bool { return pr[0] == name || pr[1] == name })
	}
	if p.get(figuresKey).digest != state.Absent {
		p.keys.set(figuresKey, entry{writer: i})
	}
}

func byKey(a, b state.Access) int { return cmp.Compare(a.Key, b.Key) }

// Keys of files that stay open between nodes, see open_files.go.
const spaceOpen, spaceInode = "open", "inode"

func openKey(name string) depgraph.Key  { return depgraph.Key(spaceOpen + ":" + name) }
func inodeKey(name string) depgraph.Key { return depgraph.Key(spaceInode + ":" + name) }

// openFileAt returns the open file that a path leads to at p; "" when there is none.
func openFileAt(p interface{ get(depgraph.Key) entry }, name string) depgraph.Key {
	e := p.get(inodeKey(name))
	if _, is := strings.CutPrefix(string(e.digest), spaceOpen+":"); !is {
		return ""
	}
	return depgraph.Key(e.digest)
}

// handles returns the files open at p that the values of names may use.
func (p *programState) handles(names []string) (keys []depgraph.Key) {
	for _, name := range names {
		e := p.keys.of(depgraph.Var(name))
		if e.info == nil {
			continue
		}
		for _, file := range e.info.Handles {
			if k := openKey(file); p.get(k).digest != state.Absent {
				keys = appendNew(keys, k)
			}
		}
	}
	return keys
}

// openKeys returns the files that are open at p.
func (p *programState) openKeys() (keys []depgraph.Key) {
	for k, e := range p.keys.in(spaceOpen) {
		if e.digest != state.Absent {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	return keys
}

func appendNew[T comparable](list []T, x T) []T {
	for _, y := range list {
		if y == x {
			return list
		}
	}
	return append(list, x)
}
