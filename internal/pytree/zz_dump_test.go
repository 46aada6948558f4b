package pytree

import (
	"fmt"
	"github.com/smacker/go-tree-sitter"
	"github.com/smacker/go-tree-sitter/python"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestZZDump(t *testing.T) {
	src, _ := os.ReadFile(os.Getenv("DUMP"))
	if len(src) == 0 {
		t.Skip()
	}
	lang := python.GetLanguage()
	for _, part := range strings.Split(string(src), "\n#---\n") {
		tr, err := Parse([]byte(part))
		if err != nil {
			fmt.Printf("ERR %v in %q\n", err.(*Error), part)
			continue
		}
		var f func(i uint32) string
		f = func(i uint32) string {
			n := tr.Nodes[i]
			nm := lang.SymbolName(sitter.Symbol(n.Sym))
			if n.Next == i+1 {
				s := part[n.Start:n.End]
				if s == nm {
					return fmt.Sprintf("%q", s)
				}
				return fmt.Sprintf("%s:%q", nm, s)
			}
			s := "(" + nm
			for c := i + 1; c < n.Next; c = tr.Nodes[c].Next {
				s += " " + f(c)
			}
			return s + ")"
		}
		fmt.Println(part, "\n  =>", f(0))
		tr.Close()
	}
}
func TestZZSpeed(t *testing.T) {
	var all [][]byte
	total := 0
	filepath.Walk(os.Getenv("LIB"), func(p string, i os.FileInfo, e error) error {
		if e == nil && strings.HasSuffix(p, ".py") {
			b, _ := os.ReadFile(p)
			all = append(all, b)
			total += len(b)
		}
		return nil
	})
	t0 := time.Now()
	for _, b := range all {
		Bare(b)
	}
	d := time.Since(t0)
	fmt.Println(len(all), total, "bare", d, float64(total)/1e6/d.Seconds())
	nodes := 0
	bad := 0
	t0 = time.Now()
	for _, b := range all {
		tr, e := Parse(b)
		if e == nil {
			nodes += len(tr.Nodes)
			tr.Close()
		} else {
			bad++
		}
	}
	d = time.Since(t0)
	fmt.Println("flat", d, float64(total)/1e6/d.Seconds(), nodes, bad)
}
