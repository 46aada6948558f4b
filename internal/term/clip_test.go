package term

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

// TestClip: a clipped text is its head and its tail, within the budget, with no character and no escape sequence torn;
// and what comes in parts is shown as what comes at once.
func TestClip(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	pieces := []string{"plain ", "ä", "→", "🙂", "\x1b[31m", "\x1b[0m", "\x1b]0;title\a", "\n",
		"a longer line of text\n"}
	torn := regexp.MustCompile(`\x1b(\[[0-9;]*)?$|^(\[?[0-9;]*m|\]0;|;title|title|itle|tle\a)`)
	for range 3000 {
		var whole strings.Builder
		for range r.IntN(200) {
			whole.WriteString(pieces[r.IntN(len(pieces))])
		}
		text, budget := whole.String(), 40+r.IntN(400)
		short, clipped := Clip(text, budget, func(n int) string { return fmt.Sprintf("<%d>", n) })
		if !clipped {
			if short != text || len(text) > budget {
				t.Fatalf("a text of %d bytes with a budget of %d is clipped wrongly", len(text), budget)
			}
			continue
		}
		at := regexp.MustCompile(`\n?(\x1b\[0m)?\n?<(\d+)>\n`).FindStringSubmatchIndex(short)
		if at == nil {
			t.Fatalf("no line in %q", short)
		}
		var missing int
		fmt.Sscan(short[at[4]:at[5]], &missing)
		head, tail := short[:at[0]], short[at[1]:]
		if !strings.HasPrefix(text, head) || !strings.HasSuffix(text, tail) || len(head)+len(tail) > budget {
			t.Fatalf("clip of %q to %d gives %q", text, budget, short)
		}
		if n := len(text) - missing - len(tail); n < len(head) || n > len(head)+2 { // line ends may belong to the head
			t.Fatalf("%d bytes are missing between %q and %q of %q", missing, head, tail, text)
		}
		if !utf8.ValidString(short) || torn.MatchString(head) || torn.MatchString(tail) {
			t.Fatalf("clip tears %q", short)
		}
		var shown strings.Builder
		c := &Clipper{Budget: budget, Show: func(s string) { shown.WriteString(s) }}
		for rest := text; rest != ""; {
			n := min(len(rest), 1+r.IntN(60))
			for n < len(rest) && !utf8.RuneStart(rest[n]) {
				n++
			}
			c.Add(rest[:n])
			rest = rest[n:]
		}
		c.End(func(n int) string { return fmt.Sprintf("<%d>", n) })
		if c.Text() != text || !utf8.ValidString(shown.String()) || shown.Len() > budget+40 {
			t.Fatalf("in parts, %q is %q", text, shown.String())
		}
	}
}
