package kernel

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Templates keeps interpreters that have imported what programs import, and wait. New interpreters are forked from them
// in a hundredth of the time that a start and the imports take. The zero value is ready for use.
//
// # The invariant
//
// A forked interpreter is as one that was started with the same options and then imported the same modules, by
// SetEnviron and Import. So a template serves only launches with its key, in which is all that its start and its
// imports depend on: the options, the environment, and the traces of the nodes that imported the modules first. The
// engine gives the key of a launch only while what these traces read is as it was.
//
// An interpreter with state that a fork does not copy cannot be a template: other threads, children, open files.
//
// # Memory
//
// A fork shares the memory of its template until one of them writes there. A template without forks is ended when
// another one needs its room, by Trim, and by Close. One with forks ends after the last of them.
type Templates struct {
	mu     sync.Mutex
	all    []*Template      // the last used last
	known  map[string]known // keys that have no template
	making sync.WaitGroup
	ctx    context.Context // of the making; Close cancels it by stop
	stop   context.CancelFunc
	closed bool
}

// known is why a key has no template.
type known int

const (
	knownOnce   known = iota + 1 // one launch had it
	knownMaking                  // it is being made
	knownUnfit                   // an interpreter that has imported this is none
)

// mostTemplates bounds how many templates there are: each takes the memory of an interpreter.
const mostTemplates = 3

// Template is an interpreter that waits.
type Template struct {
	key     string
	process *Process
	door    *os.File // on which it takes requests
	drop    func()   // removes its spool
	// installed are the files and folders by which an interpreter chooses, when it starts, what there is to import
	installed map[string]stamp
	// names are modules that it has imported, or looked for. If one is in a folder now, it would be found there first.
	names, folders []string
	own            bool   // an import has looked at what only launches with the same request have
	request        string // the options of the launch that it was made for, with those specific to a fork
	forks          int    // that run; guarded by Templates.mu, like the next one
	retired        bool   // it serves no more launches
}

// Ahead is what the program of a launch has imported before the node that the interpreter is started for.
type Ahead struct {
	Templates *Templates
	Key       string   // what the imports depend on
	Modules   []string // in the order of their imports
	// Set and First are given to SetEnviron before the modules are imported.
	Set   map[string]*string
	First map[string]FirstImport
	// Spool makes a folder for the output of a template. drop removes it.
	Spool func() (path string, drop func(), err error)
	// Wait says that the launch waits for a template that there is not yet. Others start by themselves meanwhile.
	Wait bool
}

// Maker starts the process that becomes a template, with a spool and the socket for its requests.
type Maker func(ctx context.Context, spool string, door *os.File) (*Process, error)

// Fork returns the process of a command that was forked from a template with the key of a, the options and the
// environment. It is nil where the interpreter is to start by itself. request are the options with what a fork sets for
// itself, such as arguments.
func (a *Ahead) Fork(ctx context.Context, options, request string, c Command, start Maker) *Process {
	if a == nil || c.Sandbox == nil || c.Sandbox.Bounds != nil || c.Sandbox.Observe != "" || c.Recording != nil {
		return nil
	}
	key := fmt.Sprintf("%s %s %q", a.Key, options, c.Environ)
	t := a.Templates.take(ctx, a, &Template{key: key, request: request}, c.Environ, start)
	if t == nil {
		return nil
	}
	c.From = t.door
	p, err := StartProcess(ctx, c)
	if err != nil {
		if ctx.Err() != nil {
			err = nil // the template is not at fault
		}
		a.Templates.leave(t, err)
		return nil
	}
	go func() {
		<-p.waited
		a.Templates.leave(t, nil)
	}()
	return p
}

// take returns the template with the key of next, and counts a fork of it. If there is none, it has next made.
func (ts *Templates) take(ctx context.Context, a *Ahead, next *Template, environ []string, start Maker) *Template {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if t, ok := ts.find(next); ok {
		return t
	}
	if ts.known == nil {
		ts.known = map[string]known{}
		ts.ctx, ts.stop = context.WithCancel(context.Background())
	}
	was := ts.known[next.key]
	if was == 0 && len(a.Modules) == 0 && !a.Wait { // to fork would save little: it may be the only one
		ts.known[next.key] = knownOnce
		return nil
	}
	if was > knownOnce || !ts.makeRoom() {
		return nil
	}
	ts.known[next.key] = knownMaking
	back := map[string]*string{}
	for name := range a.Set {
		back[name] = nil
		for _, line := range environ {
			if value, ok := strings.CutPrefix(line, name+"="); ok {
				back[name] = &value
			}
		}
	}
	made := make(chan struct{})
	ts.making.Go(func() {
		defer close(made)
		ts.made(next, next.make(ts.ctx, a, back, start))
	})
	if !a.Wait {
		return nil
	}
	ts.mu.Unlock()
	select {
	case <-made:
	case <-ctx.Done():
	}
	ts.mu.Lock()
	t, _ := ts.find(next)
	return t
}

// find returns the template with the key of like, and counts a fork of it. ok: there is one, though it is nil if that
// does not serve the request.
func (ts *Templates) find(like *Template) (t *Template, ok bool) {
	i := slices.IndexFunc(ts.all, func(t *Template) bool { return t.key == like.key })
	if i < 0 || ts.closed {
		return nil, ts.closed
	}
	t = ts.all[i]
	if t.own && t.request != like.request || t.shadowed() {
		return nil, true
	}
	if t.stale() {
		ts.retire(t)
		return nil, false
	}
	ts.all = append(slices.Delete(ts.all, i, i+1), t)
	t.forks++
	return t, true
}

