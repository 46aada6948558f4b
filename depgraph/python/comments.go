package python

import (
	"strings"

	"github.com/xstate-engine/xstate/depgraph"
)

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
