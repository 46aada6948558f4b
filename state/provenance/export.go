package provenance

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/xstate-engine/xstate/depgraph/python"
	"github.com/xstate-engine/xstate/patch"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/query"
)

// Export returns the program after step n, with what its blocks put out when they were run last. Equal histories give
// equal bytes. A script, document or notebook reads as the program.
func Export(ctx context.Context, h *query.History, n state.StepNumber, format Format, o ExportOptions) ([]byte, error) {
	if format == FormatPROV {
		return exportPROV(ctx, h, n)
	}
	if format == FormatAgentTrace {
		return exportAgentTrace(ctx, h, n, o)
	}
	snap, err := h.At(ctx, n)
	if err != nil {
		return nil, err
	}
	if o.NoOutputs {
		for i := range snap.Blocks {
			snap.Blocks[i].Outputs, snap.Blocks[i].Error = nil, nil
		}
	}
	switch format {
	case FormatNotebook:
		return notebook(snap)
	case FormatScript:
		return textOf(snap, patch.KindCells)
	case FormatMarkdown:
		return textOf(snap, patch.KindMarkdown)
	}
	return nil, &state.Error{
		Code:    state.Code(patch.CodeUnsupported),
		Message: fmt.Sprintf("there is no format %q", format),
		Hint:    "use py, md, ipynb, prov or agent-trace",
	}
}

// textOf writes the blocks, each followed by its outputs: as comments in a script, as fenced text in a document.
func textOf(s *query.Snapshot, kind patch.Kind) ([]byte, error) {
	notes := make([]string, len(s.Blocks))
	for i := range s.Blocks {
		notes[i] = plainOutputs(&s.Blocks[i])
	}
	blocks := query.SnapshotBlocks(s)
	for i := range blocks {
		if _, err := python.Analyze([]byte(blocks[i].Source), python.Plain); err == nil && kind == patch.KindCells {
			blocks[i].Dialect = patch.Python // in a script a cell has magics only if it does not parse without
		}
	}
	return patch.New(kind, blocks, notes)
}

// plainOutputs is what a block put out, as text.
func plainOutputs(b *query.BlockView) string {
	var out strings.Builder
	for _, o := range b.Outputs {
		switch text, plain := o.Data["text/plain"]; {
		case len(o.Data) == 0:
			out.WriteString(o.Text)
		case plain:
			out.WriteString(text + "\n")
		default:
			out.WriteString(o.Text + "\n")
		}
	}
	if b.Error != nil {
		fmt.Fprintf(&out, "%s: %s\n", b.Error.Type, b.Error.Message)
	}
	return strings.TrimRight(out.String(), "\n")
}

// The parts of a notebook, in the order in which Jupyter writes them.
type (
	nbNotebook struct {
		Cells    []nbCell   `json:"cells"`
		Metadata nbMetadata `json:"metadata"`
		Major    int        `json:"nbformat"`
		Minor    int        `json:"nbformat_minor"`
	}
	nbMetadata struct {
		Kernel   nbKernel   `json:"kernelspec"`
		Language nbLanguage `json:"language_info"`
		Xstate   nbSource   `json:"xstate"`
	}
	nbKernel struct {
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
	nbCell struct {
		Type      string         `json:"cell_type"`
		Execution *int           `json:"execution_count"`
		ID        string         `json:"id"`
		Metadata  map[string]any `json:"metadata"`
		Outputs   []any          `json:"outputs"`
		Source    []string       `json:"source"`
	}
	nbStream struct {
		Name string   `json:"name"`
		Type string   `json:"output_type"`
		Text []string `json:"text"`
	}
	nbData struct {
		Data      map[string]any `json:"data"`
		Execution *int           `json:"execution_count,omitempty"`
		Metadata  struct{}       `json:"metadata"`
		Type      string         `json:"output_type"`
	}
	nbError struct {
		Name      string   `json:"ename"`
		Value     string   `json:"evalue"`
		Type      string   `json:"output_type"`
		Traceback []string `json:"traceback"`
	}
)

// notebook writes nbformat 4.5 (nbformat.readthedocs.io).
func notebook(s *query.Snapshot) ([]byte, error) {
	doc := nbNotebook{Cells: []nbCell{}, Major: 4, Minor: 5, Metadata: nbMetadata{
		Kernel: nbKernel{"Python 3", "python", "python3"}, Language: nbLanguage{Name: "python"},
		Xstate: nbSource{s.Session, s.Step.Number, s.Step.Hash}}}
	if run := s.Step.Run; run != nil {
		_, doc.Metadata.Language.Version, _ = strings.Cut(run.Interpreter, " ")
	}
	ids := cellIDs(s.Blocks)
	for i := range s.Blocks {
		doc.Cells = append(doc.Cells, cell(&s.Blocks[i], ids[i]))
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
		blocks[i].Dialect = patch.IPython
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

func cell(b *query.BlockView, id string) nbCell {
	c := nbCell{Type: "code", ID: id, Metadata: map[string]any{}, Outputs: []any{}, Source: lines(b.Source)}
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
	if b.RanAt > 0 {
		count := b.Index + 1
		c.Execution = &count
	}
	for _, o := range b.Outputs {
		c.Outputs = append(c.Outputs, output(o, c.Execution))
	}
	if e := b.Error; e != nil {
		trace := []string{}
		for _, line := range e.Traceback {
			trace = append(trace, strings.TrimRight(line, "\n"))
		}
		c.Outputs = append(c.Outputs, nbError{e.Type, e.Message, "error", trace})
	}
	return c
}

func output(o state.Output, count *int) any {
	if o.Kind == "stdout" || o.Kind == "stderr" {
		return nbStream{o.Kind, "stream", lines(o.Text + o.Note())}
	}
	d := nbData{Data: map[string]any{}, Type: "display_data"}
	if o.Kind == "result" {
		d.Type, d.Execution = "execute_result", count
	}
	for media, text := range o.Data {
		d.Data[media] = medium(media, text)
	}
	if len(d.Data) == 0 {
		d.Data["text/plain"] = lines(o.Text)
	}
	return d
}

// medium is what a mime bundle holds: JSON as it is, binary media in base64 as one text, texts as lines.
func medium(media, text string) any {
	var value any
	switch _, err := base64.StdEncoding.DecodeString(strings.ReplaceAll(text, "\n", "")); {
	case (media == "application/json" || strings.HasSuffix(media, "+json")) &&
		json.Unmarshal([]byte(text), &value) == nil:
		return value
	case strings.HasPrefix(media, "image/") && err == nil:
		return text
	}
	return lines(text)
}

// lines is a text as a list of lines with their ends.
func lines(text string) []string {
	list := strings.SplitAfter(text, "\n")
	return slices.DeleteFunc(list, func(s string) bool { return s == "" })
}
