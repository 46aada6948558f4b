package artifact

import (
	"context"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/depgraph/languages"
	"github.com/xstate-engine/xstate/internal/lang"
	"github.com/xstate-engine/xstate/patch"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/query"
)

// ReferenceView is a place in docs that mentions a definition, and whether the text is still right.
type ReferenceView struct {
	state.Reference
	Status ReferenceStatus  `json:"status"`
	Now    string           `json:"now,omitempty"`   // the signature, if it differs
	Since  state.StepNumber `json:"since,omitempty"` // the edit that made it stale; 0 where that was no edit of a block
}

// ReferenceStatus says whether a mentioned definition is as it was when the text was declared.
type ReferenceStatus string

const (
	ReferenceFresh     ReferenceStatus = "fresh"
	ReferenceSignature ReferenceStatus = "signature" // its parameters changed
	ReferenceVanished  ReferenceStatus = "vanished"
)

// spoken matches inline code that may mean a definition of the program: a dotted name, perhaps called.
var spoken = regexp.MustCompile(`^([\pL_][\pL\pN_]*(?:\.[\pL_][\pL\pN_]*)*)(\(.*\))?$`)

// references are the definitions that the present texts of docs mention.
func references(
	ctx context.Context,
	h *query.History,
	a *state.Artifact,
	snap *query.Snapshot,
	declared *state.Declaration,
) ([]state.Reference, error) {
	if a.Kind != state.ArtifactDocs {
		return nil, nil
	}
	views, err := referencesAt(
		ctx,
		h,
		a,
		&assessment{folder: h.Workspace(), Snapshot: snap, Declared: declared, Latest: true},
	)
	if err != nil {
		return nil, err
	}
	var refs []state.Reference
	for _, v := range views {
		refs = append(refs, v.Reference)
	}
	return refs, nil
}

// referencesAt compares the definitions that docs mention with their present ones. At the last step it reads the files
// on disk; at earlier steps, the declared texts. A reference that was not declared is compared with the present
// definition, and so is never stale.
func referencesAt(ctx context.Context, h *query.History, a *state.Artifact, m *assessment) ([]ReferenceView, error) {
	l := newLexicon(m)
	then := map[string]state.Reference{}
	for _, r := range a.References {
		then[r.Name] = r
	}
	found := []ReferenceView{}
	for _, text := range docTexts(h, a, m) {
		for _, span := range patch.CodeSpans(text.markdown) {
			parts := spoken.FindStringSubmatch(span.Text)
			if parts == nil {
				continue
			}
			r := state.Reference{File: text.name, Line: span.Line, Text: span.Text, Name: parts[1]}
			was, known := then[r.Name]
			where, signature, defined := l.find(r.Name)
			if !known && (!defined || signature == "" && parts[2] == "") {
				continue // a word, an option, the name of a file, something of a library
			}
			r.Where, r.Signature = where, signature
			if known {
				r.Where, r.Signature = was.Where, was.Signature
			}
			found = append(found, referenceView(r, signature))
		}
	}
	if !m.Latest {
		for _, r := range a.References {
			if !isBlockText(r.File) {
				_, signature, _ := l.find(r.Name)
				if InFile(r.Where) {
					signature = r.Signature // what files held between steps is not recorded
				}
				found = append(found, referenceView(r, signature))
			}
		}
	}
	for i := range found {
		if err := since(ctx, h, &found[i], a, m); err != nil {
			return nil, err
		}
	}
	return found, nil
}

func referenceView(r state.Reference, now string) ReferenceView {
	v := ReferenceView{Reference: r, Status: ReferenceFresh}
	switch {
	case now == "":
		v.Status = ReferenceVanished
	case now != r.Signature:
		v.Status, v.Now = ReferenceSignature, now
	}
	return v
}

var markdownEndings = []string{".md", ".markdown"}

// docText is a text of docs, as Markdown.
type docText struct {
	name     string // the path of a file, or "block:" and a block
	markdown []byte
}

const BlockText = "block:"

