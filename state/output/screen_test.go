package output

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/xstate-engine/xstate/internal/xstatetest/sampling"
)

func TestScreen(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"plain text", "a\nb\n\nc", "a\nb\n\nc"},
		{"a bar", "\r  0%|   |\r 50%|#  |\r100%|###|\n", "100%|###|\n"},
		{"what is shorter leaves the rest", "abcdef\rXY\n", "XYcdef\n"},
		{"blanks over what was longer", "loading...\rok        \n", "ok\n"},
		{"ends of rows as the csv module writes them", "a,b\r\nc,d\r\n", "a,b\r\nc,d\r\n"},
		{"a backspace", "10%\b\b\b20%\n", "20%\n"},
		{"erased to the end, as pip does", "\r  10 kB\r\x1b[K  900 kB\r\x1b[K done\n", " done\n"},
		{"nested bars, as tqdm draws them",
			"\router 0\n\rinner 0\x1b[A\n\rinner 9\x1b[A\router 1\n\rinner 5\x1b[A\r\n\r       \x1b[A\router 2\n\r",
			"outer 2\n"},
		{"a table that is drawn again, as rich does",
			"one 1\ntwo 1\n\x1b[1A\x1b[2K\x1b[1A\x1b[2Kone 2\ntwo 2\n", "one 2\ntwo 2\n"},
		{"the cursor is hidden and shown", "\x1b[?25l\rx 1\rx 2\n\x1b[?25h", "x 2\n"},
		{"colours stay", "\x1b[31mred\x1b[0m\n", "\x1b[31mred\x1b[0m\n"},
		{
			"colours of what was overwritten",
			"\x1b[31mred\x1b[0m\r\x1b[32mgr\x1b[0m\n",
			"\x1b[32mgr\x1b[0m\x1b[31md\x1b[0m\n",
		},
		{"a link stays", "\x1b]8;;http://a\x1b\\b\x1b]8;;\x1b\\\n", "\x1b]8;;http://a\x1b\\b\x1b]8;;\x1b\\\n"},
		{"characters of several bytes", "\r█▏\r██▌\n", "██▌\n"},
		{"a carriage return at the end", "a\rb\r", "b"},
		{"a sequence without an end", "a\x1b[3", "a\x1b[3"},
	} {
		got := Join([]Output{{Kind: "stdout", Text: c.text}})
		if diff := cmp.Diff([]Output{{Kind: "stdout", Text: c.want}}, got); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}

