package node

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/xstate-engine/xstate/depgraph"
	source "github.com/xstate-engine/xstate/depgraph/javascript"
	"github.com/xstate-engine/xstate/runner/kernel"
	"github.com/xstate-engine/xstate/runner/kernel/kerneltest"
)

// interpreters returns the interpreters to test with: those of XSTATE_TEST_NODES, else the one on the path.
func interpreters(t testing.TB) []Interpreter {
	t.Helper()
	names := []string{""}
	if list := os.Getenv("XSTATE_TEST_NODES"); list != "" {
		names = filepath.SplitList(list)
	}
	var found []Interpreter
	for _, name := range names {
		e, err := kernel.LookupSpace("js")
		if err != nil {
			t.Fatal(err)
		}
		i, err := e.Find(t.Context(), kernel.Search{Asked: name, Folder: t.TempDir(), Environ: os.Environ()})
		if err != nil {
			t.Skip(err)
		}
		found = append(found, i.(Interpreter))
	}
	return found
}

// TestConformance: the kernels of every interpreter to test with keep the contract of package kernel, in each dialect.
func TestConformance(t *testing.T) {
	plain := kerneltest.Texts{
		Bind:    "let a = [1, 2]\n",
		Other:   "let a = [1, 3]\n",
		Alias:   "let b = a\n",
		Append:  "a.push(3)\n",
		Read:    "console.log(a.length, b)\n",
		Fail:    "throw new TypeError('no')\n",
		Missing: "nowhere\n",
		Invalid: "let a = (\n",
		Refused: "break\n",
		Loop:    "for (;;) {}\n",
		Die:     "process.kill(process.pid, 'SIGKILL')\n",
		Print:   "(console.log('one'), console.error('two'), console.log('three'))\n",
	}
	typed := plain
	typed.Bind, typed.Other = "let a: number[] = [1, 2]\n", "const a = [1, 3] as number[]\n"
	typed.Loop = "while (true as boolean) {}\n"
	for _, i := range interpreters(t) {
		for d, texts := range map[depgraph.Dialect]kerneltest.Texts{
			source.JavaScript: plain, source.ESM: plain, source.TypeScript: typed, source.TSX: typed,
		} {
			t.Run(strings.ReplaceAll(i.String(), " ", "-")+"/"+string(d), func(t *testing.T) {
				kerneltest.Run(t, kerneltest.Subject{Language: i, Dialect: d, Environ: os.Environ(), Texts: texts})
			})
		}
	}
}