// makeRoom ends templates without forks until there is room for another one, and reports whether there is.
func (ts *Templates) makeRoom() bool {
	making := 0
	for _, why := range ts.known {
		if why == knownMaking {
			making++
		}
	}
	for len(ts.all)+making >= mostTemplates {
		i := slices.IndexFunc(ts.all, func(t *Template) bool { return t.forks == 0 })
		if i < 0 {
			return false
		}
		ts.retire(ts.all[i])
	}
	return true
}

// made keeps a template that was made, or notes that there can be none.
func (ts *Templates) made(t *Template, err error) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	delete(ts.known, t.key)
	if err == nil && !ts.closed {
		ts.all = append(ts.all, t)
		go ts.follow(t)
		return
	}
	if !errors.Is(err, errChanging) {
		ts.known[t.key] = knownUnfit
	}
	t.end()
}

// follow retires a template that has ended by itself.
func (ts *Templates) follow(t *Template) {
	<-t.process.waited
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if slices.Contains(ts.all, t) {
		ts.retire(t)
	}
}

// retire lets a template serve no more launches.
func (ts *Templates) retire(t *Template) {
	ts.all = slices.DeleteFunc(ts.all, func(other *Template) bool { return other == t })
	if t.retired = true; t.forks == 0 {
		t.end()
	}
}

// leave counts a fork that has ended, or did not begin.
func (ts *Templates) leave(t *Template, err error) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if errors.Is(err, errors.ErrUnsupported) {
		ts.known[t.key] = knownUnfit
	}
	t.forks--
	switch {
	case err != nil && !t.retired:
		ts.retire(t)
	case t.forks == 0 && (t.retired || ts.closed):
		t.end()
	}
}

// Trim ends the templates that have no forks.
func (ts *Templates) Trim() {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	for _, t := range slices.Clone(ts.all) {
		if t.forks == 0 {
			ts.retire(t)
		}
	}
}

// Close ends the templates.
func (ts *Templates) Close() {
	ts.mu.Lock()
	if ts.closed = true; ts.stop != nil {
		ts.stop()
	}
	ts.mu.Unlock()
	ts.making.Wait()
	ts.Trim()
}

// make starts the interpreter of a template, and has it import what a says. back are the variables as they were.
func (t *Template) make(ctx context.Context, a *Ahead, back map[string]*string, start Maker) error {
	began := time.Now()
	spool, drop, err := a.Spool()
	if err != nil {
		return err
	}
	t.drop = drop
	pair, err := socketPair(syscall.SOCK_SEQPACKET)
	if err != nil {
		return err
	}
	t.door = os.NewFile(uintptr(pair[0]), "door")
	theirs := os.NewFile(uintptr(pair[1]), "door")
	defer theirs.Close()
	if t.process, err = start(ctx, spool, theirs); err != nil {
		return err
	}
	d := NewDriven(t.process, Command{})
	if len(a.Set)+len(a.First) > 0 {
		err = d.SetEnviron(ctx, a.Set, a.First)
	}
	if err == nil && len(a.Modules) > 0 {
		err = d.Import(ctx, a.Modules)
	}
	if err == nil && len(back) > 0 {
		err = d.SetEnviron(ctx, back, nil)
	}
	if err != nil {
		return err
	}
	var reply struct {
		Able, Own             bool
		Paths, Names, Folders []string
	}
	_, err = d.Request(ctx, map[string]string{"op": "template"}, nil, &reply, Events{})
	if err == nil && !reply.Able {
		err = fmt.Errorf("an interpreter that imported %q is no template", a.Modules)
	}
	t.names, t.folders, t.own = reply.Names, reply.Folders, reply.Own
	t.installed = map[string]stamp{}
	for _, path := range reply.Paths {
		t.installed[path] = stampOf(path)
		if t.installed[path].changed > began.Add(-stampPrecision).UnixNano() {
			err = errors.Join(err, errChanging)
		}
	}
	return err
}

// errChanging says that something was installed while a template was made, or just before.
var errChanging = errors.New("what is installed changes")

// stampPrecision is how far the time of a file may lie before that of its change.
const stampPrecision = 50 * time.Millisecond

// stamp is the state of a file or folder; zero: there is none.
type stamp struct {
	inode   uint64
	size    int64
	changed int64 // nanoseconds
}

func stampOf(path string) (found stamp) {
	var st unix.Stat_t
	if unix.Stat(path, &st) == nil {
		found = stamp{st.Ino, st.Size, st.Ctim.Nano()}
	}
	return found
}

// shadowed reports whether an interpreter that starts now may find another module in the place of one.
func (t *Template) shadowed() bool {
	for _, folder := range t.folders {
		entries, _ := os.ReadDir(folder) // what cannot be listed shadows nothing
		for _, e := range entries {
			name, _, _ := strings.Cut(e.Name(), ".")
			if _, found := slices.BinarySearch(t.names, name); found {
				return true
			}
		}
	}
	return false
}

// stale reports whether an interpreter that starts now may find other modules.
func (t *Template) stale() bool {
	for path, was := range t.installed {
		if stampOf(path) != was {
			return true
		}
	}
	return false
}

// end ends a template. It has no forks.
func (t *Template) end() {
	if t.door != nil {
		t.door.Close()
	}
	if t.process != nil {
		t.process.Close()
	}
	if t.drop != nil {
		t.drop()
	}
}
