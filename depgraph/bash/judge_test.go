package bash

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/internal/xstatetest/await"
)

// Bash itself judges the facts: which texts parse and which functions they define, for scripts of this machine, and
// what
// commands of random programs read and write.

func judge(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("the judge is not installed: ", err)
	}
	return path
}

// ask runs a script. out is what it printed.
func ask(t *testing.T, judge, folder, script string, args ...string) (out string, ok bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), await.Long)
	defer cancel()
	cmd := exec.CommandContext(ctx, judge, append([]string{"--norc", "--noprofile", "-c", script, "judge"}, args...)...)
	cmd.Dir, cmd.Env = folder, []string{"PATH=/usr/bin:/bin", "LC_ALL=C.UTF-8"}
	var stdout bytes.Buffer
	cmd.Stdout = &stdout
	err := cmd.Run()
	if ctx.Err() != nil {
		t.Fatalf("bash does not end: %s", script)
	}
	return stdout.String(), err == nil
}

var shebang = regexp.MustCompile(`^#! ?/(usr/)?bin/(env )?(ba|da)?sh\b`)

// scripts returns the scripts of this machine, by path.
func scripts(t *testing.T) []string {
	var found []string
	for _, root := range []string{"/usr/bin", "/usr/sbin", "/etc", "/usr/share", "/usr/lib"} {
		_ = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() || len(found) == 400 {
				return nil // what cannot be read is left out
			}
			if info, err := d.Info(); err != nil || info.Size() > 200_000 || info.Size() < 20 {
				return nil
			}
			file, err := os.Open(path)
			if err != nil {
				return nil
			}
			defer file.Close()
			head := make([]byte, 24)
			n, _ := file.Read(head)
			if shebang.Match(head[:n]) {
				found = append(found, path)
			}
			return nil
		})
	}
	if len(found) == 0 {
		t.Skip("there are no scripts on this machine")
	}
	return found
}

// twoSubshells is the error for "((a) | b)", which the parser takes for arithmetic. Bash tries both.
var twoSubshells = regexp.MustCompile(`not a valid arithmetic operator`)

// TestScriptsAgreeWithBash: a text parses if and only if it does for Bash, and the nodes that are definitions define
// the functions that Bash sees when it reads these nodes alone.
func TestScriptsAgreeWithBash(t *testing.T) {
	bash := judge(t)
	folder := t.TempDir()
	parsed, functions := 0, 0
	list := scripts(t)
	for _, path := range list {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		_, want := ask(t, bash, folder, `bash -O extglob -n "$1" 2>/dev/null`, path)
		facts, err := Analyze(text, Bash)
		if got := err == nil; got != want && !(want && twoSubshells.MatchString(err.Error())) {
			t.Errorf("%s: Analyze: %v; Bash parses it: %v", path, err, want)
		}
		if err != nil {
			continue
		}
		parsed++
		var code strings.Builder
		names := map[string]bool{}
		end := 0
		for _, n := range facts.Nodes {
			if n.Start < end || n.End <= n.Start {
				t.Errorf("%s: the node at line %d has the range %d-%d after %d", path, n.Line, n.Start, n.End, end)
			}
			if end = n.End; n.Kind == depgraph.KindDef {
				code.Write(text[n.Start:n.End])
				code.WriteByte('\n')
				names[strings.TrimSuffix(n.Defines[0], "()")] = true
			}
		}
		out, _ := ask(t, bash, folder, `eval "$1"; declare -F`, code.String())
		seen := map[string]bool{}
		for _, line := range strings.Fields(strings.ReplaceAll(out, "declare -f ", "")) {
			seen[line] = true
		}
		if functions += len(seen); !maps.Equal(names, seen) {
			t.Errorf(
				"%s: functions %v, Bash sees %v",
				path,
				slices.Sorted(maps.Keys(names)),
				slices.Sorted(maps.Keys(seen)),
			)
		}
	}
	t.Logf("%d scripts, %d parse, %d functions", len(list), parsed, functions)
}

