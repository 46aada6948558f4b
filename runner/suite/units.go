package suite

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/state"
)

// cut serves the process, which is about to execute a source file. It sends the units of the file if it has them, and
// receives them otherwise.
func (p *suiteProcess) cut(e *suiteEvent) error {
	src, err := p.cutWith(e.Digest, e.Package, func(known *source) error { return p.k.Send(known) })
	if err != nil {
		return err
	}
	name := p.s.baseState.Short(e.Path)
	p.s.sources[name], p.packages[name] = src, e.Package
	for _, unit := range slices.Sorted(maps.Keys(src.Units)) {
		p.units = append(p.units, src.part(name, unit))
	}
	return nil
}

func (p *suiteProcess) cutWith(digest state.Digest, pkg string, ask func(*source) error) (src *source, err error) {
	defer func() {
		if err == nil {
			src.content = digest
		}
	}()
	if src = p.s.units(digest, pkg); src != nil {
		return src, ask(src)
	}
	src = &source{}
	if err := ask(&source{}); err != nil {
		return nil, err
	}
	text, err := p.k.Receive()
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, src); err != nil {
		return nil, fmt.Errorf("units of a source: %w", err)
	}
	var kept bytes.Buffer
	if err := json.NewEncoder(&kept).Encode(src); err != nil {
		return nil, err
	}
	_ = p.s.cfg.Store.PutMemo("units", p.s.unitsKey(digest, pkg), kept.Bytes()) // a failed write costs time only
	return src, nil
}

func (s *Suite) unitsKey(digest state.Digest, pkg string) string {
	return fmt.Sprintf("%s %s %s %q", s.cfg.Language.Semantics(), s.python, digest, pkg)
}

// units returns the units of a text of a module in pkg, or nil where the cache has none.
func (s *Suite) units(digest state.Digest, pkg string) *source {
	src := &source{content: digest}
	if data, ok := s.cfg.Store.Memo("units", s.unitsKey(digest, pkg)); ok && json.Unmarshal(data, src) == nil &&
		src.Units != nil {
		return src
	}
	return nil
}

// source is a file cut into units, see kernel/python/xstate_kernel/suite/units.py.
type source struct {
	Units   map[string]unitOf   `json:"units"`
	Imports map[string][]string `json:"imports"`
	Quiet   bool                `json:"quiet"`

	content state.Digest // the file's
}

func (s *source) part(file, unit string) CodePart {
	u := s.Units[unit]
	return CodePart{File: file, Name: unit, Version: u.Digest, From: u.From, To: u.To, Content: s.content}
}

// unitOf is written as a list: digest, first line, last line, lines of its statements.
type unitOf struct {
	Digest   state.Digest
	From, To int
	Starts   string // numbers in order, counted from From
}

func (u *unitOf) UnmarshalJSON(data []byte) error {
	return json.Unmarshal(data, &[]any{&u.Digest, &u.From, &u.To, &u.Starts})
}

func (u unitOf) MarshalJSON() ([]byte, error) {
	return json.Marshal([]any{u.Digest, u.From, u.To, u.Starts})
}

// key returns the key of the part.
func (c CodePart) key() depgraph.Key {
	if c.Name == "" {
		return depgraph.Key("code:" + c.File)
	}
	return depgraph.Key("code:" + c.File + "::" + c.Name)
}
