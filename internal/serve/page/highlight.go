package page

import (
	"html/template"
	"regexp"
	"strings"
	"sync"

	"github.com/xstate-engine/xstate/patch/syntax"
)

// words are how the tokens of a language look: comments, strings, numbers and names, in this order.
type words struct {
	tokens   *regexp.Regexp
	keywords map[string]bool
}

const (
	number = `\b\d[\w.]*\b`
	name   = `[A-Za-z_$][\w$]*`
	quoted = `"(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])*'?`
)

// languages color the sources. They read no syntax: a token that they take for another one has another color, and
// nothing else. They are made for the first view.
var languages = sync.OnceValue(func() map[string]words {
	return map[string]words{
		"python": {
			regexp.MustCompile(`(#[^\n]*)|((?i:[rbfu]{0,2})(?:(?s:"""(?:\\.|.)*?"""|'''(?:\\.|.)*?''')|` + quoted +
				`))|(` + number + `)|(` + name + `)`),
			syntax.Words(`False None True and as assert async await break case class continue def del elif else except
				finally for from global if import in is lambda match nonlocal not or pass raise return try while with
				yield`),
		},
		"javascript": {
			regexp.MustCompile(`(//[^\n]*|(?s:/\*.*?\*/))|(` + quoted + "|(?s:`(?:\\\\.|[^`\\\\])*`)" + `)|(` +
				number + `)|(` + name + `)`),
			syntax.Words(`as async await break case catch class const continue debugger default delete do else enum
				export extends false finally for from function if import in instanceof interface let new null of return
				static super switch this throw true try type typeof undefined var void while with yield`),
		},
		"bash": {
			regexp.MustCompile(`(?m)((?:^|\s)#[^\n]*)|((?s:"(?:\\.|[^"\\])*"|'[^']*'))|(` + number + `)|(` + name +
				`)`),
			syntax.Words(`case do done elif else esac export fi for function if in local readonly return select set
				shift then until while`),
		},
	}
})

// highlighted returns a source as HTML, its tokens in elements with the class c, s, n or k. Names lead to their
// addresses.
func highlighted(source, dialect string, addresses map[string]string) template.HTML {
	language := languages()[syntax.Family(dialect)]
	var out strings.Builder
	last := 0
	for _, m := range language.tokens.FindAllStringSubmatchIndex(source, -1) {
		class := ""
		switch {
		case m[2] >= 0:
			class = "c"
		case m[4] >= 0:
			class = "s"
		case m[6] >= 0:
			class = "n"
		case language.keywords[source[m[0]:m[1]]]:
			class = "k"
		}
		address := ""
		if class == "" && (m[0] == 0 || source[m[0]-1] != '.') { // else it is an attribute
			address = addresses[source[m[0]:m[1]]]
		}
		if class == "" && address == "" {
			continue
		}
		out.WriteString(template.HTMLEscapeString(source[last:m[0]]))
		if last = m[1]; address != "" { // the values have a view with all of them, which keys reach
			out.WriteString(`<a tabindex="-1" href="` + template.HTMLEscapeString(address) + `">` +
				template.HTMLEscapeString(source[m[0]:m[1]]) + `</a>`)
			continue
		}
		out.WriteString(`<span class="` + class + `">` + template.HTMLEscapeString(source[m[0]:m[1]]) + `</span>`)
	}
	out.WriteString(template.HTMLEscapeString(source[last:]))
	return template.HTML(out.String())
}

// withFault marks a line of a source that is HTML by highlighted: the one, from 1, at which it failed.
func withFault(source template.HTML, line int) template.HTML {
	lines := strings.SplitAfter(string(source), "\n")
	if line < 1 || line > len(lines) {
		return source
	}
	before := strings.Join(lines[:line-1], "")
	text, end := strings.CutSuffix(lines[line-1], "\n")
	open := "" // an element that goes on from the line before
	if at := strings.LastIndex(before, "<span"); at >= 0 && !strings.Contains(before[at:], "</span>") {
		open = before[at : at+strings.IndexByte(before[at:], '>')+1]
	}
	var b strings.Builder
	b.WriteString(before)
	if open != "" {
		b.WriteString("</span>")
	}
	b.WriteString(`<mark title="it failed here">` + open + text)
	rest := ""
	if last := open + text; strings.Count(last, "<span") > strings.Count(last, "</span>") {
		b.WriteString("</span>")
		rest = last[strings.LastIndex(last, "<span"):]
		rest = rest[:strings.IndexByte(rest, '>')+1]
	}
	b.WriteString("</mark>" + rest)
	if end {
		b.WriteString("\n")
	}
	b.WriteString(strings.Join(lines[line:], ""))
	return template.HTML(b.String())
}
