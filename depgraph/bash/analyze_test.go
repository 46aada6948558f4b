package bash

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/xstate-engine/xstate/depgraph"
)

var update = flag.Bool("update", false, "write the golden files")

// nodeText writes a node as one line: its kind and every list that is not empty.
func nodeText(n *depgraph.Node) string {
	var b strings.Builder
	b.WriteString([]string{"run", "import", "def", "class"}[n.Kind])
	fmt.Fprintf(&b, " %d-%d", n.Line, n.EndLine)
	for _, list := range []struct {
		name  string
		names []string
	}{{"certain", n.Certain}, {"defines", n.Defines}, {"deletes", n.Deletes}, {"uses", n.Uses}, {"later", n.Later},
		{"rebinds", n.Rebinds}, {"mutates", n.Mutates}, {"mutates-later", n.MutatesLater}} {
		if len(list.names) > 0 {
			fmt.Fprintf(&b, " %s=%s", list.name, strings.Join(list.names, ","))
		}
	}
	for _, e := range n.Effects {
		fmt.Fprintf(&b, " effect=%s:%s(%s)%s/%d", e.Kind, e.What, e.Arg, e.Key, e.Mode)
		if e.Later {
			b.WriteString("/later")
		}
	}
	for _, d := range n.Dynamic {
		fmt.Fprintf(&b, " dynamic=%s", d.What)
		if d.Later {
			b.WriteString("/later")
		}
	}
	return b.String()
}

func factsText(source string) string {
	f, err := Analyze([]byte(source), Bash)
	if err != nil {
		return "error " + err.Error()
	}
	var lines []string
	for i := range f.Nodes {
		lines = append(lines, nodeText(&f.Nodes[i]))
	}
	return strings.Join(lines, "\n")
}

