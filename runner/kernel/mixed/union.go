package mixed

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/runner/kernel"
	"github.com/xstate-engine/xstate/runner/sandbox"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/inspect"
)

// union is the kernel of a program in several languages.
type union struct {
	languages *Languages
	launch    kernel.Launch
	kernels   map[space]kernel.Kernel
	parked    map[kernel.Group]space
	cited     kernel.Citations              // all that was cited, for kernels that start later
	open      map[space]map[string][]string // files that are open, as kernel.Files.Open has them
	last      kernel.Kernel                 // that executed; nil: none
	dead      kernel.Kernel                 // that died; nil: none
}

var _ kernel.Kernel = (*union)(nil)

// need returns the kernel of a space, and starts it if there is none.
func (u *union) need(ctx context.Context, s space) (kernel.Kernel, error) {
	if k := u.kernels[s]; k != nil {
		return k, nil
	}
	l, err := u.languages.in(s)
	if err != nil {
		return nil, err
	}
	own := u.launch
	own.Environ = l.Environ(kernel.EnvironLines(own.Environ))
	own.Dialects = slices.DeleteFunc(slices.Clone(own.Dialects), func(d depgraph.Dialect) bool {
		of, err := spaceNamed(d)
		return err != nil || of != s
	})
	if own.Spool, err = kernel.SpoolIn(own.Spool, string(s)); err != nil { // each prints into separate files
		return nil, err
	}
	k, err := l.Start(ctx, own)
	if err != nil {
		return nil, err
	}
	u.kernels[s] = k
	if c, any := u.citing(s, u.cited); any {
		err = k.Cite(ctx, c)
	}
	return k, u.note(k, err)
}

// note remembers which kernel died.
func (u *union) note(k kernel.Kernel, err error) error {
	if errors.Is(err, kernel.ErrDied) {
		u.dead = k
	}
	return err
}

// each calls do for the kernels that run, in order, until one fails.
func (u *union) each(do func(s space, k kernel.Kernel) error) error {
	for _, s := range slices.Sorted(maps.Keys(u.kernels)) {
		if err := u.note(u.kernels[s], do(s, u.kernels[s])); err != nil {
			return err
		}
	}
	return nil
}

func (u *union) Check(ctx context.Context, blocks []kernel.Source) ([]kernel.Verdict, error) {
	verdicts := make([]kernel.Verdict, len(blocks))
	of := map[space][]int{}
	for i, b := range blocks {
		s, err := spaceNamed(b.Dialect)
		if err != nil {
			return nil, err
		}
		of[s] = append(of[s], i)
	}
	for _, s := range slices.Sorted(maps.Keys(of)) {
		k, err := u.need(ctx, s)
		if err != nil {
			return nil, err
		}
		var own []kernel.Source
		for _, i := range of[s] {
			b := blocks[i]
			b.Future = s.features(b.Future)
			own = append(own, b)
		}
		found, err := k.Check(ctx, own)
		if err != nil {
			return nil, u.note(k, err)
		}
		for n, i := range of[s] {
			verdicts[i] = found[n]
		}
	}
	return verdicts, nil
}

// Cite passes the texts on by language. A kernel that starts later gets them then.
func (u *union) Cite(ctx context.Context, c kernel.Citations) error {
	if u.cited.Texts == nil {
		u.cited = kernel.Citations{Texts: map[string]string{}, Futures: map[string][]string{},
			Dialects: map[string]depgraph.Dialect{}}
	}
	for _, name := range c.Gone {
		delete(u.cited.Texts, name)
		delete(u.cited.Futures, name)
		delete(u.cited.Dialects, name)
	}
	maps.Copy(u.cited.Texts, c.Texts)
	maps.Copy(u.cited.Futures, c.Futures)
	maps.Copy(u.cited.Dialects, c.Dialects)
	return u.each(func(s space, k kernel.Kernel) error {
		if own, any := u.citing(s, c); any {
			return k.Cite(ctx, own)
		}
		return nil
	})
}

// citing returns the part of citations that a language has. any is false if there is none.
func (u *union) citing(s space, c kernel.Citations) (own kernel.Citations, any bool) {
	own = kernel.Citations{Texts: map[string]string{}, Futures: map[string][]string{}, Gone: c.Gone}
	for name, text := range c.Texts {
		if of, err := spaceNamed(c.Dialects[name]); err != nil || of != s {
			continue
		}
		own.Texts[name] = text
		if f, there := c.Futures[name]; there {
			own.Futures[name] = s.features(f)
		}
	}
	return own, len(own.Texts)+len(own.Gone) > 0
}

