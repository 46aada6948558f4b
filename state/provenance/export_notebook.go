package provenance

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/xstate-engine/xstate/internal/lang"
	"github.com/xstate-engine/xstate/patch"
	"github.com/xstate-engine/xstate/patch/syntax"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/query"
)

// The parts of a notebook, in the order in which Jupyter writes them.
type (
	nbNotebook struct {
		Cells    []any      `json:"cells"` // nbCell, nbText
		Metadata nbMetadata `json:"metadata"`
		Major    int        `json:"nbformat"`
		Minor    int        `json:"nbformat_minor"`
	}
	nbMetadata struct {
		Kernel   nbKernel   `json:"kernelspec"`
		Language nbLanguage `json:"language_info"`
		Xstate   nbSource   `json:"xstate"`
	}
	nbKernel struct { // as patch.Kernel
		Title    string `json:"display_name"`
		Language string `json:"language"`
		Name     string `json:"name"`
	}
	nbLanguage struct {
		Name    string `json:"name"`
		Version string `json:"version,omitempty"`
	}
	nbSource struct {
		Session string           `json:"session"`
		Step    state.StepNumber `json:"step"`
		Hash    state.Digest     `json:"hash"`
	}
	nbText struct {
		Attachments map[string]map[string]string `json:"attachments,omitempty"`
		Type        string                       `json:"cell_type"`
		ID          string                       `json:"id"`
		Metadata    struct{}                     `json:"metadata"`
		Source      []string                     `json:"source"`
	}
	nbCell struct {
		Type      string         `json:"cell_type"`
		Execution *int           `json:"execution_count"`
		ID        string         `json:"id"`
		Metadata  map[string]any `json:"metadata"`
		Outputs   []any          `json:"outputs"`
		Source    []string       `json:"source"`
	}
)

// notebook writes nbformat 4.5 (nbformat.readthedocs.io).
func (d *document) notebook() ([]byte, error) {
	s := d.Snapshot
	k, sources := patch.NewNotebook(query.SnapshotBlocks(s))
	doc := nbNotebook{Cells: []any{}, Major: 4, Minor: 5, Metadata: nbMetadata{
		Kernel: nbKernel(k), Language: nbLanguage{Name: k.Language},
		Xstate: nbSource{s.Session, s.Step.Number, s.Step.Hash}}}
	if run := s.Step.Run; run != nil {
		_, doc.Metadata.Language.Version, _ = strings.Cut(run.Interpreter, " ")
	}
	ids, counts := cellIDs(s.Blocks), executionCounts(s.Blocks)
	texts := d.texts
	for i := 0; i <= len(s.Blocks); i++ {
		for ; len(texts) > 0 && texts[0].Before <= i; texts = texts[1:] {
			doc.Cells = append(doc.Cells, textCell(texts[0], newID("text", len(doc.Cells)+1, ids)))
		}
		if i < len(s.Blocks) {
			doc.Cells = append(doc.Cells, cell(&s.Blocks[i], ids[i], sources[i], cellResult(&s.Blocks[i], counts[i])))
		}
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	if err := e.Encode(doc); err != nil {
		return nil, fmt.Errorf("encode a notebook: %w", err)
	}
	return b.Bytes(), notebookReads(b.Bytes(), query.SnapshotBlocks(s))
}

// notebookReads verifies that the written notebook reads as the program. In a notebook, a line that begins with % or !
// is a magic, so a block may change its meaning.
func notebookReads(data []byte, blocks []patch.Block) error {
	if len(blocks) == 0 {
		return nil
	}
	p, err := patch.Parse("a.ipynb", data)
	if err != nil {
		return err
	}
	for i := range blocks {
		if v, ok := lang.Of(lang.Dialect(blocks[i].Dialect)); ok && v.Dialect == lang.Python {
			blocks[i].Dialect = syntax.IPython
		}
		if x := blocks[i].Dialect; len(blocks) == len(p.Blocks) && (x == syntax.JavaScript || x == syntax.Module) &&
			p.Blocks[i].Dialect == syntax.TypeScript {
			blocks[i].Dialect = syntax.TypeScript // a notebook has one kernel for all of them
		}
	}
	if edits := patch.Match(blocks, p.Blocks); len(edits) > 0 {
		return &state.Error{
			Code: state.Code(patch.CodeUnwritable),
			Message: fmt.Sprintf(
				"the program cannot be written as a notebook: block %q would read otherwise",
				edits[0].ID,
			),
			Hint: "choose another format",
		}
	}
	return nil
}

var cellID = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// cellIDs are the ids of blocks in the form that nbformat allows. Other characters are replaced; the ids stay unique.
func cellIDs(blocks []query.BlockView) []string {
	ids := make([]string, len(blocks))
	used := map[string]bool{}
	for i, b := range blocks {
		if cellID.MatchString(string(b.ID)) {
			ids[i] = string(b.ID)
			used[ids[i]] = true
		}
	}
	for i := range ids {
		for n := i + 1; ids[i] == ""; n++ {
			if id := fmt.Sprintf("cell-%d", n); !used[id] {
				ids[i], used[id] = id, true
			}
		}
	}
	return ids
}

// newID is an id that no block has.
func newID(stem string, n int, used []string) string {
	id := fmt.Sprintf("%s-%d", stem, n)
	for slices.Contains(used, id) {
		id += "-"
	}
	return id
}

func textCell(t patch.Text, id string) nbText {
	c := nbText{Attachments: t.Attachments, Type: "markdown", ID: id, Source: lines(t.Source)}
	if t.Kind == patch.TextRaw {
		c.Type = "raw"
	}
	return c
}

func cell(b *query.BlockView, id, source string, r patch.CellResult) nbCell {
	c := nbCell{Type: "code", ID: id, Metadata: map[string]any{}, Outputs: r.Outputs, Source: lines(source)}
	if c.Outputs == nil {
		c.Outputs = []any{}
	}
	if r.Count > 0 {
		c.Execution = &r.Count
	}
	if b.Title != "" {
		c.Metadata["name"] = b.Title
	}
	about := map[string]any{"version": b.Version, "status": b.Status}
	if b.Origin.Agent != "" {
		about["agent"] = b.Origin.Agent
	}
	if len(b.Marks) > 0 {
		about["marks"] = b.Marks
	}
	c.Metadata["xstate"] = about
	return c
}
