package xstate

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/internal/parents"
	"github.com/xstate-engine/xstate/runner"
	"github.com/xstate-engine/xstate/runner/journal/web"
	"github.com/xstate-engine/xstate/runner/kernel"
	_ "github.com/xstate-engine/xstate/runner/kernel/bash" // a language registers itself
	_ "github.com/xstate-engine/xstate/runner/kernel/node"
	"github.com/xstate-engine/xstate/runner/kernel/python"
	"github.com/xstate-engine/xstate/runner/private"
	"github.com/xstate-engine/xstate/runner/sandbox/policy"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/query"
)

// Types of the packages below that callers of this package use.
type (
	// BlockID names a block in its session. Edits and moves keep it.
	BlockID = state.BlockID
	// StepNumber counts the steps of a session from 1; 0 is the empty session.
	StepNumber = state.StepNumber
	// Digest names content, such as a source text, a value or an output, by its hash.
	Digest = state.Digest
	// Origin records the author of a step: who made it, with what and why.
	Origin = state.Origin
	// Step is one committed event in the history of a session.
	Step = state.Step
	// Error is an error for users: a stable code, a sentence and a hint.
	Error = state.Error
	// Key names something that nodes read or write, such as "var:x" or "file:data.csv".
	Key = depgraph.Key
	// Plan reports what a run would do.
	Plan = runner.Plan
	// Outcome is the outcome of a run.
	Outcome = runner.Outcome
)

// StoreName is the name of a store's directory.
const StoreName = ".xstate"

// Options configures Open. The zero value is the usual choice.
type Options struct {
	State state.Options
	// Templates keeps interpreters that have imported what programs of the store import. Those of later sessions are
	// forked from them, see kernel.Templates. It costs memory, and serves a process that opens many sessions.
	Templates bool
}

// Store is an open store. It is safe for concurrent use. One goroutine at a time may use each of its sessions.
type Store struct {
	state     *state.Store
	readOnly  bool
	templates *kernel.Templates // nil: none are kept
}

// Open opens the store in dir and creates it if there is none. The caller closes it.
func Open(ctx context.Context, dir string, o Options) (*Store, error) {
	s, err := state.Open(ctx, dir, o.State)
	if err != nil {
		return nil, err
	}
	found := &Store{state: s, readOnly: o.State.ReadOnly}
	if o.Templates || kernel.Debugged("templates") {
		found.templates = &kernel.Templates{}
	}
	return found, nil
}

// FindStore returns the nearest store at or above folder; ok is false if there is none.
func FindStore(folder string) (dir string, ok bool) {
	for at := range parents.Up(folder) {
		dir = filepath.Join(at, StoreName)
		if info, err := os.Stat(dir); err == nil && info.IsDir() {
			return dir, true
		}
	}
	return "", false
}

// Close releases the store. The caller closes its sessions first.
func (s *Store) Close() error {
	if s.templates != nil {
		s.templates.Close()
	}
	return s.state.Close()
}

// Trim gives up the memory of Templates that no session uses.
func (s *Store) Trim() {
	if s.templates != nil {
		s.templates.Trim()
	}
}

// State returns the underlying state store, which gives access to every record.
func (s *Store) State() *state.Store { return s.state }

// AnyPython as SessionOptions.Python ignores the interpreter that the session remembers.
const AnyPython = "auto"

// FindPython returns the path of the interpreter for a session's program in folder. It takes the first that is given:
// the argument asked, $XSTATE_PYTHON, the interpreter that the session remembers, or the result of python.Find.
func (s *Store) FindPython(
	ctx context.Context,
	session, asked, folder string,
	environ func(string) string,
) (string, error) {
	remembered := ""
	switch {
	case asked == AnyPython:
		asked = ""
	case asked == "" && environ("XSTATE_PYTHON") == "":
		_, err := s.state.SessionRecord(ctx, session, query.RecordPython, &remembered)
		if err != nil && state.CodeOf(err) != state.CodeNoSession {
			return "", err
		}
		asked = remembered
	}
	// A virtual environment beside a program is that of its private versions, too.
	if v, err := private.Of(ctx, s.state, session); err == nil && v != nil {
		folder = v.Original
	}
	path, err := python.Find(asked, folder, environ)
	if err == nil {
		named := environ("XSTATE_PYTHON") != "" || asked != "" && remembered == ""
		return path, s.interpreters().Check(path, named, "`--python "+path+"`")
	}
	if remembered != "" {
		return "", &Error{
			Code:    python.CodeNotFound,
			Message: fmt.Sprintf("the interpreter that session %q runs with is gone: %s", session, remembered),
			Hint:    "name another with `--python PATH`, or have one chosen with `--python " + AnyPython + "`",
			Err:     err,
		}
	}
	return path, err
}

