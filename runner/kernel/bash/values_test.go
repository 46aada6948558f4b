package bash

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/runner/kernel"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/output"
)

func start(t *testing.T) kernel.Kernel {
	t.Helper()
	i := interpreters(t)[0]
	k, err := i.Start(
		t.Context(),
		kernel.Launch{Environ: i.Environ(os.Environ()), Folder: t.TempDir(), Spool: t.TempDir(),
			Store: t.TempDir(), Seed: 7},
	)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(k.Close)
	return k
}

func run(t *testing.T, k kernel.Kernel, text string) (kernel.Observation, string) {
	t.Helper()
	var out output.Screen
	seen, err := k.Execute(t.Context(), kernel.Node{Text: []byte(text), Line: 1}, kernel.Sink{Record: out.Add})
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	var b strings.Builder
	for _, o := range out.Outputs() {
		b.WriteString(o.Text)
	}
	return seen, b.String()
}

// TestRoundTrip: values of every kind come back in another shell as they were.
func TestRoundTrip(t *testing.T) {
	k, other := start(t), start(t)
	seen, _ := run(
		t,
		k,
		`plain=1; text=$'a\n"b" \'c\' \\ $d \x01 é'; empty=; declare -a list=(1 "two three" $'q\tz'); list[10]=z
declare -A map=([k]=v ["a b"]="c]d" [$'n\nl']=$'\'x"'); declare -i n=5; declare -r fixed=7; declare -u up=abc
declare -l low=ABC; export out=1; declare -x none; declare -ai nums=(1 2)
f() { local z=1; echo "in f $plain" <<END
$plain () 
{ 
END
}
g() { case $1 in a|b) : ;; *) return 2 ;; esac; }; export -f g
shopt -s extglob
`,
	)
	names := []string{
		"plain",
		"text",
		"empty",
		"list",
		"map",
		"n",
		"fixed",
		"up",
		"low",
		"out",
		"none",
		"nums",
		"f()",
		"g()",
	}
	digests := map[string]state.Digest{}
	for _, w := range seen.Writes {
		digests[w.Name] = w.Digest
	}
	for _, name := range names {
		if digests[name] == "" {
			t.Errorf("%s was not written", name)
			continue
		}
		stored, err := k.Store(t.Context(), kernel.Storing{Names: []string{name}})
		if err != nil || !stored.Done {
			t.Fatalf("store %s: %+v, %v", name, stored, err)
		}
		loaded, err := other.Load(t.Context(), kernel.Loading{Names: []string{name}, Data: stored.Data})
		if err != nil || !loaded.OK || loaded.Digests[name] != digests[name] {
			t.Errorf("load %s: %+v, %v; want %s", name, loaded, err, digests[name])
		}
	}
	show := `declare -p plain text empty list map n fixed up low out none nums; declare -f f g; declare -F`
	_, want := run(t, k, show)
	if _, got := run(t, other, show); got != want {
		t.Errorf("in another shell:\n%s\nwant:\n%s", got, want)
	}
}

// TestHidden: options, handlers, aliases and the like come back in another shell.
func TestHidden(t *testing.T) {
	k, other := start(t), start(t)
	seen, _ := run(
		t,
		k,
		`shopt -s extglob nullglob; set -o pipefail; set -f; trap 'echo "it'"'"'s"' USR1; trap 'n=$((n+1))' ERR
alias ll='ls -l'; umask 027; cd /tmp; pushd /usr >/dev/null; set -- p1 "p 2"`,
	)
	if len(seen.Hidden) < 8 {
		t.Errorf("it changed %v", seen.Hidden)
	}
	for key, d := range seen.Hidden {
		data, err := k.Hidden(t.Context(), depgraph.Key(key))
		if err == nil {
			err = other.SetHidden(t.Context(), depgraph.Key(key), d, false, data)
		}
		if err != nil {
			t.Fatal(key, err)
		}
	}
	show := `trap -p; alias; umask; pwd; dirs; echo "$@"; shopt -p; set +o`
	_, want := run(t, k, show)
	if _, got := run(t, other, show); got != want {
		t.Errorf("in another shell:\n%s\nwant:\n%s", got, want)
	}
}

