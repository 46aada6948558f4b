package patch

import (
	"bytes"
	"regexp"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	gmtext "github.com/yuin/goldmark/text"

	"github.com/xstate-engine/xstate/internal/lang"
	"github.com/xstate-engine/xstate/patch/syntax"
	"github.com/xstate-engine/xstate/patch/syntax/javascript"
)

// readMarkdown reads a Markdown file. Its fences of known languages become blocks. Indented code is prose.
func readMarkdown(data []byte) (*Program, *ParseError) {
	body := bytes.TrimPrefix(data, []byte(syntax.BOM))
	p := &Program{Kind: KindMarkdown, raw: bytes.Clone(data)}
	var others []string
	doc := goldmark.DefaultParser().Parse(gmtext.NewReader(body))
	line := syntax.LineCounter{Data: body}
	_ = ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		f, ok := n.(*ast.FencedCodeBlock)
		if !ok || !entering {
			return ast.WalkContinue, nil
		}
		info := fenceInfo(f, body)
		if info.dialect == "" {
			others = append(others, info.language)
			return ast.WalkSkipChildren, nil
		}
		if b, ok := fenceBlock(f, &info, body, &line); ok {
			p.Blocks, p.named = append(p.Blocks, b), append(p.named, info.title != "")
		}
		return ast.WalkSkipChildren, nil
	})
	if len(p.Blocks) == 0 {
		return nil, noFence(others)
	}
	return p, nil
}

func noFence(others []string) *ParseError {
	e := empty("there is no fenced code of a known language in this file")
	var fences []string
	for _, v := range lang.Offered() {
		fences = append(fences, "```"+v.Names[0])
	}
	e.Hint = "start a fence with " + lang.Or(fences)
	if l := distinct(others); len(l) > 0 {
		e.Message += " (found: " + strings.Join(l, ", ") + ")"
	}
	return e
}

func distinct(list []string) []string {
	var out []string
	seen := map[string]bool{"": true}
	for _, s := range list {
		if !seen[s] {
			seen[s] = true
			out = append(out, s)
		}
	}
	return out
}

// fenceBlock makes a block of a fence that has code.
func fenceBlock(f *ast.FencedCodeBlock, info *fence, body []byte, line *syntax.LineCounter) (Block, bool) {
	segments := info.code(f, body)
	if len(segments) == 0 {
		return Block{}, false
	}
	var code strings.Builder
	for _, s := range segments {
		code.Write(s.Value(body))
	}
	source := strings.TrimSuffix(strings.TrimSuffix(code.String(), "\n"), "\r")
	b := Block{ID: info.id, Title: info.title, Dialect: info.dialect, Source: source, Line: line.At(segments[0].Start)}
	if b.Dialect == syntax.JavaScript && javascript.IsModule([]byte(source)) {
		b.Dialect = syntax.Module
	}
	if b.Title == "" {
		b.Title = b.defined()
	}
	return b, true
}

// code returns the lines of code in a fence.
func (i *fence) code(f *ast.FencedCodeBlock, body []byte) []gmtext.Segment {
	lines := f.Lines().Sliced(0, f.Lines().Len())
	if i.directive {
		lines = i.skipOptions(lines, body)
	}
	return i.skipMarker(trimBlank(lines, body), body)
}

// skipMarker skips the marker of a cell on the first line of a fence, and keeps the name that it gives. A fence with
// several markers holds several cells, which have no place in a Markdown file; its markers are comments.
func (i *fence) skipMarker(lines []gmtext.Segment, body []byte) []gmtext.Segment {
	var first cellMarker
	for k, s := range lines {
		m, ok := markerIn(i.syntax(), bytes.TrimRight(s.Value(body), "\r\n"))
		switch {
		case k == 0 && (!ok || m.text || i.title != "" || i.id != "" || m.title == "" && m.id == ""):
			return lines
		case k == 0:
			first = m
		case ok:
			return lines
		}
	}
	if rest := trimBlank(lines[min(1, len(lines)):], body); len(rest) > 0 {
		i.title, i.id = first.title, first.id
		return rest
	}
	return lines
}

// syntax returns the syntax of the code in a fence.
func (i *fence) syntax() *syntax.Syntax { return syntax.Of(i.dialect) }