// interpreters remembers the interpreters that programs in bounds may replace.
func (s *Store) interpreters() *kernel.Interpreters {
	return kernel.InterpretersOf(s.state.Dir(), s.readOnly)
}

// search returns where interpreters are looked for. It notes what the program may write, before it may.
func (s *Store) search(folder string, environ []string, p *policy.Policy) (kernel.Search, error) {
	search := kernel.Search{
		Folder: folder, Environ: p.Environ(environ), Cache: s.state.Dir(), Bounds: p.Bounds(), Known: s.interpreters(),
	}
	if search.Bounds == nil {
		return search, nil
	}
	return search, search.Known.Bound(append([]string{folder}, search.Bounds.Write...), search.Interpreters())
}

// language returns the interpreter of a language for a session. An interpreter of Python may be asked for.
func (s *Store) language(
	ctx context.Context,
	e kernel.Entry,
	session, asked string,
	search kernel.Search,
) (kernel.Language, error) {
	if e.Name != python.Name {
		return e.Find(ctx, search)
	}
	path, err := s.FindPython(ctx, session, asked, search.Folder,
		func(name string) string { return kernel.Getenv(search.Environ, name) })
	if err != nil {
		return nil, err
	}
	return e.Identify(ctx, search, path)
}

// compareEnvirons returns the variables in which two environments differ. ok is false if one of them may matter before
// the program looks at it, to the interpreter or a library: all may but those that change with every command.
func compareEnvirons(was, now []string) (changed map[string]*string, ok bool) {
	changed = map[string]*string{}
	before, after := map[string]string{}, map[string]string{}
	for _, x := range []struct {
		pairs []string
		into  map[string]string
	}{{was, before}, {now, after}} {
		for _, pair := range x.pairs {
			if name, value, ok := strings.Cut(pair, "="); ok && !strings.HasPrefix(name, "XSTATE_") { // xstate's own
				x.into[name] = value
			}
		}
	}
	for name, value := range after {
		if old, found := before[name]; !found || old != value {
			changed[name] = &value
		}
	}
	for name := range before {
		if _, found := after[name]; !found {
			changed[name] = nil
		}
	}
	for name := range changed {
		if !slices.Contains(perCommand, name) {
			return nil, false
		}
	}
	return changed, true
}

// ofShell are variables that a shell sets when it starts.
var ofShell = []string{"_", "PWD", "OLDPWD"}

// perCommand are variables that differ from command to command, and that no interpreter reads when it starts.
var perCommand = []string{"_", "SHLVL", "PWD", "OLDPWD", "COLUMNS", "LINES", "TRACEPARENT", "TRACESTATE"}

// webOf returns what makes calls of the requests of a program; nil where its policy does not record them.
func webOf(p *policy.Policy) (*web.Source, error) {
	if !p.Records() {
		return nil, nil
	}
	key, err := p.Key()
	if err != nil {
		return nil, err
	}
	return web.New(web.Options{Key: key, Tools: p.Calls.Tools, Models: p.Calls.Models}), nil
}

// withDigest returns an invocation with the digest of its standard input.
func withDigest(in *runner.Invocation) (*runner.Invocation, error) {
	if in == nil || in.StdinFile == "" || in.Stdin != "" {
		return in, nil
	}
	f, err := os.Open(in.StdinFile)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return nil, err
	}
	full := *in
	full.Stdin = Digest(hex.EncodeToString(h.Sum(nil)))
	return &full, nil
}

// relatives returns the file records of the other versions of a program in a workspace. A version in another folder, a
// private one, shares with it only what both write outside of their folders.
func (s *Store) relatives(ctx context.Context, name, workspace string) ([]map[string]state.FileRecord, error) {
	family, err := s.state.Family(ctx, name)
	if err != nil {
		return nil, err
	}
	files := map[string]map[string]state.FileRecord{}
	for _, x := range family {
		if files[x.Name], err = query.New(s.state, x, "").Files(ctx); err != nil {
			return nil, err
		}
	}
	var found []map[string]state.FileRecord
	for _, x := range family {
		if x.Name == name {
			continue
		}
		if x.Workspace != workspace {
			maps.DeleteFunc(files[x.Name], func(file string, _ state.FileRecord) bool {
				_, both := files[name][file]
				return !both || !filepath.IsAbs(file)
			})
		}
		found = append(found, files[x.Name])
	}
	return found, nil
}
