package page

import (
	"bytes"
	"cmp"
	"embed"
	"encoding/json"
	"fmt"
	"html/template"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/internal/term"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/query"
)

// tab is a view of a session that every other one leads to.
type tab struct{ Path, Text string }

var tabs = []tab{
	{"program", "Program"}, {"graph", "Graph"}, {"history", "History"}, {"values", "Values"}, {"agents", "Agents"},
}

// pastViews are the views that the tab of the history leads to.
var pastViews = []tab{{"history", "Steps"}, {"failures", "Failures and fixes"}, {"audit", "Replay and bisect"}}

// under are the views that a tab leads to by others.
var under = map[string]string{
	"blockpage": "program", "plan": "program", "blame": "program",
	"step": "history", "compare": "history", "failures": "history", "audit": "history", "takeback": "history",
	"value": "values", "evidence": "values", "calls": "agents", "flow": "agents",
}

//go:embed assets
var files embed.FS

// templates are read for the first view: every command would wait for it at its start.
var templates = sync.OnceValue(func() *template.Template { return parseTemplates(nil) })

// parseTemplates reads the templates, with other functions in the place of some.
func parseTemplates(other template.FuncMap) *template.Template {
	return template.Must(template.New("page").Funcs(functions).Funcs(other).ParseFS(files, "assets/*.tmpl"))
}

// addresser makes the addresses of views.
type addresser interface {
	At(view string, more ...string) string
}

// functions are those of the templates.
var functions = template.FuncMap{
	"tabs":      func() []tab { return tabs },
	"pastviews": func() []tab { return pastViews },
	"seconds":   seconds, "size": term.Size, "sentence": query.Sentence,
	"who": who, "short": short, "difflines": diffLines, "accesses": accesses, "blockof": blockOf, "json": compact,
	"described": described, "changed": changed, "count": term.Plural, "lastline": lastLine, "spent": spentText,
	"firstcalls": firstCalls, "dollars": dollars, "signed": signed,
	"causesin": func(v addresser, list any) map[string]any { return map[string]any{"View": v, "List": list} },
	"when":     func(t time.Time) string { return t.Local().Format("2006-01-02 15:04:05") },
	"iso":      func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
	"add":      func(a, b float64) float64 { return a + b },
	"of1000":   func(part, all float64) float64 { return math.Round(1000 * part / all) },
	"half":     func(a float64) float64 { return a / 2 },
	"key":      keyText,
	"indent":   func(n int) string { return strings.Repeat("  ", n) },
}

// seconds is a time for people; "" if none is recorded.
func seconds(s float64) string {
	if s == 0 {
		return ""
	}
	return term.Seconds(s)
}

// who is the author of a step.
func who(o state.Origin) string {
	return cmp.Or(term.Agent(o), o.Client)
}

// dollars is an amount of a document, for people; "" if it is 0.
func dollars(amount any) string {
	text := ""
	switch x := amount.(type) {
	case state.Dollars:
		text = x.String()
	case float64: // from another process
		text = strconv.FormatFloat(x, 'f', -1, 64)
	}
	if text == "" || text == "0" {
		return ""
	}
	return "$" + text
}

// signed is a time that may be negative; "" if it is 0.
func signed(s float64) string {
	if s < 0 {
		return "−" + seconds(-s)
	}
	return seconds(s)
}

// lastLine is the last line of an error that is not empty.
func lastLine(text string) string {
	text = strings.TrimSpace(text)
	return text[strings.LastIndexByte(text, '\n')+1:]
}

// spentText is what was spent, for people; "" if nothing was.
func spentText(u state.Usage) string {
	texts := slices.DeleteFunc([]string{u.Tokens(), u.Dollars()}, func(s string) bool { return s == "" })
	return strings.Join(texts, ", ")
}

// short is the beginning of a digest.
func short(d state.Digest) string {
	if d == state.Absent {
		return "nothing"
	}
	return term.Short(string(d))
}

// described is a value in a few words, by what is recorded of it.
func described(v *state.ValueInfo, d state.Digest) string {
	switch {
	case d == state.Absent || v == nil:
		return short(d)
	case v.Repr != "":
		return v.Repr
	}
	return strings.TrimSpace(v.Type+" "+v.Shape) + " " + short(d)
}

// changed is a value in a few words beside the one before it.
func changed(was *state.ValueInfo, from state.Digest, now *state.ValueInfo, to state.Digest) string {
	text := described(now, to)
	if from != to && text == described(was, from) {
		return "other content, " + short(to)
	}
	return text
}

// keyText is a key for people: a variable by its name, all else with its space.
func keyText(k depgraph.Key) string {
	space, name, _ := strings.Cut(string(k), ":")
	if space == "var" {
		return name
	}
	return space + " " + name
}

// blockOf is the block of a node.
func blockOf(node string) string {
	block, _, _ := strings.Cut(node, "#")
	return block
}

// compact is JSON in one line, cut if it is long.
func compact(data json.RawMessage) string {
	var out bytes.Buffer
	if json.Compact(&out, data) != nil {
		return string(data)
	}
	const most = 400
	if text := out.String(); len(text) > most {
		return strings.ToValidUTF8(text[:most], "") + " …"
	}
	return out.String()
}

// diffLines colors the lines of a unified diff.
func diffLines(text string) template.HTML {
	var out strings.Builder
	for line := range strings.Lines(text) {
		class := ""
		switch {
		case line[0] == '@', strings.HasPrefix(line, "---"), strings.HasPrefix(line, "+++"):
			class = "place"
		case line[0] == '+':
			class = "added"
		case line[0] == '-':
			class = "removed"
		}
		fmt.Fprintf(&out, `<span class="%s">%s</span>`, class, template.HTMLEscapeString(line))
	}
	return template.HTML(out.String())
}

// access is a key that a block read or wrote, for the template.
type access struct {
	Key, Link, Value, By, ByLink string
	Read                         bool
}

// accesses lists what the nodes of a block read, or wrote: each key once, the hidden state of the interpreter left out.
func accesses(v addresser, b *query.BlockView, reads bool) (list []access) {
	seen := map[string]bool{}
	for _, n := range b.Nodes {
		from := n.Writes
		if reads {
			from = n.Reads
		}
		for _, a := range from {
			space, name, _ := strings.Cut(string(a.Key), ":")
			absent := reads && a.By == "" && a.Digest == state.Absent
			if space == "conf" || absent || seen[string(a.Key)] || blockOf(a.By) == string(b.ID) {
				continue
			}
			seen[string(a.Key)] = true
			x := access{Key: keyText(a.Key), Value: described(a.Value, a.Digest), By: a.By, Read: reads}
			if space == "var" && !strings.Contains(name, ":") {
				x.Link = v.At("value", "name", name)
			}
			if a.By != "" {
				x.ByLink = v.At("block", "block", blockOf(a.By))
			}
			list = append(list, x)
		}
	}
	return list
}

// branchCalls is how many calls a branch of the tree of calls shows.
const branchCalls = 50

// firstCalls are the calls of a branch that are shown.
func firstCalls(calls []query.CallBranch) []query.CallBranch {
	return calls[:min(len(calls), branchCalls)]
}