// trimBlank drops the blank lines at both ends.
func trimBlank(lines []gmtext.Segment, body []byte) []gmtext.Segment {
	blank := func(s gmtext.Segment) bool { return len(bytes.TrimSpace(s.Value(body))) == 0 }
	for len(lines) > 0 && blank(lines[0]) {
		lines = lines[1:]
	}
	for len(lines) > 0 && blank(lines[len(lines)-1]) {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// fence is the content of the line that opens a fence.
type fence struct {
	language  string
	dialect   string // "" if the language is not known, or the fence is not to run
	id, title string
	directive bool // {code-cell}: options may come before the code (MyST)
}

var (
	attribute = regexp.MustCompile(`(?:^|[\s,{])(id|name|label|title)=("[^"]*"|'[^']*'|[^\s,}"']+)`)
	anchor    = regexp.MustCompile(`(?:^|[\s{])#([\w.:-]+)`)
	chunk     = regexp.MustCompile(
		`^\{\s*python\s+([\w.-]+)\s*[,}]`,
	) // R Markdown: {python load, echo=FALSE}
	notToRun  = regexp.MustCompile(`(?i)(?:^|[\s,{])(?:eval=["']?false\b|ignore(?:[\s,}]|$))`) // R Markdown's, Rust's
	prompt    = regexp.MustCompile(`^[ \t]*[$%>] `)
	languages = regexp.MustCompile(`^[{.\s]*([^\s,{}]*)`)
	myst      = regexp.MustCompile(`^:([\w-]+):[ \t]*(.*?)\s*$`)
)

// fenceInfo reads an info string: "python", "py", "{python}", "{.python #id}", "{code-cell} ipython3", "python
// name=load".
func fenceInfo(f *ast.FencedCodeBlock, body []byte) fence {
	if f.Info == nil {
		return fence{}
	}
	s := strings.TrimSpace(string(f.Info.Segment.Value(body)))
	i := fence{language: strings.ToLower(languages.FindStringSubmatch(s)[1])}
	if i.language == "code-cell" {
		i.directive = true
		_, rest, _ := strings.Cut(s, "}")
		if i.language, _, _ = strings.Cut(strings.TrimSpace(rest), " "); i.language == "" {
			i.language = string(lang.Default)
		}
	}
	i.dialect = fenceDialect(i.language, i.directive || strings.HasPrefix(s, "{python"))
	if notToRun.MatchString(s) || i.dialect == syntax.Bash && prompts(f, body) {
		i.dialect = ""
	}
	if m := anchor.FindStringSubmatch(s); m != nil {
		i.id = m[1]
	}
	if m := chunk.FindStringSubmatch(s); m != nil {
		i.title = m[1]
	}
	for _, m := range attribute.FindAllStringSubmatch(s, -1) {
		i.set(m[1], strings.Trim(m[2], `"'`))
	}
	return i
}

// prompts reports whether a fence shows a session at a shell: its first line of code follows a prompt.
func prompts(f *ast.FencedCodeBlock, body []byte) bool {
	lines := trimBlank(f.Lines().Sliced(0, f.Lines().Len()), body)
	return len(lines) > 0 && prompt.Match(lines[0].Value(body))
}

func (i *fence) set(key, v string) {
	switch key {
	case "id":
		i.id = v
	case "name", "label", "title":
		i.title = v
	}
}

// bareFence is the language of a fence that names none but is code.
const bareFence = "xstate-code"

// fenceDialect returns the dialect of a language, or "". Fences of notebook cells may hold magics.
func fenceDialect(language string, cell bool) string {
	dialect, _ := DialectNamed(language)
	if language == bareFence {
		return bareFence
	}
	if cell && dialect == syntax.Python {
		return syntax.IPython
	}
	return dialect
}

// skipOptions skips the option lines at the top of a {code-cell}, which are ":name: load" or YAML between "---". It
// keeps a name.
func (i *fence) skipOptions(lines []gmtext.Segment, body []byte) []gmtext.Segment {
	at := func(k int) string { return strings.TrimRight(string(lines[k].Value(body)), " \t\r\n") }
	if len(lines) > 0 && at(0) == "---" {
		for k := 1; k < len(lines); k++ {
			if at(k) == "---" {
				return lines[k+1:]
			}
		}
	}
	for len(lines) > 0 {
		m := myst.FindStringSubmatch(at(0))
		if m == nil {
			break
		}
		i.set(m[1], m[2])
		lines = lines[1:]
	}
	return lines
}

// fenceLine reports whether a line opens or closes a fence. It returns the fence mark and the text after it.
func fenceLine(line string) (mark, info string, ok bool) {
	line = strings.TrimSpace(line)
	for _, sign := range []string{"`", "~"} {
		rest := strings.TrimLeft(line, sign)
		if n := len(line) - len(rest); n >= 3 && !strings.Contains(rest, "`") {
			return line[:n], strings.TrimSpace(rest), true
		}
	}
	return "", "", false
}
