package python

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/depgraph/python/pytree"
)

// library returns the sources of the default interpreter's standard library.
var library = sync.OnceValues(func() ([][]byte, error) {
	out, err := exec.Command("python3", "-I", "-c", "import sysconfig; print(sysconfig.get_path('stdlib'))").Output()
	if err != nil {
		return nil, err
	}
	var all [][]byte
	err = filepath.WalkDir(strings.TrimSpace(string(out)), func(path string, d fs.DirEntry, err error) error {
		if d != nil && d.IsDir() && strings.HasSuffix(path, "-packages") {
			return filepath.SkipDir
		}
		if err != nil || filepath.Ext(path) != ".py" {
			return err
		}
		src, err := os.ReadFile(path)
		if utf8.Valid(src) {
			all = append(all, src)
		}
		return err
	})
	return all, err
})

func corpus(tb testing.TB) (files [][]byte, size int64) {
	files, err := library()
	if err != nil {
		tb.Fatal(err)
	}
	if len(files) < 1000 {
		tb.Fatalf("the library has %d files, want the whole of it", len(files))
	}
	for _, f := range files {
		size += int64(len(f))
	}
	return files, size
}

// The two benchmarks read the same text. Analyze parses it, too, and should take only a little longer.
func BenchmarkAnalyze(b *testing.B) {
	files, size := corpus(b)
	b.SetBytes(size)
	for b.Loop() {
		for _, f := range files {
			Analyze(f, Plain)
		}
	}
}

func BenchmarkBareParse(b *testing.B) {
	files, size := corpus(b)
	b.SetBytes(size)
	for b.Loop() {
		for _, f := range files {
			pytree.Bare(f)
		}
	}
}

func BenchmarkAnalyzeBlock(b *testing.B) {
	src := []byte(
		"import pandas as pd\ndf = pd.read_csv('a.csv')\nfor c in df.columns:\n    df[c] = df[c].fillna(0)\n" +
			"df.head()\n",
	)
	b.SetBytes(int64(len(src)))
	for b.Loop() {
		if _, err := Analyze(src, Plain); err != nil {
			b.Fatal(err)
		}
	}
}

// law checks what must hold for any text.
func law(t *testing.T, src []byte, d depgraph.Dialect) {
	f, err := Analyze(src, d)
	again, err2 := Analyze(src, d)
	if !reflect.DeepEqual(f, again) || !reflect.DeepEqual(err, err2) {
		t.Fatalf("Analyze(%q) differs from one call to the next", src)
	}
	if err != nil {
		e, ok := err.(*depgraph.SyntaxError)
		if !ok || e.Line < 1 || e.Column < 1 || e.Msg == "" {
			t.Fatalf("Analyze(%q) = %#v, want a *depgraph.SyntaxError with a position", src, err)
		}
		return
	}
	if _, err := analyze(f.Code, runs); err != nil {
		t.Fatalf("analyze(%q) = %v, but Analyze accepts it", f.Code, err)
	}
	at := 0
	for _, n := range f.Nodes {
		if n.Start < at || n.End <= n.Start || n.End > len(f.Code) || n.Line > n.EndLine {
			t.Fatalf("Analyze(%q) has node %d:%d behind %d", src, n.Start, n.End, at)
		}
		if between := gap(string(f.Code[at:n.Start])); between != "" {
			t.Fatalf("Analyze(%q) leaves out %q", src, between)
		}
		at = n.End
	}
	if between := gap(string(f.Code[at:])); between != "" {
		t.Fatalf("Analyze(%q) leaves out %q at the end", src, between)
	}
}

// gap returns the part of the text between two nodes that is neither layout nor a comment.
func gap(text string) string {
	for text != "" {
		switch text[0] {
		case '#':
			_, text, _ = strings.Cut(text, "\n")
		case ' ', '\t', '\n', '\r', '\f', '\\', ';', '\v':
			text = text[1:]
		default:
			if !strings.HasPrefix(text, byteOrderMark) {
				return text
			}
			text = text[len(byteOrderMark):]
		}
	}
	return ""
}

func TestLibraryLaws(t *testing.T) {
	files, _ := corpus(t)
	for i, src := range files {
		if i%7 == 0 {
			law(t, src, Plain)
			law(t, src, IPython)
		}
	}
}

func FuzzAnalyze(f *testing.F) {
	for _, src := range []string{
		"x = 1\n", "def f(a, *b, c=1, **d): return a\n", "%time x = 1\n", "!ls {x}\n", "%%capture a\nx\n", "x?\n",
		"class A[T](B):\n  x: int = 1\n", "match x:\n  case [a, *_]: pass\n", "try:\n  a\nexcept* B as c:\n  d\n",
		"f'{x!r:>{w}}'\n", "[x := 1 for y in z]\n", "type X[T] = list[T]\n", "with (a as b, c): pass\n", "x = \\\n" +
			" 1;\n",
		"type(a).b = 1\n", "async def f():\n  async with a as b: await c\n", "lambda *a, b=1: a\n", "del (a), [b]\n",
	} {
		f.Add([]byte(src), true)
		f.Add([]byte(src), false)
	}
	f.Fuzz(func(t *testing.T, src []byte, ipython bool) {
		d := Plain
		if ipython {
			d = IPython
		}
		law(t, src, d)
	})
}
