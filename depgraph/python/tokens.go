package python

import p "github.com/xstate-engine/xstate/internal/pytree"

// Tokens are what is left of a text without layout: each token, or marker, is followed by a NUL, which no Python text can
// hold. A marker is a control character, which no token can begin with.
//
//	\x01  end of a statement, whether a line or a semicolon ended it
//	\x02  beginning of a block, whether indented or on the same line
//	\x03  end of a block
//
// Strings are one token as written: the text inside f"{x = }" shows. Commas and parentheses stay, though some of them
// say nothing: to drop a redundant pair takes knowing which are redundant, and being wrong once is worse than a re-run.
const (
	endStatement = "\x01\x00"
	beginBlock   = "\x02\x00"
	endBlock     = "\x03\x00"
)

// tokens appends the tokens of the nodes from i up to end, which are whole statements.
func (w *walker) tokens(out []byte, i, end uint32) []byte {
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
		case n.Sym == p.ExceptStar: // "except *E" comes as two tokens
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