// execute executes a node of one language.
func (u *union) execute(
	ctx context.Context, s space, n kernel.Node, sink kernel.Sink,
) (kernel.Observation, error) {
	k, err := u.need(ctx, s)
	if err != nil {
		return kernel.Observation{}, err
	}
	u.last = k
	seen, err := k.Execute(ctx, s.node(n), sink)
	s.observation(&seen)
	u.open[s], seen.Files.Open = seen.Files.Open, nil
	for _, open := range u.open {
		seen.Files.Open = merged(maps.Clone(seen.Files.Open), open)
	}
	return seen, u.note(k, err)
}

func (u *union) Bind(ctx context.Context, b kernel.Binding) error {
	own := map[space]*kernel.Binding{}
	of := func(s space) *kernel.Binding {
		if own[s] == nil {
			own[s] = &kernel.Binding{}
		}
		return own[s]
	}
	for _, p := range b.Park {
		s := spaceOf(p.Names[0])
		u.parked[p.Group] = s
		of(s).Park = append(of(s).Park, kernel.Parking{Group: p.Group, Names: s.allIn(p.Names)})
	}
	for _, name := range b.Unbind {
		s := spaceOf(name)
		bare, _ := s.in(name)
		of(s).Unbind = append(of(s).Unbind, bare)
	}
	for _, g := range b.Drop {
		of(u.parked[g]).Drop = append(of(u.parked[g]).Drop, g)
		delete(u.parked, g)
	}
	for _, g := range b.Unpark {
		of(u.parked[g]).Unpark = append(of(u.parked[g]).Unpark, g)
		delete(u.parked, g)
	}
	for _, s := range slices.Sorted(maps.Keys(own)) {
		if k := u.kernels[s]; k != nil { // one that does not run has nothing bound
			if err := u.note(k, k.Bind(ctx, *own[s])); err != nil {
				return err
			}
		}
	}
	return nil
}

func (u *union) Store(ctx context.Context, v kernel.Storing) (kernel.Stored, error) {
	s := spaceOf(v.Names[0])
	k, err := u.need(ctx, s)
	if err != nil {
		return kernel.Stored{}, err
	}
	v.Names = s.allIn(v.Names)
	stored, err := k.Store(ctx, v)
	for i := range stored.Needs {
		stored.Needs[i][0] = s.out(stored.Needs[i][0])
	}
	return stored, u.note(k, err)
}

func (u *union) Load(ctx context.Context, l kernel.Loading) (kernel.Loaded, error) {
	s := spaceOf(l.Names[0])
	k, err := u.need(ctx, s)
	if err != nil {
		return kernel.Loaded{}, err
	}
	l.Names = s.allIn(l.Names)
	loaded, err := k.Load(ctx, l)
	loaded.Need, loaded.Digests = s.allOut(loaded.Need), keysOut(loaded.Digests, s.out)
	loaded.Shares = s.pairs(loaded.Shares)
	return loaded, u.note(k, err)
}

// hidden returns the kernel that a hidden key belongs to, and its own key.
func (u *union) hidden(ctx context.Context, key depgraph.Key) (kernel.Kernel, depgraph.Key, error) {
	s, own := key.Cut()
	k, err := u.need(ctx, space(s))
	return k, own, err
}

func (u *union) Hidden(ctx context.Context, key depgraph.Key) ([]byte, error) {
	k, own, err := u.hidden(ctx, key)
	if err != nil {
		return nil, err
	}
	data, err := k.Hidden(ctx, own)
	return data, u.note(k, err)
}

func (u *union) SetHidden(
	ctx context.Context, key depgraph.Key, d state.Digest, pristine bool, data []byte,
) error {
	k, own, err := u.hidden(ctx, key)
	if err != nil {
		return err
	}
	return u.note(k, k.SetHidden(ctx, own, d, pristine, data))
}

