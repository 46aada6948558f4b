package bash

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	source "github.com/xstate-engine/xstate/depgraph/bash"
	"github.com/xstate-engine/xstate/runner/kernel"
	"github.com/xstate-engine/xstate/runner/kernel/kerneltest"
)

// interpreters returns the interpreters to test with: those of XSTATE_TEST_BASHES, else the one on the path.
func interpreters(t testing.TB) []Interpreter {
	t.Helper()
	names := []string{""}
	if list := os.Getenv("XSTATE_TEST_BASHES"); list != "" {
		names = filepath.SplitList(list)
	}
	var found []Interpreter
	for _, name := range names {
		e, err := kernel.LookupSpace("sh")
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

// TestConformance: the kernels of every interpreter to test with keep the contract of package kernel.
func TestConformance(t *testing.T) {
	texts := kerneltest.Texts{
		Bind:    "a=(1 2)\n",
		Other:   "a=(1 3)\n",
		Alias:   `: "${a?}" && declare -n b=a` + "\n",
		Append:  "a+=(3)\n",
		Read:    `echo "${#a[@]} ${b[*]}"` + "\n",
		Fail:    `: "${1:?no}"` + "\n",
		Missing: `: "${nowhere?}"` + "\n",
		Invalid: "a=(\n",
		Loop:    "while :; do :; done\n",
		Die:     "kill -9 $$\n",
		Print:   "{ echo one; echo two >&2; echo three; }\n",
	}
	for _, i := range interpreters(t) {
		t.Run(strings.ReplaceAll(i.String(), " ", "-"), func(t *testing.T) {
			kerneltest.Run(
				t,
				kerneltest.Subject{Language: i, Dialect: source.Bash, Environ: os.Environ(), Texts: texts},
			)
		})
	}
}
