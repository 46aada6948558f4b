package patch

import (
	"fmt"
	"strings"
	"testing"
)

// program makes n different blocks of a few lines.
func program(n int) []Block {
	var sources []string
	for i := range n {
		sources = append(sources, fmt.Sprintf("df%d = read(%q)\ndf%d = df%d.dropna(subset=[%d])\nprint(df%d.shape)", i,
			fmt.Sprint("f", i), i, i, i%7, i))
	}
	return session(sources...)
}

// anew returns the blocks as read from a file, with each source changed.
func anew(blocks []Block, change func(i int, s string) string) []Block {
	out := make([]Block, len(blocks))
	for i, b := range blocks {
		out[i] = Block{Source: change(i, b.Source), Dialect: b.Dialect}
	}
	return out
}

func BenchmarkMatch(b *testing.B) {
	old := program(10_000)
	for _, c := range []struct {
		name string
		new  []Block
	}{
		{"same", anew(old, func(_ int, s string) string { return s })},
		{"edit=1", anew(old, func(i int, s string) string {
			if i == 5_000 {
				return s + "\nx = 1"
			}
			return s
		})},
		{"edit=all", anew(old, func(_ int, s string) string { return strings.ReplaceAll(s, "dropna", "drop") })},
		{"reversed", anew(old, func(i int, _ string) string { return old[len(old)-1-i].Source })},
		{"other", anew(old, func(i int, _ string) string { return fmt.Sprintf("y%d = g(z%d)", i, i) })},
		{"alike", anew(old, func(i int, _ string) string { return fmt.Sprint("v", i%3) })},
	} {
		b.Run("n=10000/"+c.name, func(b *testing.B) {
			for b.Loop() {
				Match(old, c.new)
			}
		})
	}
	same := make([]string, 10_000)
	for i := range same {
		same[i] = fmt.Sprint("v", i%3)
	}
	repeats := session(same...)
	b.Run("n=10000/repeats", func(b *testing.B) {
		other := anew(repeats, func(i int, _ string) string { return fmt.Sprint("v", (i*7+i/5)%3) })
		for b.Loop() {
			Match(repeats, other)
		}
	})
}

func BenchmarkApply(b *testing.B) {
	old := program(10_000)
	edits := Match(old, anew(old, func(i int, _ string) string { return old[len(old)-1-i].Source }))
	for b.Loop() {
		if _, err := Apply(old, edits); err != nil {
			b.Fatal(err)
		}
	}
}

// A megabyte as a script, as cells, and with an error in every tenth definition.
func BenchmarkParse(b *testing.B) {
	one := "def f(a, b):\n    if a > b:\n        return {'k': a, 'v': [b, 1.5]}\n    return None\n\n\nx = f(1, " +
		"2)\nprint(x)\n\n"
	script := strings.Repeat(one, 1<<20/len(one))
	broken := strings.Repeat(strings.Repeat(one, 9)+strings.Replace(one, "def f(a", "def f((a", 1), 1<<20/len(one)/10)
	for _, c := range []struct{ name, text string }{
		{"script", script},
		{"cells", strings.ReplaceAll(script, "x = f", "# %% t\nx = f")},
		{"broken=1", "x = (\n\n" + script},
		{"broken=1000", broken},
		{"broken-cells", "# %%\nx = (\n\n" + strings.ReplaceAll(script, "x = f", "# %% t\nx = f")},
	} {
		b.Run("mb=1/"+c.name, func(b *testing.B) {
			b.SetBytes(int64(len(c.text)))
			for b.Loop() {
				if _, err := Parse("a.py", []byte(c.text)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