func isBlockText(name string) bool { return strings.HasPrefix(name, BlockText) }

// InFile reports whether something is defined in a file. Otherwise it is defined in a block, whose id has no such
// suffix.
func InFile(where string) bool {
	_, source := patch.FileDialect(where, nil)
	return source
}

// docTexts are the texts of the blocks of docs and, at the last step, of its files.
func docTexts(h *query.History, a *state.Artifact, m *assessment) []docText {
	var all []docText
	for _, id := range a.Blocks {
		if b, err := m.Snapshot.Block(id); err == nil {
			all = append(all, docText{BlockText + string(id), patch.Prose([]byte(b.Source), string(b.Dialect))})
		}
	}
	for _, f := range a.Files {
		data, err := readIn(h.Workspace(), f.Path)
		if !m.Latest || err != nil {
			continue // one that is gone makes its artifact fail
		}
		dialect, source := patch.FileDialect(f.Path, data)
		switch ending := filepath.Ext(f.Path); {
		case slices.Contains(markdownEndings, ending):
			all = append(all, docText{f.Path, data})
		case source:
			all = append(all, docText{f.Path, patch.Prose(data, dialect)})
		case ending == ".ipynb":
			all = append(all, docText{f.Path, patch.NotebookProse(data)})
		}
	}
	return all
}

// since finds the edit that made a reference stale: the last edit that changed the definition of its name.
func since(ctx context.Context, h *query.History, v *ReferenceView, a *state.Artifact, m *assessment) error {
	if v.Status == ReferenceFresh || InFile(v.Where) {
		return nil
	}
	for step, err := range h.Ancestors(ctx, m.Snapshot.Step.Number) {
		if err != nil {
			return err
		}
		if step.Number <= a.Declared {
			return nil
		}
		if !query.IsEdit(step.Kind) || step.Was == step.Now {
			continue
		}
		was, err := defined(ctx, h, step.Was, v.Name)
		if err != nil {
			return err
		}
		now, err := defined(ctx, h, step.Now, v.Name)
		if err != nil {
			return err
		}
		if was != now {
			v.Since = step.Number
			return nil
		}
	}
	return nil
}

// defined returns the signature that a version of a block gives a name, or "".
func defined(ctx context.Context, h *query.History, version state.Digest, name string) (string, error) {
	text, err := h.Source(ctx, version)
	if err != nil {
		return "", err
	}
	signatures := map[string]string{} // empty for a text that does not parse: it defines nothing
	for _, dialect := range lang.Dialects() {
		// A version does not say its dialect. Most texts parse in one language only.
		if outline, err := languages.Outline([]byte(text), dialect); err == nil {
			signatures = signaturesOf(outline)
			break
		}
	}
	if signature := signatures[name]; signature != "" {
		return signature, nil
	}
	first, _, _ := strings.Cut(name, ".")
	return signatures[first], nil
}

func signaturesOf(o *depgraph.Outline) map[string]string {
	found := map[string]string{}
	for _, d := range o.Definitions {
		found[d.Name] = d.Signature
	}
	return found
}

// lexicon resolves names in a program and in the modules of its workspace. A search for the words would also find them
// in strings and comments.
type lexicon struct {
	folder   string
	blocks   map[string]lexeme
	imported map[string]string            // name → the module that the program takes it from
	renamed  map[string]string            // name → what the program imports under it
	modules  map[string]map[string]string // path → name → signature; nil if the file is missing
	files    []string                     // whose definitions are meant without the name of a module
}

type lexeme struct{ where, signature string }