// TestScreenStreams draws a bar on stderr while stdout gets lines.
func TestScreenStreams(t *testing.T) {
	got := Join([]Output{
		{Kind: "stderr", Text: "\r 0%"}, {Kind: "stdout", Text: "one\n"}, {Kind: "stderr", Text: "\r50%"},
		{Kind: "stdout", Text: "two "}, {Kind: "stderr", Text: "\r99%\n"}, {Kind: "stdout", Text: "three\n"},
		{Kind: "result", Data: map[string]string{"text/plain": "1"}},
	})
	want := []Output{
		{Kind: "stderr", Text: "99%\n"}, {Kind: "stdout", Text: "one\ntwo three\n"},
		{Kind: "result", Data: map[string]string{"text/plain": "1"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestScreenNodes: a bar that several nodes draw is one line of the block.
func TestScreenNodes(t *testing.T) {
	var all []Output
	for _, text := range []string{"\r 0%", "\r 1%\r50%", "\r99%\n", "99\r", "done\n"} {
		var s Screen
		s.Add(Output{Kind: "stderr", Text: text})
		all = append(all, s.Outputs()...)
	}
	if diff := cmp.Diff([]Output{{Kind: "stderr", Text: "99%\ndone\n"}}, Join(all)); diff != "" {
		t.Error(diff)
	}
}

func TestScreenLimit(t *testing.T) {
	s := Screen{limit: 10}
	for range 1000 {
		s.Add(Output{Kind: "stderr", Text: "\r1234"})
	}
	s.Add(Output{Kind: "stdout", Text: "abcdeé"})
	s.Add(Output{Kind: "stdout", Text: "more\n"})
	s.Add(Output{Kind: "display", Data: map[string]string{"text/plain": "p", "image/png": "0123"}})
	want := []Output{
		{Kind: "stderr", Text: "\r1234"},
		{Kind: "stdout", Text: "abcde", Dropped: 7},
		{Kind: "display", Data: map[string]string{"text/plain": ""}, Dropped: 5},
	}
	if diff := cmp.Diff(want, s.Outputs()); diff != "" {
		t.Error(diff)
	}
}

// TestScreenPieces: the pieces in which a text comes do not matter.
func TestScreenPieces(t *testing.T) {
	parts := []string{"a", "bc", "é", "\n", "\n", "\r", "\r\n", "\b", "\x1b[A", "\x1b[2A", "\x1b[B", "\x1b[K",
		"\x1b[2K",
		"\x1b[31m", "\x1b[0m", "\x1b[?25l", "\x1b[5G", "\x1b[J", "\x1b[C", strings.Repeat("x\n", 70)}
	seed := sampling.Seed(t)
	random := rand.New(rand.NewPCG(seed, 1))
	for range 3000 {
		var text strings.Builder
		for range random.IntN(30) {
			text.WriteString(parts[random.IntN(len(parts))])
		}
		one, many := Screen{limit: 60}, Screen{limit: 60}
		one.Add(Output{Kind: "stdout", Text: text.String()})
		rest := []rune(text.String())
		for len(rest) > 0 {
			n := 1 + random.IntN(min(5, len(rest)))
			many.Add(Output{Kind: "stdout", Text: string(rest[:n])})
			rest = rest[n:]
		}
		if diff := cmp.Diff(one.Outputs(), many.Outputs()); diff != "" {
			t.Fatalf("seed %d: %q: %s", seed, text.String(), diff)
		}
	}
}

func BenchmarkScreen(b *testing.B) {
	var lines strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&lines, "line %d\n", i)
	}
	for b.Loop() {
		var s Screen
		s.Add(Output{Kind: "stdout", Text: lines.String()})
		s.Outputs()
	}
}

// TestDisplays clears and updates across the nodes of a block.
func TestDisplays(t *testing.T) {
	text := func(kind, id, text string) Output {
		return Output{Kind: kind, ID: id, Data: map[string]string{"text/plain": text}}
	}
	clear, later := Output{Kind: "clear"}, Output{Kind: "clear", Wait: true}
	out := func(text string) Output { return Output{Kind: "stdout", Text: text} }
	for _, c := range []struct {
		name  string
		nodes [][]Output
		want  []Output
	}{
		{"an update of a display of the block",
			[][]Output{{text("display", "a", "1")}, {out("x"), text("update", "a", "2")}},
			[]Output{text("display", "a", "2"), out("x")}},
		{"an update of both displays with the id", [][]Output{{text("display", "a", "1"), text("display", "a", "2")},
			{text("update", "a", "3")}}, []Output{text("display", "a", "3"), text("display", "a", "3")}},
		{"an update of a display of another block", [][]Output{{text("update", "a", "2")}},
			[]Output{text("update", "a", "2")}},
		{"a clear in a later node", [][]Output{{out("1")}, {out("2"), clear, out("3")}, {out("4")}},
			[]Output{out("34")}},
		{"a clear that waits for the next node", [][]Output{{out("1"), later}, {}, {out("2")}}, []Output{out("2")}},
		{"a clear that waits for nothing", [][]Output{{out("1")}, {later}}, []Output{out("1")}},
		{"an update after a clear", [][]Output{{text("display", "a", "1"), clear}, {text("update", "a", "2")}},
			[]Output{text("update", "a", "2")}},
		{"a result after a clear that waits", [][]Output{{out("1"), later}, {text("result", "", "2")}},
			[]Output{text("result", "", "2")}},
	} {
		var recorded []Output
		for _, node := range c.nodes {
			var s Screen
			for _, o := range node {
				s.Add(o)
			}
			recorded = append(recorded, s.Outputs()...)
		}
		if diff := cmp.Diff(c.want, Join(recorded)); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}
