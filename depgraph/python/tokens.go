package python

import p "github.com/xstate-engine/xstate/depgraph/python/pytree"

// Tokens are what remains of a text without layout. A NUL follows each token or marker, because no Python text can hold
// a NUL. A marker is a control character, because no token begins with one.
//
//	\x01  end of a statement, whether by a line end or a semicolon
//	\x02  beginning of a block, whether indented or on the same line
//	\x03  end of a block
//
// A string is one token as written, because f"{x = }" shows its text. Commas and parentheses stay, although some of
// them are redundant: to drop the wrong pair would be worse than to run a block again.
const (
	endStatement = "\x01\x00"
	beginBlock   = "\x02\x00"
	endBlock     = "\x03\x00"
)

// appendTokens appends the tokens of the nodes from i up to end, which are whole statements.
func (w *walker) appendTokens(out []byte, i, end uint32) []byte {
	type pending struct {
		end   uint32
		block bool
	}
	var room [32]pending
	open := room[:0]
	for {
		for len(open) > 0 && open[len(open)-1].end <= i {
			if open[len(open)-1].block {
				out = append(out, endBlock...)
			} else {
				out = append(out, endStatement...)
			}
			open = open[:len(open)-1]
		}
		if i >= end {
			return out
		}
		n := &w.nodes[i]
		if n.Sym == p.Semicolon {
			i++
			continue
		}
		if len(open) == 0 || open[len(open)-1].block {
			open = append(open, pending{n.Next, false})
		}
		switch {
		case n.Sym == p.Block:
			out = append(out, beginBlock...)
			open = append(open, pending{n.Next, true})
			i++
		case n.Sym == p.ExceptStar: // the parser yields two tokens for "except *E"
			out = append(out, "except\x00*\x00"...)
			i = n.Next
		case n.Next == i+1 || n.Sym == p.String:
			out = append(out, w.text[n.Start:n.End]...)
			out = append(out, 0)
			i = n.Next
		default:
			i++
		}
	}
}