// templates are commands of random programs: V and W are variables, R an array, H an associative array, N a nameref, F
// a
// function, K a number and S another command.
var templates = strings.Split(`V=K
V=$W
V=${W:-K}
V+=$W
V=$W W=$V
V=$((W + K))
((V++))
((V = W + K, W += 2))
((V ? (W = K) : R[1]))
R=(K $V "${W}x")
R+=($V)
R[K]=$V
R[W]=K
V=${R[W]}${#R[@]}
V=${!R[*]}
H[K]=$V
H[$V]=K
V=${H[$W]-none}
V="${H[*]}"
unset V
unset 'R[1]'
unset -f F
unset -v R
declare -i V=K+W
declare -u V
declare V=$W
declare -a R=($V K)
declare -A H=([a]=$V [b]=K)
export V
export V=$W
declare -x W
declare +x V
declare -n N=V
N=$V
V=$N
unset -n N
((N += 1))
read -r V W <<<"$W K"
read -a R <<<"K $V"
read <<<"$V"; V=$REPLY
IFS=: read -r V W <<<"K:$V"
IFS=$V
mapfile -t R <<<"$V"
mapfile -t -O 1 R <<<"$V"
printf -v V '%s-%s' "$W" K
printf -v 'R[2]' '%s' "$W"
let V=W+K
let 'V += W'
let "R[1] = V"
: ${V:=$W}
: "${V=K}"
echo "$V ${W%K*} ${#V} ${V/K/$W} ${V:0:W} ${R[@]:1}"
echo $V
echo "${V@A}" "${V@Q}"
echo "${!V}"
echo ${!V*}
echo ~/V
[[ $V == $W ]] && V=K
[[ -v V && -n $W ]] || W=K
[[ K$V =~ ([0-9])$W ]] && V=${BASH_REMATCH[1]}
[[ V -lt W ]] && echo less
[ -n "$V" ] && S
test "$V" = K || S
if ((V > W)); then S; else S; fi
for V in K $W; do S; done
for ((V = 0; V < 2; V++)); do S; break; done
while ((V < K)); do V=9; S; break; done
case $V in K) S ;; $W) S ;; *) echo other ;; esac
( S; V=K; echo $V )
V=$(S; echo $W)
echo $V | { read -r W; S; echo $W; }
{ S; S; }
S && S || S
! S
eval 'V=$W'
eval "V=$W"
eval "$V=K"
getopts ab V -a -b
set -- $V K
shift
V=$1$#
V=$?
set -u; echo ${V-}; set +u
set -f; echo $V; set +f
shopt -s nullglob; shopt -u nullglob
F() { V=$W; S; }
F() { local V=$W; W=$V; S; }
F() { local V; V=K; echo $V$W; }
F() { declare -g V=$W; }
F() { echo $1 $V; return K; }
F() { unset V; }
F() { local -n q=V; q=K; echo $q; }
F() { local -n q=$1; q=K; }
F() ( V=K; echo $V $W )
F V
F $W
V=K F
V=$(F K)
command printf -v V %s "$W"
builtin declare V=K
trap 'V=K' USR1; trap - USR1
declare -p V
declare -f F
type -t F
cat <<<"$V" >/dev/null
exec {V}>/dev/null
exec {V}>&-
V=$(<W)
alias V=K
V=([K]=$W)
V=($W)
S &
wait`, "\n")

type randomProgram struct{ *rand.Rand }

func (r randomProgram) pick(list string) string {
	words := strings.Fields(list)
	return words[r.IntN(len(words))]
}

var placeholder = regexp.MustCompile(`\b[VWRHNFKS]\b|\b[VWK](x|\*)|=K\b`)

func (r randomProgram) command(depth int) string {
	text := templates[r.IntN(len(templates))]
	for strings.Contains(text, "S") && depth == 0 || strings.Contains(text, "F") && depth < 2 {
		text = templates[r.IntN(len(templates))]
	}
	v, w, f := r.pick("a b c d"), r.pick("a b c d"), r.pick("f g")
	return placeholder.ReplaceAllStringFunc(text, func(p string) string {
		switch p[0] {
		case 'V':
			return v + p[1:]
		case 'W':
			return w + p[1:]
		case 'R':
			return "r"
		case 'H':
			return "h"
		case 'N':
			return "n"
		case 'F':
			return f
		case 'K':
			return r.pick("0 1 2 3") + p[1:]
		case 'S':
			return "{ " + r.command(depth-1) + "\n}"
		}
		return "=" + r.pick("0 1 2 3 4x s")
	})
}

// TestRandomProgramsAgreeWithBash runs random programs. What a command changes must be among the names that its node
// may write. A variable that is none of those it may read is given another value first: then all else must end alike.
func TestRandomProgramsAgreeWithBash(t *testing.T) {
	bash := judge(t)
	folder := t.TempDir()
	changes, perturbed, dynamic := 0, 0, 0
	for seed := range uint64(250) {
		r := randomProgram{rand.New(rand.NewPCG(seed, 1))}
		lines := []string{"declare -A h=([a]=1 [1]=2)", "a=1", "b=2", "c=s", "r=(3 4 5)"}
		for range 12 {
			lines = append(lines, r.command(2))
		}
		facts, err := Analyze([]byte(strings.Join(lines, "\n")), Bash)
		if err != nil {
			t.Fatalf("seed %d: %v:\n%s", seed, err, strings.Join(lines, "\n"))
		}
		p := program{bash: bash, folder: folder, facts: facts}
		states := p.run(t, -1, "")
		for i := 0; i+1 < len(states); i++ {
			reads, writes, any := p.predicted(i)
			if any {
				dynamic++
				continue
			}
			for name := range differences(states[i].names, states[i+1].names) {
				if changes++; !writes[name] {
					t.Errorf(
						"seed %d: %q changes %s\nfacts: %s\n%s",
						seed,
						p.code(i),
						name,
						nodeText(&facts.Nodes[i]),
						p.text(i),
					)
				}
			}
			if i < 5 || r.IntN(3) > 0 {
				continue
			}
			name := r.pick("a b c d r h n")
			if reads[name] {
				continue
			}
			perturbed++
			again := p.run(t, i, name)
			if len(again) <= i+1 {
				t.Errorf("seed %d: with another %s, %q ends the program\n%s", seed, name, p.code(i), p.text(i))
				continue
			}
			then, now := again[i+1], states[i+1]
			others := differences(then.names, now.names)
			delete(others, name)
			for other := range others {
				t.Errorf("seed %d: %q reads %s for %s\nfacts: %s\n%s", seed, p.code(i), name, other,
					nodeText(&facts.Nodes[i]), p.text(i))
			}
			if then.printed != now.printed {
				t.Errorf(
					"seed %d: %q reads %s: prints %q, and %q\n%s",
					seed,
					p.code(i),
					name,
					now.printed,
					then.printed,
					p.text(i),
				)
			}
		}
	}
	if t.Logf("%d changes, %d commands with another value, %d dynamic", changes, perturbed, dynamic); perturbed < 100 {
		t.Errorf("%d commands had another value before, want more", perturbed)
	}
}

