package runner

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

// collection is which tests there are, and what that rests on. It is found again by the interpreter, the environment as a whole, and the
// arguments. While all of it holds, the tests need not be collected, and where none of them is to run, no interpreter starts.
//
// It rests on what was executed and read while modules were imported, files collected and hooks called, which is told in groups; on
// what the runner looked at itself (configuration, whether a folder is to be collected) and on the entries of folders that it listed,
// which no test rests on, for what the runner makes of them is known by its result; and on the packages that are installed.
type collection struct {
	Runner        string            `json:"runner"`
	Configuration state.Digest      `json:"configuration"`
	Items         []item            `json:"items"`
	Sources       map[string]string `json:"sources"` // files that were executed, and the packages that they are modules of
	Reads         []state.Access    `json:"reads"`
	Folders       []string          `json:"folders"`  // where packages are looked for
	Packages      state.Digest      `json:"packages"` // what is installed there
}

const (
	spaceFolder      = "folder" // entries with their sort
	spaceCollections = "collections"
)

// errNoProcess says that something can be found out by an interpreter alone.
var errNoProcess = errors.New("no interpreter runs")

func (s *Suite) collectionKey(o SuiteOptions) string {
	text := fmt.Sprintf("collection 1\nengine %s\ninterpreter %s\npath %q\nfolder %q\nargs %q\nchoose %q\npaths %q\n", s.cfg.Language.Semantics(), s.python, s.cfg.Language.Command(), s.cfg.Workspace, o.Args, o.Choose, o.Paths)
	for _, name := range slices.Sorted(maps.Keys(s.environ)) {
		text += fmt.Sprintf("environment %q %q\n", name, s.environ[name])
	}
	return string(state.DigestOf([]byte(text)))
}

// keepCollection keeps what was collected, if it would be the same next time. What failed is collected again.
func (p *suiteProcess) keepCollection(e *suiteEvent) error {
	s := p.s
	if !e.Repeatable || len(e.Errors) > 0 {
		return nil
	}
	c := collection{Runner: e.Runner, Configuration: e.Configuration, Items: e.Items, Sources: p.packages, Folders: e.Folders, Packages: installed(e.Folders)}
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
		found[s.world.fileKey(path)] = s.world.get(s.world.fileKey(path))
	}
	for _, path := range e.Listed {
		found[depgraph.Key(spaceFolder+":"+s.world.short(path))] = s.entries(s.world.short(path))
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

// changed reports whether tests are to run or to be collected anew. If not, it says what became of each.
func (s *Suite) changed(o SuiteOptions, out *SuiteOutcome) (bool, error) {
	if o.All {
		return true, nil
	}
	s.world.begin()
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

// collected returns what was collected before, nil unless it holds.
func (s *Suite) collected(o SuiteOptions) *collection {
	data, ok := s.cfg.Store.Memo(spaceCollections, s.collectionKey(o))
	c := &collection{}
	if !ok || json.Unmarshal(data, c) != nil || installed(c.Folders) != c.Packages {
		return nil
	}
	s.conf = c.Configuration
	for file, pkg := range c.Sources {
		if s.sources[file] = s.units(s.world.onDisk(file), pkg); s.sources[file] == nil {
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

// entries are what a folder lists, and of which sort each is, but for what those who run tests keep there.
func (s *Suite) entries(name string) state.Digest {
	list, err := os.ReadDir(s.world.path(name))
	if err != nil {
		return state.Absent
	}
	var text strings.Builder
	for _, e := range list {
		if n := e.Name(); n != ".xstate" && n != "__pycache__" && n != ".pytest_cache" {
			sort := e.Type()
			if info, err := os.Stat(filepath.Join(s.world.path(name), n)); err == nil && sort&fs.ModeSymlink != 0 {
				sort |= info.Mode().Type()
			}
			fmt.Fprintf(&text, "%q %s\n", n, sort)
		}
	}
	return state.DigestOf([]byte(text.String()))
}

// installed names the packages in folders: whatever is added, upgraded or made anew may hook into what collects tests.
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
