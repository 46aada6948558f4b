package suite

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/runner/basestate"
	"github.com/xstate-engine/xstate/state"
)

// Spaces of keys that name, by digest, reads that many traces share.
const (
	spaceGroup   = "group"
	spaceFixture = "fixture"
)

// report is what the driver reports of a test or a group.
type report struct {
	Units  []int              `json:"units"`
	Groups []int              `json:"groups"`
	Files  map[string]*string `json:"files"` // the digest before a write, "presence", or nil for the present content
	Texts  []string           `json:"texts"`
	Lines  []lineRead         `json:"lines"`
	Dirs   []string           `json:"dirs"`
	Env    []string           `json:"env"`
	Modes  []string           `json:"modes"`
	Absent []string           `json:"absent"`
	Marks  []string           `json:"marks"`

	Fixture bool `json:"fixture"` // for a group: a test that has it executed the fixture

	Hit []hitLines `json:"hit"`

	Outcome string   `json:"outcome"`
	Seconds float64  `json:"seconds"`
	Message string   `json:"message"`
	Text    string   `json:"text"`
	After   []int    `json:"after"` // tests that left something that this one read
	Leaves  []string `json:"leaves"`

	reads []state.Access // without groups and earlier tests
}

// report decodes a report. It digests the files at once, for a later test may write to them.
func (p *suiteProcess) report(text json.RawMessage) (*report, error) {
	r := &report{}
	if err := json.Unmarshal(text, r); err != nil {
		return nil, fmt.Errorf("what a test read: %w", err)
	}
	w, found := p.s.baseState, map[depgraph.Key]state.Digest{}
	for _, n := range r.Units {
		found[p.units[n].key()] = p.units[n].Version
	}
	for _, h := range r.Hit {
		if p.units[h.Unit].Name == "" {
			p.add(p.levels, h)
		}
	}
	for path, how := range r.Files {
		k := w.FileKey(path)
		switch {
		case how == nil:
			found[k] = w.Get(k)
		case *how == "presence":
			k = depgraph.Key("there:" + k.Name())
			found[k] = p.s.now(k)
		default:
			found[k] = state.Digest(*how)
		}
	}
	for _, path := range slices.Concat(r.Texts, r.Absent) {
		found[w.FileKey(path)] = w.Get(w.FileKey(path))
	}
	for _, l := range r.Lines {
		k := depgraph.Key("at:" + p.s.unitAt(w.Short(l.Path), l.Line))
		found[k] = p.s.now(k)
	}
	for _, path := range r.Dirs {
		k := depgraph.Key("dir:" + w.Short(path))
		found[k] = w.Get(k)
	}
	for _, path := range r.Modes {
		k := depgraph.Key("mode:" + w.Short(path))
		found[k] = w.Get(k)
	}
	for _, name := range r.Env {
		name = strings.TrimPrefix(name, "=")
		if name == "+" {
			name = "*"
		}
		k := depgraph.Key("env:" + name)
		found[k] = w.Get(k)
	}
	for k, d := range found {
		r.reads = append(r.reads, state.Access{Key: k, Digest: d})
	}
	sortReads(r.reads)
	return r, nil
}

// lineRead is written as a list: path, number.
type lineRead struct {
	Path string
	Line int
}

func (l *lineRead) UnmarshalJSON(data []byte) error {
	return json.Unmarshal(data, &[]any{&l.Path, &l.Line})
}

// unitAt returns the name of the innermost unit around a line, after the name of its file.
func (s *Suite) unitAt(file string, line int) string {
	name, from := file, 0
	if src := s.sources[file]; src != nil {
		for unit, u := range src.Units {
			if unit != "" && u.From <= line && line <= u.To && u.From >= from {
				name, from = file+"::"+unit, u.From
			}
		}
	}
	return name
}

// textAt returns the digest of the text and place of a unit: a traceback shows both.
func (s *Suite) textAt(k depgraph.Key) state.Digest {
	file, unit := splitCode(k)
	src := s.sources[file]
	if unit == "" || src == nil || src.Units[unit].From == 0 {
		return s.baseState.OnDisk(file)
	}
	folder, in, err := s.baseState.Place(file)
	if err != nil {
		return state.Absent
	}
	data, err := folder.ReadFile(in)
	if err != nil {
		return state.Absent
	}
	lines, u := strings.Split(string(data), "\n"), src.Units[unit]
	return state.DigestOf(fmt.Appendf(nil, "at %d %q", u.From, lines[u.From-1:min(u.To, len(lines))]))
}

func sortReads(reads []state.Access) {
	slices.SortFunc(reads, func(a, b state.Access) int { return strings.Compare(string(a.Key), string(b.Key)) })
}

// groupReads are the reads of a group, which many traces share.
type groupReads struct {
	reads  []state.Access
	failed *state.Reason // nil if they are valid
	known  bool
}

// group stores the reads of a group, and returns the digest that names them.
func (p *suiteProcess) group(n int, seen map[int]state.Digest) (state.Digest, error) {
	if d, ok := seen[n]; ok {
		return d, nil
	}
	seen[n] = "" // a group within itself adds nothing
	reads, err := p.withGroups(p.groups[n], seen)
	if err != nil {
		return "", err
	}
	data, err := json.Marshal(reads)
	if err != nil {
		return "", err
	}
	d := state.DigestOf(data)
	seen[n] = d
	return d, p.s.cfg.Store.PutMemo("reads", string(d), data)
}

