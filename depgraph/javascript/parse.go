package javascript

import (
	"bytes"
	"regexp"
	"slices"
	"unicode/utf8"

	"github.com/xstate-engine/xstate/depgraph"
	js "github.com/xstate-engine/xstate/depgraph/javascript/jstree"
	"github.com/xstate-engine/xstate/internal/lang"
)

// These are the dialects that this package reads.
const (
	JavaScript = lang.JavaScript // a sloppy script
	ESM        = lang.ESM        // strict, as in a module
	TypeScript = lang.TypeScript // strict
	TSX        = lang.TSX        // TypeScript with JSX
)

// parse returns the tree of a source, or a *depgraph.SyntaxError.
func parse(source []byte, dialect depgraph.Dialect) (*js.Tree, error) {
	if err := checkText(source); err != nil {
		return nil, err
	}
	tree, err := parseMended(source, dialect)
	if err != nil {
		return nil, &depgraph.SyntaxError{Line: 1, Column: 1, Msg: err.Error()}
	}
	if tree.Broken != nil {
		defer tree.Close()
		return nil, parseError(string(source), tree)
	}
	return tree, nil
}

// parseMended parses a source. The grammar is older than TypeScript, and continues a type on the next line where
// TypeScript ends it. So a source with types may be parsed in a mended form, in which all positions are the same: words
// of types are blank, and semicolons follow where lines end a type.
func parseMended(source []byte, dialect depgraph.Dialect) (*js.Tree, error) {
	tree, err := js.Parse(source, grammar(dialect))
	if err != nil || dialect != TypeScript && dialect != TSX {
		return tree, err
	}
	mended := slices.Clone(source)
	if tree.Broken != nil {
		bare := comment.ReplaceAllFunc(source, blankComment)
		dropVariance(bare, mended)
		endTypes(bare, mended)
	}
	for range 100 { // each round ends one line of a run such as "let a: T", "[b].c", "[d].e"
		changed := splitTypes(tree, source, mended) || joinTypes(tree, mended)
		if !changed && tree.Broken == nil {
			return tree, nil
		}
		other, err := js.Parse(mended, grammar(dialect))
		if err != nil {
			return tree, err
		}
		if other.Broken != nil {
			other.Close()
			return tree, nil
		}
		tree.Close()
		tree = other
	}
	return tree, nil
}

// newerWords finds the variance of type parameters: <in T, out U>. The word after it must not be an operator.
var newerWords = regexp.MustCompile(`[<,]\s*(?:const\s+)?((?:in\s+out|in|out)\s+)([A-Za-z_$][\w$]*)`)

// dropVariance blanks such words. bare is the source without comments.
func dropVariance(bare, mended []byte) {
	for _, m := range newerWords.FindAllSubmatchIndex(bare, -1) {
		switch string(bare[m[4]:m[5]]) {
		case "as", "satisfies", "in", "of", "instanceof", "is":
			continue
		}
		for at := m[2]; at < m[3]; at++ {
			if bare[at] > ' ' {
				mended[at] = ' '
			}
		}
	}
}

// blankInside returns a text of the same length in which only line ends remain between its first and last character.
func blankInside(text []byte) []byte {
	out := slices.Clone(text)
	for i := 1; i < len(out)-1; i++ {
		if out[i] != '\n' && out[i] != '\r' {
			out[i] = ' '
		}
	}
	return out
}

// splitTypes writes a semicolon after each type that the grammar continues on the next line: T, [a]. It reports whether
// it changed anything.
func splitTypes(tree *js.Tree, source, mended []byte) (found bool) {
	for i, n := range tree.Nodes {
		switch n.Kind {
		case js.LookupType, js.ArrayType, js.NonNullExpression, js.GenericType:
		default:
			continue
		}
		first := tree.Nodes[i+1]
		if first.Next >= n.Next {
			continue
		}
		end, next := first.End, tree.Nodes[first.Next].Start
		if bytes.ContainsAny(source[end:next], "\n\r") && mended[end] <= ' ' {
			mended[end] = ';'
			found = true
		}
	}
	return found
}

// joinTypes mends x as A.B.C, of which the grammar takes .C for a member of the whole: it makes one name of the type.
// It
// reports whether it changed anything.
func joinTypes(tree *js.Tree, mended []byte) (found bool) {
	for i, n := range tree.Nodes {
		switch n.Kind {
		case js.MemberExpression, js.SubscriptExpression, js.CallExpression:
			found = joinType(tree, uint32(i), mended) || found
		}
	}
	return found
}

func joinType(tree *js.Tree, i uint32, mended []byte) bool {
	operand := tree.Nodes[i+1]
	if operand.Kind != js.AsExpression && operand.Kind != js.SatisfiesExpression {
		return false
	}
	value := tree.Nodes[i+2]
	end := operand.End
	if tree.Nodes[i].Kind == js.MemberExpression {
		end = tree.Nodes[operand.Next].End
	}
	found := false
	for at := value.End; at < end; at++ {
		if mended[at] == '.' {
			mended[at] = '_'
			found = true
		}
	}
	return found
}

// typeEnds finds where a line that ends like a type is followed by one that begins like a signature: "<T>(", "(", "["
// or
// "*".
var typeEnds = regexp.MustCompile(`[\w$>)\]}"'` + "`" + `](\s*\n\s*)(?:<[A-Za-z_$\s]|[(\[*])`)

// endTypes writes a semicolon at such places. It serves only to parse what does not parse otherwise. bare is the source
// without comments.
func endTypes(bare, mended []byte) {
	for at := 0; ; {
		m := typeEnds.FindSubmatchIndex(bare[at:])
		if m == nil {
			return
		}
		start := at + m[2]
		if mended[start] <= ' ' && !bytes.HasSuffix(bare[:start], []byte("=>")) {
			mended[start] = ';'
		}
		at += m[3]
	}
}

// comment finds comments, and strings, which may look like them.
var comment = regexp.MustCompile(`//[^\n]*|/\*(?:[^*]|\*+[^*/])*\*+/|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'`)

func blankComment(text []byte) []byte {
	if text[0] != '/' {
		return text
	}
	out := blankInside(text)
	out[0], out[len(out)-1] = ' ', ' '
	return out
}

// grammar returns the grammar of a dialect.
func grammar(dialect depgraph.Dialect) js.Language {
	switch dialect {
	case TypeScript:
		return js.TypeScript
	case TSX:
		return js.TSX
	}
	return js.JavaScript
}

func checkText(source []byte) error {
	if utf8.Valid(source) {
		return nil
	}
	at := 0
	for {
		r, n := utf8.DecodeRune(source[at:])
		if r == utf8.RuneError && n == 1 {
			return syntaxError(string(source), at, "source code is not valid UTF-8")
		}
		at += n
	}
}
