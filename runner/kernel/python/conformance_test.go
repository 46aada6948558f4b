package python

import (
	"os"
	"os/exec"
	"testing"

	source "github.com/xstate-engine/xstate/depgraph/python"
	"github.com/xstate-engine/xstate/runner/kernel"
	"github.com/xstate-engine/xstate/runner/kernel/kerneltest"
)

const printing = `for name, text in ("stdout", "one"), ("stderr", "two"), ("stdout", "three"):
    print(text, file=getattr(__import__("sys"), name))
`

// TestConformance: the kernels of every interpreter to test with keep the contract of package kernel.
func TestConformance(t *testing.T) {
	for _, name := range pythons() {
		path, err := exec.LookPath(name)
		if err != nil {
			t.Fatal(err)
		}
		interpreter, err := Identify(t.Context(), kernel.Search{Cache: t.TempDir(), Environ: os.Environ()}, path)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(interpreter.String(), func(t *testing.T) {
			kerneltest.Run(t, kerneltest.Subject{
				Language: interpreter, Dialect: source.Plain, Environ: os.Environ(),
				Texts: kerneltest.Texts{
					Bind:    "a = [1, 2]\n",
					Other:   "a = [1, 3]\n",
					Alias:   "b = a\n",
					Append:  "a.append(3)\n",
					Read:    "print(len(a), b)\n",
					Fail:    "raise ValueError('no')\n",
					Missing: "nowhere\n",
					Invalid: "a = (\n",
					Refused: "return 1\n",
					Loop:    "while True: pass\n",
					Die:     "__import__('os')._exit(3)\n",
					Print:   printing,
				},
			})
		})
	}
}
