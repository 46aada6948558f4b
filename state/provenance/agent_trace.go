package provenance

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/xstate-engine/xstate/patch"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/query"
)

// This file writes line authorship as Agent Trace 0.1 (RFC, January 2026, agent-trace.dev): a trace record of the
// program's file, with the ranges of lines that each conversation wrote. A conversation is a call of a model. Edits
// that name no call form one conversation for each agent. The edits of a conversation are its related resources, as
// URNs of their hashes. Lines outside of blocks have no known author and are left out. Lines are counted in each
// cell of a notebook, so each cell counts as a file, notebook.ipynb#cell.

type traceRecord struct {
	Version   string         `json:"version"`
	ID        string         `json:"id"`
	Timestamp string         `json:"timestamp"`
	Tool      traceTool      `json:"tool"`
	Files     []*traceFile   `json:"files"`
	Metadata  map[string]any `json:"metadata"`
}

type traceTool struct {
	Name string `json:"name"`
}

type traceFile struct {
	Path          string               `json:"path"`
	Conversations []*traceConversation `json:"conversations"`
	byCall        map[traceCall]*traceConversation
}

type traceConversation struct {
	URL         string           `json:"url,omitempty"`
	Contributor traceContributor `json:"contributor"`
	Ranges      []traceRange     `json:"ranges"`
	Related     []traceRelated   `json:"related"`
}

type traceContributor struct {
	Type  string `json:"type"`
	Model string `json:"model_id,omitempty"`
}

type traceRange struct {
	Start int    `json:"start_line"`
	End   int    `json:"end_line"`
	Hash  string `json:"content_hash"`
}

type traceRelated struct {
	Type string `json:"type"`
	URL  string `json:"url"`
}

// traceCall identifies a conversation.
type traceCall struct {
	contributor traceContributor
	agent, call string
}

const traceVersion = "0.1.0"

// longestModel is how long a model's name may be in a trace record.
const longestModel = 250

func contributorOf(o state.Origin) traceContributor {
	c := traceContributor{Type: "unknown"}
	switch {
	case o.Author == state.Human:
		c.Type = "human"
	case o.Author == state.Machine || o.Model != "" || o.CallID != "":
		c.Type = "ai"
	}
	if len(o.Model) <= longestModel {
		c.Model = o.Model
	}
	return c
}

func exportAgentTrace(ctx context.Context, h *query.History, n state.StepNumber, o ExportOptions) ([]byte, error) {
	step, err := h.Step(ctx, n)
	if err != nil {
		return nil, err
	}
	name := o.File
	if name == "" {
		name = h.Name()
	}
	places, err := places(ctx, h, n, name, o.Data)
	if err != nil {
		return nil, err
	}
	r := &traceRecord{
		Version:   traceVersion,
		ID:        uuid(step.Hash),
		Timestamp: step.Time.Format(time.RFC3339Nano),
		Tool:      traceTool{"xstate"},
		Files:     []*traceFile{},
		Metadata:  map[string]any{"xstate": map[string]any{"session": h.Name(), "step": n, "hash": step.Hash}},
	}
	for _, p := range places {
		lines, err := h.Blame(ctx, n, p.block)
		if err != nil {
			return nil, err
		}
		if err := traceBlock(ctx, h, r.file(p.path), p.line, lines); err != nil {
			return nil, err
		}
	}
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	if err := e.Encode(r); err != nil {
		return nil, fmt.Errorf("encode a trace record: %w", err)
	}
	return out.Bytes(), nil
}

// uuid makes a UUID (version 8, RFC 9562) of a digest.
func uuid(d state.Digest) string {
	x := []byte(d[:32])
	x[12], x[16] = '8', "89ab"[x[16]%4]
	return fmt.Sprintf("%s-%s-%s-%s-%s", x[:8], x[8:12], x[12:16], x[16:20], x[20:])
}

// place is where a block begins.
type place struct {
	block state.BlockID
	path  string
	line  int
}

// places returns where the blocks of the program after step n begin in its file. If the file holds that program, places
// reads it. Otherwise it uses the file as xstate would write it.
func places(ctx context.Context, h *query.History, n state.StepNumber, name string, data []byte) ([]place, error) {
	program, err := h.ProgramFrom(ctx, n)
	if err != nil || len(program) == 0 {
		return nil, err
	}
	file, err := patch.Parse(name, data)
	if err != nil || len(patch.Match(program, file.Blocks)) > 0 {
		file = nil
		if kind, err := query.FileKind(name); err == nil {
			if data, err = patch.New(kind, program, nil); err != nil {
				return nil, err
			}
			if file, err = patch.Parse(name, data); err != nil {
				return nil, err
			}
		}
	}
	var found []place
	for i, b := range program {
		p := place{block: state.BlockID(b.ID), path: name + "#" + b.ID, line: 1}
		if file != nil && i < len(file.Blocks) && file.Blocks[i].Line > 0 &&
			!strings.HasSuffix(strings.ToLower(name), ".ipynb") {
			p.path, p.line = name, file.Blocks[i].Line
		}
		found = append(found, p)
	}
	return found, nil
}

func (r *traceRecord) file(path string) *traceFile {
	if n := len(r.Files); n > 0 && r.Files[n-1].Path == path {
		return r.Files[n-1]
	}
	f := &traceFile{Path: path, Conversations: []*traceConversation{}, byCall: map[traceCall]*traceConversation{}}
	r.Files = append(r.Files, f)
	return f
}

// traceBlock adds the lines of a block, which begins at line first of the file.
func traceBlock(ctx context.Context, h *query.History, f *traceFile, first int, lines []query.BlameLine) error {
	for from := 0; from < len(lines); {
		call := callOf(lines[from].Origin)
		to := from + 1
		for to < len(lines) && callOf(lines[to].Origin) == call {
			to++
		}
		c := f.byCall[call]
		if c == nil {
			c = &traceConversation{Contributor: call.contributor, Ranges: []traceRange{}, Related: []traceRelated{}}
			if u, err := url.Parse(call.call); err == nil && u.IsAbs() && u.Host != "" {
				c.URL = call.call
			}
			f.byCall[call] = c
			f.Conversations = append(f.Conversations, c)
		}
		var text strings.Builder
		for _, l := range lines[from:to] {
			text.WriteString(l.Text + "\n")
			if err := relate(ctx, h, c, l.Step); err != nil {
				return err
			}
		}
		c.Ranges = append(
			c.Ranges,
			traceRange{first + from, first + to - 1, "sha256:" + string(state.DigestOf([]byte(text.String())))},
		)
		from = to
	}
	return nil
}

func callOf(o state.Origin) traceCall { return traceCall{contributorOf(o), o.Agent, o.CallID} }

// relate names an edit among the resources of a conversation.
func relate(ctx context.Context, h *query.History, c *traceConversation, n state.StepNumber) error {
	step, err := h.Step(ctx, n)
	if err != nil {
		return err
	}
	x := traceRelated{Type: "edit", URL: "urn:xstate:step:" + string(step.Hash)}
	if !slices.Contains(c.Related, x) {
		c.Related = append(c.Related, x)
	}
	return nil
}