// inSpaces calls do for each language that one of the names belongs to, and starts its kernel if need be.
func (u *union) inSpaces(ctx context.Context, names []string, do func(space, kernel.Kernel) error) error {
	spaces := map[space]bool{}
	for _, name := range names {
		spaces[spaceOf(name)] = true
	}
	for _, s := range slices.Sorted(maps.Keys(spaces)) {
		k, err := u.need(ctx, s)
		if err != nil {
			return err
		}
		if err := u.note(k, do(s, k)); err != nil {
			return err
		}
	}
	return nil
}

func (u *union) SetEnviron(
	ctx context.Context, set map[string]*string, first map[string]kernel.FirstImport,
) error {
	names := slices.AppendSeq(slices.Collect(maps.Keys(set)), maps.Keys(first))
	return u.inSpaces(ctx, names, func(s space, k kernel.Kernel) error {
		imports := keysIn(s, first)
		for name, f := range imports {
			f.Environ = keysIn(s, f.Environ)
			imports[name] = f
		}
		return k.SetEnviron(ctx, keysIn(s, set), imports)
	})
}

func (u *union) Import(ctx context.Context, modules []string) error {
	return u.inSpaces(ctx, modules, func(s space, k kernel.Kernel) error { return k.Import(ctx, s.allIn(modules)) })
}

func (u *union) Detach(ctx context.Context, files []string) (paths []string, err error) {
	err = u.each(func(_ space, k kernel.Kernel) error {
		found, err := k.Detach(ctx, files)
		paths = append(paths, found...)
		return err
	})
	return paths, err
}

func (u *union) Flush(ctx context.Context) error {
	return u.each(func(_ space, k kernel.Kernel) error { return k.Flush(ctx) })
}

func (u *union) CloseDisplays(ctx context.Context) error {
	return u.each(func(_ space, k kernel.Kernel) error { return k.CloseDisplays(ctx) })
}

func (u *union) Unload(ctx context.Context, modules []string) (all kernel.Unloaded, err error) {
	err = u.each(func(s space, k kernel.Kernel) error {
		own := s.allIn(modules)
		if len(own) == 0 {
			return nil
		}
		gone, err := k.Unload(ctx, own)
		add(&all, s.unloaded(gone))
		return err
	})
	return all, err
}

func (u *union) Refresh(ctx context.Context) (all kernel.Unloaded, err error) {
	clear(u.parked)
	err = u.each(func(s space, k kernel.Kernel) error {
		gone, err := k.Refresh(ctx)
		add(&all, s.unloaded(gone))
		return err
	})
	return all, err
}

func (u *union) Inspect(ctx context.Context, name string, at *inspect.Place) (kernel.Inspected, error) {
	s := spaceOf(name)
	k, err := u.need(ctx, s)
	if err != nil {
		return kernel.Inspected{}, err
	}
	own, _ := s.in(name)
	found, err := k.Inspect(ctx, own, at)
	return found, u.note(k, err)
}

// Level is that of the interpreter that executed last.
func (u *union) Level() sandbox.Level {
	if u.last != nil {
		return u.last.Level()
	}
	for _, k := range u.kernels {
		return k.Level()
	}
	return ""
}

func (u *union) HasOpen(path string) bool {
	for _, k := range u.kernels {
		if k.HasOpen(path) {
			return true
		}
	}
	return false
}

func (u *union) Listens() bool {
	for _, k := range u.kernels {
		if k.Listens() {
			return true
		}
	}
	return false
}

// Exit says how the interpreter ended that died first.
func (u *union) Exit() string {
	if u.dead == nil {
		return "it was stopped"
	}
	return u.dead.Exit()
}

func (u *union) Groups() (groups []int) {
	for _, s := range slices.Sorted(maps.Keys(u.kernels)) {
		groups = append(groups, u.kernels[s].Groups()...)
	}
	return groups
}

func (u *union) Stop() {
	for _, k := range u.kernels {
		k.Stop()
	}
}

// Unsent puts out what the interpreter printed that executed last.
func (u *union) Unsent(sink kernel.Sink) {
	if u.last != nil {
		u.last.Unsent(sink)
	}
}

func (u *union) Close() {
	for _, k := range u.kernels {
		k.Close()
	}
}

// add adds to what is held no more.
func add(all *kernel.Unloaded, more kernel.Unloaded) {
	all.Stale = all.Stale || more.Stale
	all.Modules, all.Dropped = append(all.Modules, more.Modules...), append(all.Dropped, more.Dropped...)
	all.Classes = append(all.Classes, more.Classes...)
}
