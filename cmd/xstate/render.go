package main

import (
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/internal/term"
	"github.com/xstate-engine/xstate/patch"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/output"
	"github.com/xstate-engine/xstate/state/query"
)

// outputText renders one output for a terminal: text as it is, except for places in blocks; pictures and other rich
// media by kind and size.
func (p *places) outputText(o output.Output) string {
	if o.Kind == "update" || o.Kind == "comm" {
		return ""
	}
	if len(o.Data) == 0 {
		return p.printed(o.Text)
	}
	text := o.Text
	if plain, ok := o.Data["text/plain"]; ok {
		text = plain
	}
	var rich []string
	for _, media := range slices.Sorted(maps.Keys(o.Data)) {
		if strings.HasPrefix(media, "image/") || text == "" && media != "text/plain" {
			rich = append(rich, fmt.Sprintf("<%s %s>", media, term.Size(mediaSize(media, o.Data[media]))))
		}
	}
	if len(rich) > 0 {
		return strings.Join(rich, "\n") + "\n"
	}
	return text + "\n"
}

// mediaSize is the number of bytes of a medium; images come in base64.
func mediaSize(media, data string) int64 {
	if strings.HasPrefix(media, "image/") && media != "image/svg+xml" {
		return int64(base64.StdEncoding.DecodedLen(len(strings.TrimRight(data, "=\n"))))
	}
	return int64(len(data))
}

// outputOn is outputText for a terminal: it draws pictures if it can, and cuts data frames that do not fit beside
// a margin.
func (p *places) outputOn(u *term.UI, o output.Output, margin int) string {
	if picture := u.Picture(o); picture != "" {
		return picture + "\n"
	}
	text := p.outputText(o)
	if _, frame := o.Data["text/html"]; frame && u.OutTerminal {
		text = term.CutLines(text, term.WidthOf(u.Out)-margin)
	}
	return text
}

// outputs renders all that a block put out, and its error.
func (p *places) outputs(list []output.Output, e *state.ExecError) string {
	text := p.outputsOn(&term.UI{}, list, nil, 0)
	if e != nil {
		text += p.errorText(e)
	}
	return text
}

// outputsOn renders the same for a terminal, for lines that begin with a margin. It is printed by verbatim.
func (p *places) outputsOn(u *term.UI, list []output.Output, e *state.ExecError, margin int) string {
	var b strings.Builder
	for _, o := range output.Visible(list) {
		b.WriteString(p.outputOn(u, o, margin))
		if o.Kind == "result" || o.Kind == "display" {
			endLine(&b)
		}
	}
	endLine(&b)
	b.WriteString(notes(list))
	if e != nil {
		b.WriteString(term.Escape(p.errorText(e)))
	}
	return b.String()
}

// notes says what of the outputs was dropped.
func notes(list []output.Output) string {
	var b strings.Builder
	for _, o := range list {
		b.WriteString(o.Note())
	}
	return b.String()
}

func endLine(b *strings.Builder) {
	if b.Len() > 0 && !strings.HasSuffix(b.String(), "\n") {
		b.WriteByte('\n')
	}
}

// reasonText renders a reason in the terms of documents: code: key by node.
func reasonText(r state.Reason) string {
	text := r.Code
	switch {
	case r.Limit > 0:
		text += ": " + strings.TrimPrefix(query.Sentence(r), "it ")
	case r.Key.Space() == "call":
		text += ": " + query.Sentence(r)
	case r.Key != "":
		text += ": " + string(r.Key)
		if r.By != "" {
			text += " by " + r.By
		}
	case r.By != "":
		text += " by " + r.By
	}
	return text
}

// title renders a block's place and name: [3] clean.
func title(u *term.UI, index int, id xstate.BlockID, title string) string {
	text := fmt.Sprintf("[%d] %s", index+1, u.Bold(string(id)))
	if title != "" && strings.ReplaceAll(strings.ToLower(title), " ", "-") != strings.ToLower(string(id)) {
		text += u.Faint(" " + title)
	}
	return text
}

// valueText renders what is recorded of a value.
func valueText(v *state.ValueInfo) string {
	if v == nil {
		return ""
	}
	text := v.Repr
	if text == "" {
		text = v.Type
	} else if v.Type != "" {
		text = v.Type + " " + text
	}
	if v.Shape != "" && !strings.Contains(text, v.Shape) {
		text += " " + v.Shape
	}
	return strings.Join(strings.Fields(text), " ")
}

