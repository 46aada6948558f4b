package bench

import (
	"fmt"
	"testing"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/patch"
	"github.com/xstate-engine/xstate/patch/syntax"
)

// BenchmarkExec measures one call of Exec in an open session: a new block of one statement after so many blocks, and
// the same text again.
func BenchmarkExec(b *testing.B) {
	for _, blocks := range []int{0, 50, 100} {
		b.Run(fmt.Sprintf("new/%d", blocks), func(b *testing.B) {
			s := execSession(b, blocks)
			first, n := head(b, s), 0
			for b.Loop() {
				n++
				execCode(b, s, fmt.Sprintf("y%d = x0 + %d; print(y%d)", n, n, n))
				if n%10 == 0 { // keep the program's size
					b.StopTimer()
					if _, err := s.Rollback(b.Context(), first, xstate.Origin{}); err != nil {
						b.Fatal(err)
					}
					b.StartTimer()
				}
			}
		})
		b.Run(fmt.Sprintf("again/%d", blocks), func(b *testing.B) {
			s := execSession(b, blocks)
			for b.Loop() {
				execCode(b, s, "print(x0)")
			}
		})
	}
}

func execCode(b *testing.B, s *xstate.Session, code string) {
	b.Helper()
	done, err := s.Exec(b.Context(), code, xstate.ExecOptions{})
	if err != nil {
		b.Fatal(err)
	}
	for _, o := range done.Outcome.Blocks {
		if o.Err != nil {
			b.Fatal(o.Err)
		}
	}
}

func head(b *testing.B, s *xstate.Session) xstate.StepNumber {
	b.Helper()
	n, _, err := s.Store().State().Head(b.Context(), s.Name())
	if err != nil {
		b.Fatal(err)
	}
	return n
}

// execSession opens a session whose program has so many blocks like those of agents, and one more.
func execSession(b *testing.B, blocks int) *xstate.Session {
	b.Helper()
	dir := b.TempDir()
	store, err := xstate.Open(b.Context(), dir+"/"+xstate.StoreName, xstate.Options{})
	if err != nil {
		b.Fatal(err)
	}
	s, err := store.Session(b.Context(), "main", xstate.SessionOptions{Workspace: dir})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		s.Close()
		store.Close()
	})
	program := []patch.Block{{Source: "x0 = 1"}}
	for i := range blocks {
		program = append(program, patch.Block{Dialect: syntax.Python, Source: fmt.Sprintf(
			"part%d = [k * %d for k in range(20)]\ntotal%d = sum(part%d) + x0\nprint(\"total of part %d:\", total%d)",
			i, i, i, i, i, i)})
	}
	for _, block := range program {
		if _, err := s.Append(b.Context(), block, "", xstate.Origin{}); err != nil {
			b.Fatal(err)
		}
	}
	execCode(b, s, "print(x0)")
	return s
}