type program struct {
	bash, folder string
	facts        *depgraph.Facts
}

func (p *program) code(i int) string {
	n := &p.facts.Nodes[i]
	return string(p.facts.Code[n.Start:n.End])
}

func (p *program) text(i int) string { return string(p.facts.Code[:p.facts.Nodes[i].End]) }

// predicted returns what a node may read and write, functions that it may call included, as Build follows them.
func (p *program) predicted(at int) (reads, writes names, dynamic bool) {
	reads, writes = names{}, names{}
	var todo []string
	read := func(list []string) {
		for _, name := range list {
			if !reads[name] {
				reads[name] = true
				todo = append(todo, name)
			}
		}
	}
	write := func(lists ...[]string) {
		for _, name := range slices.Concat(lists...) {
			writes[name] = true
		}
	}
	call := func(n *depgraph.Node) {
		read(n.Later)
		read(n.Rebinds)
		write(n.Rebinds, n.MutatesLater)
		dynamic = dynamic || slices.ContainsFunc(n.Dynamic, func(d depgraph.Dynamic) bool { return d.Later })
	}
	n := &p.facts.Nodes[at]
	read(n.Uses)
	write(n.Defines, n.Deletes, n.Mutates)
	dynamic = slices.ContainsFunc(n.Dynamic, func(d depgraph.Dynamic) bool { return !d.Later })
	if n.Kind != depgraph.KindDef {
		call(n)
	}
	for len(todo) > 0 {
		name := todo[0]
		todo = todo[1:]
		for i := range at {
			if slices.Contains(p.facts.Nodes[i].Defines, name) {
				call(&p.facts.Nodes[i])
			}
		}
	}
	return reads, writes, dynamic
}

// shellState is what a program has printed for a command, and the names after it.
type shellState struct {
	printed string
	names   map[string]string
}

// run executes the nodes of a program, up to node stop if it is not -1, before which a variable is assigned. It returns
// the state before the first node and after each, up to the one that ends the program.
func (p *program) run(t *testing.T, stop int, variable string) []shellState {
	t.Helper()
	// A command that fails may end the line that it is in. What is in the background has ended before the state is
	// shown.
	const show = "declare -p\ndeclare -f\nprintf '\\n\x01\\n'\n"
	var script strings.Builder
	script.WriteString("printf '\\n\x02\\n'; " + show)
	for i := range p.facts.Nodes {
		if i == stop {
			fmt.Fprintf(&script, "unset -n %[1]s; unset -v %[1]s; %[1]s=7\n", variable)
		}
		fmt.Fprintf(&script, "{ eval %s; } 2>/dev/null\nwait\nprintf '\\n\x02\\n'\n%s", quote(p.code(i)), show)
		if i == stop {
			break
		}
	}
	file := filepath.Join(p.folder, "script")
	if err := os.WriteFile(file, []byte(script.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	out, _ := ask(t, p.bash, p.folder, `exec "$BASH" --norc "$1"`, file)
	var states []shellState
	for part := range strings.SplitSeq(out, "\n\x01\n") {
		printed, shown, ok := strings.Cut(part, "\n\x02\n")
		if ok {
			states = append(states, shellState{printed, shownNames(shown)})
		}
	}
	return states
}

func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

var shownVariable = regexp.MustCompile(`^declare -\S+ (\w+)`)

// shownNames reads what declare -p and declare -f show.
func shownNames(text string) map[string]string {
	found := map[string]string{}
	name := ""
	for line := range strings.Lines(text) {
		if m := shownVariable.FindStringSubmatch(line); m != nil {
			name = m[1]
		} else if function, _, ok := strings.Cut(line, " () "); ok && isName(function) {
			name = Function(function)
		}
		found[name] += line
	}
	maps.DeleteFunc(found, func(name, _ string) bool {
		return IsVolatile(name) || name == "SHELLOPTS" || name == "BASHOPTS" || name == "BASH_ALIASES"
	})
	return found
}

func differences(a, b map[string]string) names {
	found := names{}
	for name := range a {
		if a[name] != b[name] {
			found[name] = true
		}
	}
	for name := range b {
		if a[name] != b[name] {
			found[name] = true
		}
	}
	return found
}
