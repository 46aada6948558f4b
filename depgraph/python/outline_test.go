package python

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestOutline(t *testing.T) {
	const text = `import os
from math import sqrt as root
limit: int = 3
a, b = 1, 2
def clean(rows, *, strict = False, sep=", ") -> "list[int]": # a comment
    def inner(): assert rows
    return rows
@cached
async def load(path : str,  /, mode='r',): pass
class Model(Base,
            metaclass=M):
    """Text."""
    kind = "x"
    def __init__(self, rows): self.rows = rows
    @property
    def size(self): return len(self.rows)
    class Part: pass
@dataclass
class Point:
    x: int
    y: int = 0
if limit:
    def late[T: int](x: T): return lambda y: x
    assert a == 1
def clean(rows): pass
assert b
`
	want := `os: os 0-0
root: root 0-0
limit: limit 0-0
a: a 0-0
b: b 0-0
clean: def clean(rows) 25-25
load: async def load(path: str, /, mode='r',) 8-9
Model: class Model(Base, metaclass=M): def __init__(self, rows) 10-17
Point: class Point: x: int; y: int=0 18-21
late: def late[T: int](x: T) 23-23
Model.kind: Model.kind 0-0
Model.__init__: def __init__(self, rows) 14-14
Model.size: @property def size(self) 15-16
Model.Part: class Part 17-17
Point.x: Point.x 0-0
Point.y: Point.y 0-0
asserts [24 26]
`
	o, err := Outline([]byte(text), Plain)
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	for _, d := range o.Definitions {
		fmt.Fprintf(&got, "%s: %s %d-%d\n", d.Name, d.Signature, d.Line, d.End)
	}
	fmt.Fprintln(&got, "asserts", o.Asserts)
	if diff := cmp.Diff(want, got.String()); diff != "" {
		t.Errorf("OutlineOf: (-want +got)\n%s", diff)
	}
	if _, err := Outline([]byte("def f(:"), Plain); err == nil {
		t.Error("OutlineOf a text with an error succeeds")
	}
}

// TestSignatures: layout, comments and bodies are not part of a signature; everything else is.
func TestSignatures(t *testing.T) {
	signature := func(text string) string {
		t.Helper()
		o, err := Outline([]byte(text), Plain)
		if err != nil {
			t.Fatal(err)
		}
		return o.Definitions[0].Signature
	}
	base := signature("def f(a, b=1, *c): return a")
	for _, same := range []string{"def f(a,b = 1,*c):\n  return b", "def f(a, # x\n      b=1, *c):\n  '''doc'''",
		"@cache\ndef f(a, b=1, *c): ..."} {
		if got := signature(same); got != base {
			t.Errorf("signature of %q = %q, want %q", same, got, base)
		}
	}
	for _, other := range []string{"def f(a, b=2, *c): return a", "def f(a, b=1, **c): return a",
		"def f(a, b=1): return a", "def f(a, b=1, *c) -> int: return a", "async def f(a, b=1, *c): return a",
		"@staticmethod\ndef f(a, b=1, *c): return a"} {
		if got := signature(other); got == base {
			t.Errorf("signature of %q is that of the other", other)
		}
	}
}