// withGroups returns the reads of a test or group, and the groups that it depends on.
func (p *suiteProcess) withGroups(r *report, seen map[int]state.Digest) ([]state.Access, error) {
	reads := slices.Clone(r.reads)
	for _, g := range r.Groups {
		if p.groups[g] == nil { // a fixture that saw nothing
			continue
		}
		d, err := p.group(g, seen)
		if err != nil {
			return nil, err
		}
		space := spaceGroup
		if p.groups[g].Fixture {
			space = spaceFixture
		}
		if d != "" {
			reads = append(reads, state.Access{Key: depgraph.Key(space + ":" + string(d)), Digest: d})
		}
	}
	sortReads(reads)
	return slices.CompactFunc(reads, func(a, b state.Access) bool { return a.Key == b.Key }), nil
}

// marks returns the marks of a test and of all groups that it depends on.
func (p *suiteProcess) marks(r *report, seen map[int]bool) []string {
	if r == nil {
		return nil
	}
	all := slices.Clone(r.Marks)
	for _, g := range r.Groups {
		if !seen[g] {
			seen[g] = true
			all = append(all, p.marks(p.groups[g], seen)...)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

const keyOutcome depgraph.Key = "check:outcome"

// record stores the traces of the tests that ended.
func (p *suiteProcess) record() error {
	seen := map[int]state.Digest{}
	for i, x := range p.items {
		t, r := p.s.done[x.ID], p.ended[i]
		if r == nil {
			continue
		}
		reads, err := p.withGroups(r, seen)
		if err != nil {
			return err
		}
		reads = append(reads, state.Access{Key: "conf:tests", Digest: p.s.conf})
		for _, n := range r.After {
			reads = append(
				reads,
				state.Access{Key: depgraph.Key("test:" + p.items[n].ID), Digest: p.s.done[p.items[n].ID].Trace},
			)
		}
		sortReads(reads)
		t.Marks = p.marks(r, map[int]bool{})
		trace := state.Trace{
			Code:           p.code(x.ID),
			Reads:          reads,
			Writes:         []state.Access{{Key: keyOutcome, Digest: state.DigestOf([]byte(t.Outcome))}},
			AliasSensitive: r.Leaves,
			Marks:          t.Marks,
			Seconds:        t.Seconds,
			At:             t.At,
			Info:           map[depgraph.Key]state.ValueInfo{keyOutcome: {Type: t.Outcome, Repr: t.Message}},
		}
		if t.Trace, err = p.s.cfg.Store.PutTrace(trace); err != nil {
			return err
		}
		var lines executedLines
		if p.o.Lines {
			if lines, err = p.keepLines(t.Trace, r); err != nil {
				return err
			}
		}
		t.Parts = p.s.parts(reads, lines)
	}
	return nil
}

// code returns the key of the traces of a test.
func (p *suiteProcess) code(id string) state.Digest {
	s := p.s
	return state.DigestOf(fmt.Appendf(nil,
		"test 1\nengine %s\ninterpreter %s\nfolder %q\nargs %q\nrunner %q\nid %q\n",
		s.cfg.Language.Semantics(), s.python, s.cfg.Workspace, p.o.Args, p.out.Runner, id))
}

// parts returns the functions that a test and its fixtures executed, and the levels of their modules, with the executed
// lines if they are known.
func (s *Suite) parts(reads []state.Access, lines executedLines) []CodePart {
	found := map[depgraph.Key]CodePart{}
	add := func(file, unit string, version state.Digest) {
		part := CodePart{File: file, Name: unit, Version: version}
		if src := s.sources[file]; src != nil && src.Units[unit].Digest == version {
			part = src.part(file, unit)
			if lines != nil {
				part.Lines = src.lines(unit, lines.of(part.key()))
			}
		}
		found[part.key()] = part
	}
	for _, a := range reads {
		executed := []state.Access{a}
		if a.Key.Space() == spaceFixture {
			executed = s.groupReadsOf(a).reads
		}
		for _, a := range executed {
			if file, unit := splitCode(a.Key); a.Key.Space() == "code" {
				add(file, unit, a.Digest)
				add(file, "", s.now(depgraph.Key("code:"+file)))
			}
		}
	}
	parts := slices.Collect(maps.Values(found))
	slices.SortFunc(parts, func(a, b CodePart) int { return strings.Compare(string(a.key()), string(b.key())) })
	return parts
}

func splitCode(k depgraph.Key) (file, unit string) {
	file, unit, _ = strings.Cut(k.Name(), "::")
	return file, unit
}

// groupReadsOf returns the reads of the group that a key names, or nil.
func (s *Suite) groupReadsOf(a state.Access) *groupReads {
	if space := a.Key.Space(); space != spaceGroup && space != spaceFixture {
		return nil
	}
	g := s.reads[a.Digest]
	if g == nil {
		data, ok := s.cfg.Store.Memo("reads", string(a.Digest))
		g = &groupReads{}
		if !ok || json.Unmarshal(data, &g.reads) != nil || state.DigestOf(data) != a.Digest {
			g.failed, g.known = &state.Reason{Code: state.ReasonLost}, true
		}
		s.reads[a.Digest] = g
	}
	return g
}

// now returns what a key has at present.
func (s *Suite) now(k depgraph.Key) state.Digest {
	switch k.Space() {
	case "there":
		d := s.baseState.OnDisk(k.Name())
		if basestate.IsFile(d) {
			d = "file"
		}
		return d
	case "conf":
		return s.conf
	case spaceFolder:
		return s.entries(k.Name())
	case "at":
		return s.textAt(k)
	case "code":
		file, unit := splitCode(k)
		if src := s.sources[file]; src != nil {
			return src.Units[unit].Digest
		}
		return state.Absent
	}
	return s.baseState.Get(k)
}