// whoText renders agent, model and call, with something more between them and the call.
func whoText(o xstate.Origin, more ...string) string {
	var parts []string
	for _, p := range append(append([]string{term.Agent(o)}, more...), o.CallID) {
		if p != "" {
			parts = append(parts, p)
		}
	}
	return strings.Join(parts, ", ")
}

// originText renders the author and the reason of a step; "" if neither is known.
func originText(o xstate.Origin) string {
	text := whoText(o, o.Action)
	if o.Reason != "" {
		text = strings.TrimPrefix(text+": "+o.Reason, ": ")
	}
	return text
}

// originMore renders what originText leaves out.
func originMore(o xstate.Origin) string {
	var parts []string
	add := func(what, value string) {
		if value != "" {
			parts = append(parts, what+" "+value)
		}
	}
	add("author", string(o.Author))
	add("answers", o.Answers.String())
	if o.TokensIn+o.TokensOut > 0 {
		add("tokens", fmt.Sprintf("%d+%d", o.TokensIn, o.TokensOut))
	}
	if o.Cost > 0 {
		add("cost", "$"+o.Cost.String())
	}
	add("client", o.Client)
	add("prompt", o.Prompt)
	add("span", o.TraceParent)
	for _, name := range slices.Sorted(maps.Keys(o.Labels)) {
		add(name+" =", o.Labels[name])
	}
	for _, name := range slices.Sorted(maps.Keys(o.Unknown)) {
		add(name+" =", string(o.Unknown[name]))
	}
	return strings.Join(parts, ", ")
}

// countsText renders the counts of a run: ran 2 blocks, reused 9, failed 1.
func countsText(r *state.RunSummary) string {
	c := r.Blocks
	var parts []string
	if c.Ran > 0 {
		parts = append(parts, "ran "+term.Plural(c.Ran, "block"))
	}
	for _, p := range []struct {
		n    int
		what string
	}{{c.Reused, "reused"}, {c.Failed, "failed"}, {c.Waiting, "waiting"}, {c.Blocked, "blocked"}} {
		if p.n > 0 {
			parts = append(parts, fmt.Sprintf("%s %d", p.what, p.n))
		}
	}
	if r.Interrupted {
		parts = append([]string{"interrupted"}, parts...)
	} else if c.Ran+c.Failed+c.Waiting == 0 {
		parts = append([]string{"nothing to run"}, parts...)
	}
	return strings.Join(append(parts, endText(r)...), ", ")
}

// endText says which block ended the program, unless it succeeded and nothing came after it.
func endText(r *state.RunSummary) (parts []string) {
	if r.Ended == nil || r.Ended.Code == 0 && r.Blocks.NotReached == 0 {
		return nil
	}
	text := "ended by block " + string(r.Ended.By)
	if r.Ended.Code != 0 {
		text += fmt.Sprintf(" with exit code %d", r.Ended.Code)
	}
	if parts = []string{text}; r.Blocks.NotReached > 0 {
		parts = append(parts, term.Plural(r.Blocks.NotReached, "block")+" not reached")
	}
	return parts
}

// conflictText shows both sides of what does not go together.
func conflictText(list []patch.Conflict) string {
	var b strings.Builder
	for _, c := range list {
		fmt.Fprintf(&b, "block %s: %s, and %s\n", c.ID, c.Op, c.Why)
		for _, x := range c.Clashes {
			fmt.Fprintf(&b, "  line %d\n", x.Line)
			for _, side := range []struct{ name, text string }{{"before", x.Base}, {"now", x.Ours},
				{"wanted", x.Theirs}} {
				fmt.Fprintf(&b, "  %s:\n%s", side.name, term.Indent(side.text, "    "))
			}
		}
	}
	return b.String()
}

// candidateText shows a place that a patch may have meant, with its line numbers.
func candidateText(c patch.Candidate) string {
	var out strings.Builder
	fmt.Fprintf(&out, "  line %d, %.0f%% alike:\n", c.Line, 100*c.Score)
	for k, line := range strings.Split(strings.TrimSuffix(c.Text, "\n"), "\n") {
		if k == 12 {
			out.WriteString("        …\n")
			break
		}
		fmt.Fprintf(&out, "  %5d  %s\n", c.Line+k, strings.TrimSuffix(line, "\r"))
	}
	return out.String()
}

func formatNames() string {
	var names []string
	for _, f := range patch.Formats() {
		names = append(names, string(f))
	}
	return strings.Join(names, ", ")
}