// TestAnalyze: the facts of each source are those of the golden file; -update writes it.
func TestAnalyze(t *testing.T) {
	var text strings.Builder
	for _, test := range []struct{ name, source string }{
		{"assignment", "x=1 y=$x z=$w"},
		{"a program", "tar cf out.tar $files"},
		{"assignment before a command", "A=$b sort"},
		{"elements", "a[i]=1; b+=2; c=([k]=$v w)"},
		{"functions", "f() { local a=$b; c=$a; d=1; unset e; g+=1; echo $1; }\nf"},
		{"local in a condition", "f() { if x; then local a; fi; a=$a; }"},
		{"local in a subshell", "f() { (local a; a=1; echo $a); echo $a; }"},
		{"subshells", "(x=$y; cd /); a=$(b=$c); echo $x | read d & e=1"},
		{"branches", "if [ $a = b ]; then c=1; else d=2; fi; for i in *.txt; do e=$i; done; f=1 && g=2"},
		{"read before it is bound", "{ x=1; echo $x; y=$y; }"},
		{"builtins", "read -r a b[i] <f; mapfile -t c; printf -v d %s x; getopts ab: e; unset f 'g[h]'"},
		{"builtins with computed names", `read "$a"; unset $b; printf -v "$c" x; export $d; local "$@"`},
		{"declarations",
			`declare -i n=m+1; export E=$f; readonly R; declare -A h=([k]=$v); declare "q=$r"; declare -x $s`},
		{"namerefs", "declare -n r=x; declare -n s=$y"},
		{"exported functions", "export -f f; declare -f g; export -p; declare -p h"},
		{"arithmetic",
			"((i++, j=k[l])); let 'm+=n' o=1; for ((p=0;p<q;p++)); do :; done; " +
				"[[ r -lt $s ]]; ${t:u}; x=$((16#ff + y))"},
		{"computed arithmetic", "echo $((a$b)) $(($c$d)) $((10#$e))"},
		{"expansions", `echo ${a:-$b} ${c:=d} ${e/$f/$g} ${!h} ${!i@} ${!j[@]} ${k@P} ${#l} ${m[$n]} "${o[*]}" ~/x ~+`},
		{"code as text", `eval 'x=$y'; eval "$z"; source lib.sh; . "$w"`},
		{"traps", `trap 'echo $a; b=1' EXIT; trap "rm $c" INT; trap - EXIT`},
		{"hidden state",
			"set -e; set -- a b; set -o pipefail; shopt -s nullglob; cd sub; shift; umask 022; exec 3<f; LC_ALL=C"},
		{"parameters", `echo $? $1 "$@" $! $RANDOM $SECONDS $$; f() { echo $2 $?; }`},
		{"redirections", "a >f 2>>g <$h {fd}<i 3>&1 &>/dev/null"},
		{"here-documents", "cat <<E; b=1\n$a\nE\ncat <<'E'\n$a\nE\nc=2"},
		{"an empty here-document", "cat <<E\nE\nx=1"},
		{"tests", `[[ -v a[i] && -f $b && $c =~ $d ]]; [ -v e ]; test -f f`},
		{"case and select", "case $a in b*) c=1;; $d) ;; esac; select e in $f; do g=1; done"},
		{"lookups", "command -v f; type g; command h i; builtin cd j; \\k"},
		{"coproc", "coproc P { x=1; }; wait -p q"},
		{"a function that is defined above", "{ f() { x=$y; }; f; }"},
		{"let and time", "time f; ! g; { h; } 2>i"},
		{"processes", "diff <(a $b) >(c=1) & "},
		{"jobs that are waited for",
			"for x in $a; do sleep $x & wait -n; done\nb=$!\nwait; c=1\nf() { d & }\ne & f; wait <<E; g\nE\nh"},
		{"a name that is computed by braces", "unset {a,b}; $cmd; \"$(x)\" y"},
		{"does not parse", "if x; then\n"},
		{"does not parse", "echo ä \"x"},
		{"a null byte", "a\nb\x00"},
	} {
		fmt.Fprintf(&text, "# %s\n%s\n-> %s\n\n", test.name, strings.ReplaceAll(test.source, "\x00", `\x00`),
			strings.ReplaceAll(factsText(test.source), "\n", "\n   "))
	}
	const golden = "testdata/facts.golden"
	if *update {
		if err := os.WriteFile(golden, []byte(text.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), text.String()); d != "" {
		t.Errorf("facts differ (-want +got); -update accepts them:\n%s", d)
	}
}

// TestAnalyzeDeep: what would exhaust the stack of the parser is an error.
func TestAnalyzeDeep(t *testing.T) {
	for _, open := range []string{"(", "{ ", "$(", "$((", "a[", "${a:-", "((", "[[ ( ", "if ", "! ",
		"while true; do "} {
		if _, err := Analyze([]byte(strings.Repeat(open, 8_000_000/len(open))), Bash); err == nil {
			t.Errorf("Analyze of many %q succeeds", open)
		}
	}
	long := strings.Repeat("a && ", 100_000) + "a " + strings.Repeat("| b ", 100_000)
	if _, err := Analyze([]byte(long), Bash); err != nil {
		t.Errorf("Analyze of a long list: %v", err)
	}
}

func TestTokens(t *testing.T) {
	tokens := func(source string) string {
		f, err := Analyze([]byte(source), Bash)
		if err != nil {
			t.Fatalf("Analyze(%q): %v", source, err)
		}
		return f.Tokens()
	}
	for _, same := range [][2]string{
		{"a; b", "a\n\n# c\nb"}, {"if a; then b; fi", "if a\nthen\n  b # c\nfi\n"}, {"f() { a; }", "f ()\n{\n\ta\n}"},
		{"a \\\n  b", "a b"}, {"cat <<E\nx\nE", "cat  <<E\nx\nE\n"}, {"((a+b))", "(( a + b ))"}, {"a=(1 2)",
			"a=(1\n2)"},
	} {
		if tokens(same[0]) != tokens(same[1]) {
			t.Errorf("the tokens of %q and %q differ", same[0], same[1])
		}
	}
	for _, other := range [][2]string{
		{"a b", "ab"}, {"a 'b'", "a b"}, {"for x; do a; done", "for x in; do a; done"}, {"a & b", "a; b"},
		{"a | b", "a || b"}, {"cat <<E\nx\nE", "cat <<E\nx \nE"}, {"cat <<E\nx\nE", "cat <<'E'\nx\nE"},
		{"if a; then b; fi", "while a; do b; done"}, {"a >b", "a >>b"},
		{"if a; then b; elif c; then d; fi", "if a; then b; else c; d; fi"}, {"x=1 a", "x=1; a"}, {"(a)", "{ a; }"},
		{"a 2>b", "a 2 >b"}, {"while a; do b; done", "until a; do b; done"}, {"! a", "a"}, {"x=", "x=''"},
	} {
		if tokens(other[0]) == tokens(other[1]) {
			t.Errorf("the tokens of %q and %q are the same", other[0], other[1])
		}
	}
}

func TestNeeded(t *testing.T) {
	f, err := Analyze([]byte("x=1; y=$y z[1]=2\n((a++)); b=$((c[$d])); f() { ((g)); }\necho $1 $? \"$@\""), Bash)
	if err != nil {
		t.Fatal(err)
	}
	want := []Needs{
		{Kinds: []string{"x"}},
		{},
		{Numbers: []string{"a"}},
		{Kinds: []string{"b"}, Numbers: []string{"c", "d"}},
		{Numbers: []string{"g"}},
		{Parameters: []string{"1", "?", "@"}},
	}
	if d := cmp.Diff(want, Needed(f)); d != "" {
		t.Errorf("Needed (-want +got):\n%s", d)
	}
}

func TestOutlineAndComments(t *testing.T) {
	const source = "#!/bin/bash\n# xstate: seed 1\nx=1 # it\nf() {\n  echo '# no'\n}\nassert_equal a b\ncat <<E\n# " +
		"no\nE\nx=2\n"
	o, err := Outline([]byte(source), Bash)
	if err != nil {
		t.Fatal(err)
	}
	want := &depgraph.Outline{
		Definitions: []depgraph.Definition{
			{Name: "f", Signature: "f()", Line: 4, End: 6}, {Name: "x", Signature: "x"}},
		Asserts: []int{7},
	}
	if d := cmp.Diff(want, o); d != "" {
		t.Errorf("Outline (-want +got):\n%s", d)
	}
	f, err := Analyze([]byte(source), Bash)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := Comments(f), []string{"#!/bin/bash", "# xstate: seed 1", "# it"}; !slices.Equal(got, want) {
		t.Errorf("Comments = %q, want %q", got, want)
	}
}

func TestNames(t *testing.T) {
	if name, is := IsFunction(Function("f")); !is || name != "f" {
		t.Errorf("IsFunction(Function(f)) = %q, %v", name, is)
	}
	if _, is := IsFunction("f"); is {
		t.Error("IsFunction(f) is true")
	}
	if !IsOption("LC_ALL") || IsOption("x") || !IsVolatile("RANDOM") || IsVolatile("x") {
		t.Error("options or variables that Bash changes are not told apart")
	}
}
