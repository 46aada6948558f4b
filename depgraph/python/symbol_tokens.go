package python

import (
	"strings"

	"github.com/xstate-engine/xstate/depgraph"
)

// Symbols returns, for each name that a block binds at top level, the tokens of the statements that bind it. Two texts
// define a name in the same way if and only if these are equal.
func Symbols(src []byte, dialect depgraph.Dialect) (map[string]string, error) {
	f, err := facts(src, dialect, eachStatement)
	if err != nil {
		return nil, err
	}
	found := map[string]string{}
	for i := range f.Nodes {
		for _, name := range f.Nodes[i].Defines {
			found[name] += f.Nodes[i].Tokens
		}
	}
	return found, nil
}

// Comments returns the comments of the code in order. The parser drops them, so Comments finds them between the tokens,
// where everything else is blank.
func Comments(f *depgraph.Facts) []string {
	var found []string
	text := string(f.Code)
	gap := func(token string) {
		for text != "" && (token == "" || !strings.HasPrefix(text, token)) {
			n := 1
			if text[0] == '#' {
				if n = strings.IndexByte(text, '\n'); n < 0 {
					n = len(text)
				}
				found = append(found, strings.TrimRight(text[:n], " \t\r"))
			}
			text = text[n:]
		}
		text = strings.TrimPrefix(text, token)
	}
	for token := range strings.SplitSeq(f.Tokens(), "\x00") {
		if token != "" && token[0] > '\x03' {
			gap(token)
		}
	}
	gap("")
	return found
}