func newLexicon(m *assessment) *lexicon {
	l := &lexicon{
		folder:   m.folder,
		blocks:   map[string]lexeme{},
		imported: map[string]string{},
		renamed:  map[string]string{},
		modules:  map[string]map[string]string{},
	}
	for i := range m.Snapshot.Blocks {
		b := &m.Snapshot.Blocks[i]
		outline, err := languages.Outline([]byte(b.Source), b.Dialect)
		if err != nil {
			continue
		}
		for _, d := range outline.Definitions {
			l.blocks[d.Name] = lexeme{string(b.ID), d.Signature}
			delete(l.imported, d.Name)
			delete(l.renamed, d.Name)
		}
		facts, err := languages.Analyze([]byte(b.Source), b.Dialect)
		if err != nil {
			continue
		}
		for _, n := range facts.Nodes {
			if name, meant := renames(&n); name != "" {
				l.renamed[name] = meant
				continue
			}
			for _, imp := range n.Imports {
				for _, name := range imp.Names {
					if imp.Level == 0 && !imp.Later {
						l.imported[name] = imp.Module
					}
				}
			}
		}
	}
	for _, a := range m.artifacts() {
		for _, f := range a.Files {
			if a.Kind == state.ArtifactCode && InFile(f.Path) {
				l.files = query.AppendNew(l.files, f.Path)
			}
		}
	}
	return l
}

// renames returns the name under which a node imports something else, and what that is: import numpy as np, from utils
// import clean as c.
func renames(n *depgraph.Node) (name, meant string) {
	if len(n.Imports) != 1 || len(n.Defines) != 1 {
		return "", ""
	}
	imp := n.Imports[0]
	switch {
	case imp.Level > 0 || imp.Later || len(imp.Names) > 1:
		return "", ""
	case len(imp.Names) == 1:
		meant = imp.Module + "." + imp.Names[0]
		if imp.Names[0] == n.Defines[0] || imp.Names[0] == "*" {
			return "", ""
		}
	default:
		meant = imp.Module
		if first, _, _ := strings.Cut(meant, "."); first == n.Defines[0] {
			return "", ""
		}
	}
	return n.Defines[0], meant
}

// find returns the definition of a dotted name. If a text names something that a module of the workspace lacks, find
// reports it as defined with no signature, so that the reference fails.
func (l *lexicon) find(name string) (where, signature string, defined bool) {
	first, _, _ := strings.Cut(name, ".")
	if meant := l.renamed[first]; meant != "" {
		if where, signature, defined := l.findAs(meant + name[len(first):]); defined {
			return where, signature, defined
		}
	}
	return l.findAs(name)
}

func (l *lexicon) findAs(name string) (where, signature string, defined bool) {
	first, rest, dotted := strings.Cut(name, ".")
	if module := l.imported[first]; module != "" {
		if path, names := l.module(module); names != nil {
			return path, names[name], true
		}
	}
	if x, ok := l.blocks[name]; ok {
		return x.where, x.signature, true
	}
	for at := len(name); dotted && at > 0; {
		if at = strings.LastIndexByte(name[:at], '.'); at > 0 {
			if path, names := l.module(name[:at]); names != nil {
				return path, names[name[at+1:]], true
			}
		}
	}
	for _, path := range l.files {
		if signature := l.file(path)[name]; signature != "" {
			return path, signature, true
		}
	}
	if x, ok := l.blocks[first]; ok && rest != "" && x.signature == first {
		return x.where, x.signature, true // something of a variable's value
	}
	return "", "", false
}

// module returns the definitions of a module of the workspace; nil if the module does not exist.
func (l *lexicon) module(name string) (path string, names map[string]string) {
	base := strings.ReplaceAll(name, ".", "/")
	for _, path := range []string{base + ".py", base + "/__init__.py", "src/" + base + ".py",
		"src/" + base + "/__init__.py"} {
		if names := l.file(path); names != nil {
			return path, names
		}
	}
	return "", nil
}

// outlineOf returns the outline of a source file.
func outlineOf(path string, data []byte) (*depgraph.Outline, error) {
	dialect, _ := patch.FileDialect(path, data)
	return languages.Outline(data, depgraph.Dialect(dialect))
}

func (l *lexicon) file(path string) map[string]string {
	names, known := l.modules[path]
	if known {
		return names
	}
	if data, err := readIn(l.folder, path); err == nil {
		names = map[string]string{}
		if outline, err := outlineOf(path, data); err == nil {
			names = signaturesOf(outline)
		}
	}
	l.modules[path] = names
	return names
}
