package suite

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/state"
)

// collection is which tests there are, and what that depends on. The interpreter, the environment and the arguments
// name it. While all of it is unchanged, the tests need not be collected, and where none is to run, no interpreter
// starts.
//
// It depends on what was executed and read while modules were imported, files collected and hooks called, which comes
// in groups. It depends on what pytest itself looked at (configuration, whether to collect a folder), and on the
// entries of the folders that it listed. No test depends on these, for the result shows what pytest makes of them. And
// it depends on the installed packages. To watch the test files alone would miss a new conftest, a plug-in, and a test
// that exists only if some file does.
type collection struct {
	Runner        string            `json:"runner"`
	Configuration state.Digest      `json:"configuration"`
	Items         []item            `json:"items"`
	Sources       map[string]string `json:"sources"` // executed files, and the packages of their modules
	Reads         []state.Access    `json:"reads"`
	Folders       []string          `json:"folders"`  // the folders where packages are looked for
	Packages      state.Digest      `json:"packages"` // what is installed there
}

const (
	spaceFolder      = "folder" // entries with their sort
	spaceCollections = "collections"
)

// errNoProcess reports that only an interpreter can answer.
var errNoProcess = errors.New("no interpreter runs")

func (s *Suite) collectionKey(o Options) string {
	text := fmt.Sprintf("collection 1\nengine %s\ninterpreter %s\npath %q\nfolder %q\nargs %q\nchoose %q\npaths %q\n",
		s.cfg.Language.Semantics(), s.python, s.cfg.Language.Command(), s.cfg.Workspace, o.Args, o.Choose, o.Paths)
	for _, name := range slices.Sorted(maps.Keys(s.environ)) {
		text += fmt.Sprintf("environment %q %q\n", name, s.environ[name])
	}
	return string(state.DigestOf([]byte(text)))
}

// keepCollection stores the collection, if it is repeatable. One with errors is collected again.
func (p *suiteProcess) keepCollection(e *suiteEvent) error {
	s := p.s
	if !e.Repeatable || len(e.Errors) > 0 {
		return nil
	}
	c := collection{
		Runner:        e.Runner,
		Configuration: e.Configuration,
		Items:         e.Items,
		Sources:       p.packages,
		Folders:       e.Folders,
		Packages:      installed(e.Folders),
	}
	found := map[depgraph.Key]state.Digest{}
	for _, g := range p.groups {
		if unseen(g.Marks) != "" {
			return nil
		}
		for _, a := range g.reads {
			found[a.Key] = a.Digest
		}
	}
	for _, path := range e.Looked {
		found[s.baseState.FileKey(path)] = s.baseState.Get(s.baseState.FileKey(path))
	}
	for _, path := range e.Listed {
		found[depgraph.Key(spaceFolder+":"+s.baseState.Short(path))] = s.entries(s.baseState.Short(path))
	}
	for k, d := range found {
		c.Reads = append(c.Reads, state.Access{Key: k, Digest: d})
	}
	sortReads(c.Reads)
	data, err := json.Marshal(c)
	if err != nil {
		return err
	}
	return s.cfg.Store.PutMemo(spaceCollections, s.collectionKey(p.o), data)
}

// changed reports whether tests have to run or to be collected again. If not, it sets the outcome of each.
func (s *Suite) changed(o Options, out *Outcome) (bool, error) {
	if o.All {
		return true, nil
	}
	s.baseState.Begin()
	c := s.collected(o)
	if c == nil {
		return true, nil
	}
	p := newSuiteProcess(s, o, out)
	p.items, s.conf, out.Runner = c.Items, c.Configuration, c.Runner
	run, err := p.choose()
	if errors.Is(err, errNoProcess) || err == nil && len(run) > 0 {
		clear(s.done)
		return true, nil
	}
	return false, err
}

// collected returns the stored collection, or nil if it is not valid.
func (s *Suite) collected(o Options) *collection {
	data, ok := s.cfg.Store.Memo(spaceCollections, s.collectionKey(o))
	c := &collection{}
	if !ok || json.Unmarshal(data, c) != nil || installed(c.Folders) != c.Packages {
		return nil
	}
	s.conf = c.Configuration
	for file, pkg := range c.Sources {
		if s.sources[file] = s.units(s.baseState.OnDisk(file), pkg); s.sources[file] == nil {
			return nil
		}
	}
	for _, a := range c.Reads {
		if s.now(a.Key) != a.Digest {
			return nil
		}
	}
	return c
}

// entries digests what a folder lists, with the type of each entry. Caches of pytest, Python and xstate do not count.
func (s *Suite) entries(name string) state.Digest {
	list, err := os.ReadDir(s.baseState.Path(name))
	if err != nil {
		return state.Absent
	}
	var text strings.Builder
	for _, e := range list {
		if n := e.Name(); n != ".xstate" && n != "__pycache__" && n != ".pytest_cache" {
			sort := e.Type()
			if info, err := os.Stat(filepath.Join(s.baseState.Path(name), n)); err == nil && sort&fs.ModeSymlink != 0 {
				sort |= info.Mode().Type()
			}
			fmt.Fprintf(&text, "%q %s\n", n, sort)
		}
	}
	return state.DigestOf([]byte(text.String()))
}

// installed digests the packages in folders. Any that is added, upgraded or reinstalled may hook into the collection.
func installed(folders []string) state.Digest {
	var text strings.Builder
	for _, folder := range folders {
		list, err := os.ReadDir(folder)
		fmt.Fprintf(&text, "%q %t\n", folder, err == nil)
		for _, e := range list {
			switch filepath.Ext(e.Name()) {
			case ".dist-info", ".egg-info", ".egg-link", ".pth":
				if info, err := e.Info(); err == nil {
					fmt.Fprintf(&text, "%q %d\n", e.Name(), info.ModTime().UnixNano())
				}
			}
		}
	}
	return state.DigestOf([]byte(text.String()))
}