// TestReads: what a node reads is predicted through the functions that it calls.
func TestReads(t *testing.T) {
	k := start(t)
	run(t, k, `f() { echo "$x"; g; }; g() { local y=1; echo "$z $y"; }; x=1; z=2; w=3`)
	seen, _ := run(t, k, "f")
	for _, name := range []string{"f()", "g()", "x", "z"} {
		if !slices.Contains(seen.Names, name) {
			t.Errorf("f read %v, and not %s", seen.Names, name)
		}
	}
	if slices.Contains(seen.Names, "w") || slices.Contains(seen.Names, "y") {
		t.Errorf("f read %v", seen.Names)
	}
	if seen, _ := run(t, k, "x=1"); len(seen.Writes) == 0 && !slices.Contains(seen.Names, "x") {
		t.Error("an assignment of an equal value is no write and no read")
	}
}

// TestEnds: a program that ends its shell goes on with the state from before.
func TestEnds(t *testing.T) {
	k := start(t)
	run(t, k, "x=(1 2); f() { echo \"f ${x[1]}\"; }")
	seen, out := run(t, k, "trap 'echo bye' EXIT; echo one; x=3; exit 4")
	if seen.Ending == nil || seen.Ending.Code != 4 || out != "one\nbye\n" {
		t.Errorf("exit: %+v, %q", seen.Ending, out)
	}
	if _, out := run(t, k, "f"); out != "f 2\n" {
		t.Errorf("after exit, f prints %q", out)
	}
	if seen, _ := run(t, k, "set -e; (exit 3); echo no"); seen.Ending == nil || seen.Ending.Code != 3 {
		t.Errorf("set -e: %+v", seen.Ending)
	}
	if seen, _ := run(t, k, `set -u; echo "$nothing"`); seen.Failure == nil || seen.Failure.Name != "nothing" {
		t.Errorf("set -u: %+v", seen.Failure)
	}
}

// TestLines: messages have the name of the program's file and the line in the block.
func TestLines(t *testing.T) {
	k := start(t)
	var out output.Screen
	node := kernel.Node{Text: []byte("echo $LINENO\n\nno_such_command"), Line: 7}
	if _, err := k.Execute(t.Context(), node, kernel.Sink{Record: out.Add}); err != nil {
		t.Fatal(err)
	}
	want := "7\nbash: line 9: no_such_command: command not found\n"
	text := ""
	for _, o := range out.Outputs() {
		text += o.Text
	}
	if text != want {
		t.Errorf("got %q, want %q", text, want)
	}
}

func BenchmarkEmpty(b *testing.B) {
	i := interpreters(b)[0]
	k, err := i.Start(
		b.Context(),
		kernel.Launch{Environ: i.Environ(os.Environ()), Folder: b.TempDir(), Spool: b.TempDir(),
			Store: b.TempDir(), Seed: 7},
	)
	if err != nil {
		b.Fatal(err)
	}
	defer k.Close()
	for b.Loop() {
		if _, err := k.Execute(b.Context(), kernel.Node{Text: []byte(":"), Line: 1},
			kernel.Sink{Record: func(output.Output) {}}); err != nil {
			b.Fatal(err)
		}
	}
}

func TestPlainOfOtherThanText(t *testing.T) {
	for _, c := range []struct {
		d   declaration
		why string
	}{
		{declaration{name: "x", value: `=$'\377'`}, ": text that is not UTF-8"},
		{declaration{name: "x", attrs: "a", value: `=([0]="1" [2]=$'\377')`}, "[2]: text that is not UTF-8"},
		{declaration{name: "f()", value: "f () { :; }"}, ": a function"},
	} {
		if _, why := plainOf(c.d); why != c.why {
			t.Errorf("plainOf(%v) = %q, want %q", c.d, why, c.why)
		}
	}
}
