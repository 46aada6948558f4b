package javascript

import (
	"strings"

	"github.com/xstate-engine/xstate/depgraph"
	js "github.com/xstate-engine/xstate/depgraph/javascript/jstree"
)

// Comments returns the comments of the code in order. The parser drops them, so Comments finds them between the tokens,
// where everything else is blank. The facts do not say the dialect; one of the grammars reads the code without error.
func Comments(f *depgraph.Facts) []string {
	for _, dialect := range []depgraph.Dialect{JavaScript, TypeScript, TSX} {
		tree, err := parseMended(f.Code, dialect)
		if err != nil {
			return nil
		}
		if tree.Broken != nil {
			tree.Close()
			continue
		}
		defer tree.Close()
		return comments(string(f.Code), tree.Nodes)
	}
	return nil
}

func comments(text string, nodes []js.Node) (found []string) {
	at := 0
	gap := func(end int) {
		for at < end {
			n := 1
			switch rest := text[at:end]; {
			case strings.HasPrefix(rest, "//"), strings.HasPrefix(rest, "#!"), strings.HasPrefix(rest, "<!--"),
				strings.HasPrefix(rest, "-->"):
				if n = strings.IndexAny(rest, "\n\r\u2028\u2029"); n < 0 {
					n = len(rest)
				}
				found = append(found, strings.TrimRight(rest[:n], " \t\r"))
			case strings.HasPrefix(rest, "/*"):
				if n = strings.Index(rest, "*/") + 2; n < 2 {
					n = len(rest)
				}
				found = append(found, rest[:n])
			}
			at += n
		}
	}
	for i := uint32(0); int(i) < len(nodes); {
		n := &nodes[i]
		if n.Next > i+1 && n.Kind != js.TemplateString {
			i++
			continue
		}
		if n.Kind != js.HashBangLine && n.End > n.Start {
			gap(int(n.Start))
			at = max(at, int(n.End))
		}
		i = n.Next
	}
	gap(len(text))
	return found
}
