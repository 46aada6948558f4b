package patch

import (
	"slices"
	"strings"

	"github.com/xstate-engine/xstate/internal/lang"
	"github.com/xstate-engine/xstate/patch/syntax"
	"github.com/xstate-engine/xstate/patch/syntax/javascript"
	"github.com/xstate-engine/xstate/patch/syntax/python"
)

// neighbours are the file and the blocks beside a new block. They say which language it is in.
type neighbours struct {
	file   *Program // nil if there is none
	blocks []Block
}

// dialect returns the dialect of a new block, or of a block written again. said is what the patch calls it, or "".
func (p neighbours) dialect(said, text string) string {
	if p.file != nil && p.file.ext != "" {
		return p.file.dialectOf(said, text, p.blocks)
	}
	own := p.families()
	if p.file != nil && p.file.Kind == KindNotebook && said == "" {
		said = p.file.main
	}
	if said == "" && python.IsIPython(text) && !p.meant(text) {
		said = syntax.Python
	}
	if said == "" && (len(own) == 0 ||
		own[0] == syntax.Python && (len(own) == 1 || syntax.Of(syntax.Python).Parses([]byte(text)))) {
		said = syntax.Python
	}
	for _, f := range own {
		if said == "" && syntax.Of(p.like(f)).Parses([]byte(text)) {
			said = p.like(f)
		}
	}
	if said == "" {
		said = p.blocks[len(p.blocks)-1].Dialect
	}
	if syntax.Family(said) == syntax.Python {
		return p.pythonDialect(text)
	}
	if like := p.like(syntax.JavaScript); said == syntax.JavaScript && like != "" &&
		!slices.ContainsFunc(p.blocks, func(b Block) bool {
			return b.Dialect == syntax.JavaScript
		}) {
		return like // what a reply calls JavaScript is the program's TypeScript
	}
	if said == syntax.JavaScript && javascript.IsModule([]byte(text)) {
		return syntax.Module
	}
	return said
}

// meant reports whether a text with escapes is one of a language of the program that is not Python: "%d" in a
// here-document is text, and Bash negates with "! ". Bash also parses "!ls", "%time f()" and "n = %pwd", as commands
// with names that no command has.
func (p neighbours) meant(text string) bool {
	own := p.families()
	for _, f := range own {
		list, broken := syntax.Of(p.like(f)).Statements([]byte(text))
		if f == syntax.Python || broken {
			continue
		}
		if f == syntax.JavaScript && !slices.Contains(own, syntax.Python) {
			return true // "!done" is a value
		}
		foreign := false
		for _, s := range list {
			line, _, _ := strings.Cut(text[s.Start:], "\n")
			foreign = foreign || python.IsEscape([]byte(line)) && !meansOther(f, line)
		}
		if !foreign {
			return true
		}
	}
	return false
}

// meansOther reports whether a line that may be an escape does something in JavaScript or Bash, too.
func meansOther(family, line string) bool {
	if family == syntax.JavaScript {
		return strings.Contains(line, "(") // !function () { … }()
	}
	targets, _, assigned := strings.Cut(line, "=%")
	return strings.HasPrefix(line, "! ") || assigned && !strings.ContainsAny(targets, " \t.,!%")
}

// dialectOf returns the dialect of a block of a source file.
func (p *Program) dialectOf(said, text string, blocks []Block) string {
	own := sourceDialect(p.ext)
	switch {
	case said != "" && syntax.Family(said) != syntax.Family(own):
		return said // the file cannot hold it, and its writer says so
	case own == syntax.Python:
		if python.IsIPython(text) {
			return syntax.IPython
		}
	case p.ext == ".js" && (javascript.IsModule([]byte(text)) ||
		slices.ContainsFunc(blocks, func(b Block) bool { return b.Dialect == syntax.Module })):
		return syntax.Module
	}
	return own
}

// pythonDialect returns the dialect of a block of Python.
func (p neighbours) pythonDialect(text string) string {
	if p.file != nil && p.file.Kind == KindNotebook || python.IsIPython(text) {
		return syntax.IPython
	}
	return syntax.Python
}

// families returns the families of the program's blocks, Python first.
func (p neighbours) families() []string {
	var out []string
	for _, l := range lang.All() {
		if slices.ContainsFunc(p.blocks, func(b Block) bool { return syntax.Family(b.Dialect) == l.Name }) {
			out = append(out, l.Name)
		}
	}
	return out
}

// like returns the dialect of the last block of a family, or "".
func (p neighbours) like(f string) string {
	for _, b := range slices.Backward(p.blocks) {
		if syntax.Family(b.Dialect) == f {
			return b.Dialect
		}
	}
	return ""
}

// own returns the sections that are about the program. A reply often holds fences for its reader beside those for the
// program, such as how to install a package. So fences of another language than the program's count only if the reply
// has no others. A program without blocks is one of Python. The others are returned, too, so that the result can say
// it.
func (p neighbours) own(all []Section) (own, others []Section) {
	families := p.families()
	if len(families) == 0 {
		families = []string{syntax.Python}
		if p.file != nil && p.file.ext != "" {
			families = []string{syntax.Family(sourceDialect(p.file.ext))}
		}
	}
	for _, s := range all {
		if s.Dialect == "" || slices.Contains(families, syntax.Family(s.Dialect)) {
			own = append(own, s)
		} else {
			others = append(others, s)
		}
	}
	if len(own) == 0 {
		return all, nil
	}
	return own, others
}

// cutMagic cuts a cell of IPython at the line with its magic, if that says that the cell is in another language.
// %%javascript says no such thing: its cell runs in the browser, where the page is.
func cutMagic(source string) (magic, dialect, rest string) {
	line, rest, cut := strings.Cut(source, "\n")
	v, ok := lang.OfMagic(strings.Join(strings.Fields(line), " "))
	if !cut || !ok || blankLine(rest) {
		return "", "", source
	}
	return line + "\n", string(v.Dialect), rest
}

// adopt sets the dialect of a text of a patch. A cell magic that names another language is not part of the block.
func (p neighbours) adopt(s *Section) {
	_, dialect, rest := cutMagic(s.Text)
	if dialect != "" && (s.Dialect == "" || syntax.Family(s.Dialect) == syntax.Python) {
		if p.file == nil || p.file.ext == "" {
			s.Dialect, s.Text = dialect, rest
			return
		}
	}
	s.Dialect = p.dialect(s.Dialect, s.Text)
}

// settle gives blocks the dialects that a file gives them: whether a .js file is a module depends on all of it.
func settle(blocks, file []Block) {
	if len(blocks) != len(file) {
		return
	}
	for i := range blocks {
		a, b := blocks[i].Dialect, file[i].Dialect
		if a != b && syntax.Family(a) == syntax.JavaScript && syntax.Family(b) == syntax.JavaScript {
			blocks[i].Dialect = b
		}
	}
}
