package acceptance

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/xstate-engine/xstate"
)

// vocabulary is what random programs of a language other than Python are made of. Statements are drawn as in
// random_gen_test.go. None runs forever, or shows what differs between two runs.
type vocabulary struct {
	file    string // the program's
	remark  string // begins a comment
	names   map[string][]string
	groups  map[string]group
	inputs  map[string]func(n int) string // files that programs read, by what a number makes of them
	prelude []string
}

type group struct {
	weight int
	texts  []string
}

// TestRandomJavaScript and TestRandomBash do what TestRandom does for these languages, with the interpreter alone as
// the judge of what a run from scratch prints.
func TestRandomJavaScript(t *testing.T) { testVocabulary(t, "node", &javascriptWords) }

func TestRandomBash(t *testing.T) { testVocabulary(t, "bash", &bashWords) }

func testVocabulary(t *testing.T, interpreter string, words *vocabulary) {
	if !has(interpreter) {
		t.Skipf("%s is not installed", interpreter)
	}
	testSeeds(t, drawing{words: words})
}

// vocabularySession makes the session of a seed in a language.
func vocabularySession(seed uint64, edits int, words *vocabulary) []version {
	g := &generator{Rand: rand.New(rand.NewPCG(seed, 2)), words: words, weights: map[string]int{}}
	for name, group := range words.groups {
		if group.weight > 0 {
			g.groups = append(g.groups, name)
		}
	}
	slices.Sort(g.groups)
	for _, name := range g.groups {
		w := words.groups[name].weight
		switch g.IntN(6) {
		case 0, 1:
			w /= 4
		case 2:
			w *= 4
		}
		g.weights[name] = w
	}
	first := version{edit: "begin", words: words, inputs: map[string]string{}}
	for name, make := range words.inputs {
		first.inputs[name] = make(1)
	}
	for _, text := range words.prelude {
		if b := g.block(); g.IntN(20) > 0 {
			for line := range strings.SplitSeq(text, "\n") {
				b.statements = append(b.statements, g.statement(g.fill(line)))
			}
			first.blocks = append(first.blocks, b)
		}
	}
	for range 4 + g.IntN(8) {
		first.blocks = append(first.blocks, g.randomBlock(first.blocks))
	}
	return g.edited(first, edits)
}

// inputOf changes one of the files that the programs read.
func (g *generator) inputOf(v *version) {
	var list []string
	for name := range g.words.inputs {
		list = append(list, name)
	}
	slices.Sort(list)
	name := list[g.IntN(len(list))]
	v.inputs[name] = g.words.inputs[name](g.IntN(5))
}

var javascriptWords = vocabulary{
	file:   "prog.js",
	remark: "//",
	names: map[string][]string{
		"{L}": {"a", "b", "c"},
		"{D}": {"d", "e"},
		"{N}": {"n", "m"},
		"{F}": {"f", "g"},
		"{O}": {"u", "w"},
		"{M}": {"p", "q"},
		"{S}": {"r", "s"},
		"{B}": {"x", "y"},
		"{I}": {"it"},
		"{K}": {"k", "l"},
		"{P}": {"out.txt", "log.txt"},
		"{V}": {"XR_A", "XR_B"},
		"{X}": {"a", "b", "c", "d", "e", "n", "m", "u", "p", "r", "x"},
	},
	prelude: []string{
		"n = {i}; m = {i}\na = [{i}, [{i}]]\nb = a\nc = [{i}, a]",
		"d = { k: {L} }\ne = { l: [{i}], k: {i} }\nf = v => [v, n]\ng = (v = {i}) => { n += v; return n }",
		"K = class K { constructor(v) { this.v = v } up() { this.v = [this.v]; return this } }\nu = new K({L})\nw = u",
		"p = new Map([['k', {L}]])\nq = p\nr = new Set([{i}, {i}])\ns = r",
		"x = new Uint8Array(8)\ny = new Uint16Array(x.buffer, 2, 2)\nit = {L}[Symbol.iterator]()",
	},
	groups: map[string]group{
		"number": {8, []string{
			"{N} = {i}", "{N} = {N} + {i}", "{N} = ({N} * {N} + {i}) % 97", "{N} = {L}.length", "{N} = {L}[0]",
			"{N} = {D}.{K}", ";[{N}, {N}] = [{N}, {N}]", "{N}++", "{N} = -{N}", "{N} ??= {i}",
			"for (const v of {L}) if (typeof v === 'number') {N} += v",
		}},
		"list": {14, []string{
			"{L} = [{i}, {i}]", "{L} = [{i}, [{i}]]", "{L} = []", "{L} = {L}", "{L} = {L}.slice()", "{L} = [{L}, {L}]",
			"{L} = {L}.filter(v => v !== {i})", "{L} = [...{L}, {N}]", ";[{L}, {L}] = [{L}, {L}]", "{L} = {L} = [{i}]",
			"{L} = Object.values({D})", "{L} = [...{M}.values()]", "{L} = [...{S}]", "{L} = structuredClone({L})",
			"{L} = JSON.parse(JSON.stringify({L}))", "{L} = Array.from({ length: {i} }, (_, i) => i)",
		}},
		"change": {18, []string{
			"{L}.push({i})", "{L}.push({N})", "{L}.push({L})", "{L}[0] = {i}", "{L}[{i}] = {L}", "{L}[0].push?.({i})",
			"{L}.sort()", "{L}.reverse()", "{L}.pop()", "{L}.unshift({N})", "{L}.splice(0, 1, {i})", "{L}.length = {i}",
			"delete {L}[0]", "{L}.fill({i})", "{L}.note = {i}", "{L}.shift()",
		}},
		"object": {12, []string{
			"{D} = { k: {i} }", "{D} = { k: {L}, l: {N} }", "{D} = {}", "{D} = {D}", "{D} = { ...{D} }",
			"{D}.{K} = {L}", "{D}.{K} = {N}", "{D}.{K} = {D}", "{D}.{K}?.push?.({i})", ";({D}.{K} ??= []).push({i})",
			"Object.assign({D}, {D})", "delete {D}.{K}", "Object.freeze({D})", "{D} = Object.create({D})",
			"Object.defineProperty({D}, '{K}', { get: () => {N}, configurable: true })",
			"Object.defineProperty({D}, '{K}', { value: {i}, enumerable: false })",
			"{ const { k, ...o } = {D}; {D} = o }",
		}},
		"function": {12, []string{
			"{F} = v => [v, {N}]", "{F} = (v = {i}) => { {N} += v; return {N} }",
			"{F} = v => { {L}.push(v); return {L} }",
			"{F} = {F}", "{N} = {F}({i})", "{L} = [{F}({i})]", "{F} = ((k) => () => k++)({i})", "{F}({N})",
			";[f, g] = ((k) => [() => ++k, () => k])({i})", "{F}.count = {i}", "{D}.{K} = {F}",
			"{F} = {F}.bind(null, {i})",
			"{F} = new Function('return {N} + {i}')", "{F} = async v => { await null; {L}.push(v) }",
			"{D}.call = function () { return this.{K} }", "{N} = {D}.call?.()",
		}},
		"class": {10, []string{
			"K = class K { constructor(v) { this.v = v } up() { this.v = [this.v, {i}]; return this } }",
			"K = class K { #v; constructor(v) { this.#v = v } up() { this.#v = {i}; return this } get v() { return " +
				"this.#v } }",
			"{O} = new K({L})", "{O} = new K({i})", "{O} = {O}", "{O}.up()", "{N} = {O}.v",
			"K.prototype.up = function () " +
				"{ this.v = {i}; return this }", "{O}.more = {L}", "K.all = {L}", "{L} = K.all",
			"{O} = Object.create({O})",
			"K = class extends K { up() { super.up(); this.z = {i}; return this } }",
			"{N} = {O} instanceof K ? {i} : 0",
		}},
		"map": {10, []string{
			"{M} = new Map([['k', {L}], ['l', {i}]])", "{M} = {M}", "{M}.set('{K}', {L})", "{M}.set({L}, {i})",
			"{M}.delete('{K}')", "{M} = new Map({M})", "{N} = {M}.size", "{L} = {M}.get('{K}')", "{M}.clear()",
			"{M}.get('{K}')?.push?.({i})", "{S} = new Set({L})", "{S} = {S}", "{S}.add({L})", "{S}.add({i})",
			"{S}.delete({i})",
			"{I} = {M}.entries()", "{I} = {L}[Symbol.iterator]()", "{L} = [...{I}]", "{N} = {I}.next().value",
			"{I} = (function* () { yield* {L}; {N}++ })()",
		}},
		"bytes": {6, []string{
			"{B} = new Uint8Array(8)", "{B} = new Uint16Array({B}.buffer, 2, 2)", "{B} = {B}.subarray(0, 2)",
			"{B} = {B}",
			"{B} = {B}.slice()", "{B}[{i}] = {i} + 1", "{B}.fill({i})", "{L} = [...{B}]", "{N} = {B}.byteOffset",
			"new DataView({B}.buffer).setInt8(1, {i})", "{B} = Buffer.from('text {i}')", "{B}.set([{i}, {i}])",
		}},
		"async": {5, []string{
			"Promise.resolve({i}).then(v => { {N} = v })", "setTimeout(() => {L}.push({i}), 1)",
			"queueMicrotask(() => { {D}.{K} = {i} })",
			";(async () => { await null; {L}.push({i}); await null; {N}++ })()",
			"{F}({i})?.then?.(() => {N}++)", ";(async () => { try { await Promise.reject(new Error('no')) } " +
				"catch (e) { {L}.push(e.message) } })()",
		}},
		"file": {6, []string{
			"require('fs').writeFileSync('{P}', '{i} ' + {N})", "require('fs').appendFileSync('{P}', '<{i}>')",
			"console.log(require('fs').readFileSync('{P}', 'utf8'))", "console.log(require('fs').existsSync('{P}'))",
			"require('fs').rmSync('{P}', { force: true })", "{L} = require('./data.json').list",
			"{N} = JSON.parse(require('fs').readFileSync('data.json')).n", "{N} = require('./helper.js').note({L})",
			"{L} = require('./helper.js').seen", "require('./helper.js').seen.push({i})",
			"console.log(require('child_process').execSync('cat data.json', { encoding: 'utf8' }).length)",
		}},
		"hidden": {5, []string{
			"process.env.{V} = '{i}'", "console.log(process.env.{V})", "delete process.env.{V}",
			"Array.prototype.extra = {i}", "console.log([].extra)", "delete Array.prototype.extra", "console.group()",
			"console.groupEnd()", "console.count('c')", "{N} = eval('{N} + {i}')", ";(0, eval)('{N} = {i}')",
			"globalThis.{L} = {L}", "delete globalThis.{L}", "{N} = typeof {L} === 'undefined' ? {i} : 0",
			"with ({D}) { k = {i} }",
		}},
		"show": {16, []string{
			"console.log({X})", "console.log({X}, {X})", "console.log({L} === {L})", "console.log({L}[0])",
			"console.log(JSON.stringify({D}))", "console.log(Object.keys({D}).join())", "{X}", "console.error({N})",
			"try { console.log({X}, {L} === {L}) } catch (e) { console.log(e.name) }",
			"console.log([...{M}.keys()].length)",
			"console.log({O} === {O})", "console.log([...{S}])", "console.log({B}.join())", "console.log(String({F}))",
		}},
		"fails": {1, []string{
			"null.x", "throw new RangeError('at {i}')", "{L}.{K}.x", "missing{i}", "JSON.parse('{')",
			"{L}.push({i}); null.y", "Promise.reject(new Error('left {i}'))",
		}},
	},
	inputs: map[string]func(n int) string{
		"data.json": func(n int) string { return fmt.Sprintf("{\"n\": %d, \"list\": [%d, %d]}\n", n, n, n/2) },
		"helper.js": func(n int) string {
			return fmt.Sprintf("const seen = []\nexports.seen = seen\n"+
				"exports.note = x => { seen.push(x); return seen.length + %d + require('./tools.js').base }\n", n)
		},
		"tools.js": func(n int) string { return fmt.Sprintf("exports.base = %d\n", n) },
	},
}

var bashWords = vocabulary{
	file:   "prog.sh",
	remark: "#",
	names: map[string][]string{
		"{V}": {"x", "y", "z"},
		"{N}": {"n", "m"},
		"{A}": {"arr", "lst"},
		"{H}": {"tab"},
		"{F}": {"f", "g"},
		"{R}": {"ref"},
		"{K}": {"k", "q"},
		"{P}": {"out.txt", "log.txt"},
		"{E}": {"XR_A", "XR_B"},
		"{G}": {"3", "4"},
	},
	prelude: []string{
		"n={i} m={i}\nx=one y={i}\nz=\"$x and $y\"",
		"arr=({i} two {i})\nlst=(\"${arr[@]}\" more)\ndeclare -A tab=([k]={i})",
		"f() { echo \"f $1 $n\"; }\ng() { n=$((n + 1)); x=g$1; }",
		"echo {i} > out.txt\necho line >> log.txt",
	},
	groups: map[string]group{
		"text": {14, []string{
			"{V}={i}", "{V}=\"${{V}}{i}\"", "{V}=${{V}}", "{V}+=a", "{V}=\"${{V}:0:2}\"", "{V}=$(echo ${V})",
			"unset {V}",
			"{V}=${{V}:-none}", "{V}=${{V}^^}", "read -r {V} {V} <<< \"{i} ${V}\"", "printf -v {V} '%02d' {i}",
			": \"${{V}:=made{i}}\"", "{V}=$(< data.txt)", "declare -u {V}=low{i}", "declare -i {N}={i}+1",
			"local {V}=1",
			"export {V}", "export {E}={i}", "unset {E}", "{V}=${E}", "declare +x {V}",
		}},
		"number": {8, []string{
			"{N}={i}", "{N}=$(({N} + {i}))", "(({N}++))", "(({N} *= {i}))", "let {N}={i}+1", "{N}=${#{A}[@]}",
			"{N}=${#{V}}",
			"for i in 1 2 {i}; do {N}=$(({N} + i)); done", "while (({N} > 50)); do {N}=$(({N} / 2)); done",
		}},
		"array": {12, []string{
			"{A}=({i} {i})", "{A}+=({i})", "{A}=(\"${{A}[@]}\" ${V})", "unset '{A}[0]'", "{A}[{i}]=v", "{A}=()",
			"{A}=(\"${{A}[@]:1}\")", "mapfile -t {A} < data.txt", "{H}[{K}]={i}", "unset '{H}[k]'", "{V}=\"${{A}[*]}\"",
			"{V}=${{A}[0]}", "{V}=${{H}[{K}]}", "declare -A {H}", "IFS=, read -ra {A} <<< \"a,{i},${V}\"",
			"{A}=(*.txt)",
			"for v in \"${{A}[@]}\"; do {V}=$v; done",
		}},
		"function": {12, []string{
			"{F}() { echo \"{F} $1 ${N}\"; }", "{F}() { {N}=$(({N} + {i})); {V}=$1; }",
			"f() { local x=in; g \"$1\"; }",
			"{F} {i}", "{F} ${V}", "{V}=$({F} {i})", "unset -f {F}", "{F}() { {A}+=(\"$1\"); }", "export -f {F}",
			"bash -c '{F} {i}' 2>/dev/null", "{F} {i} | cat", "{F} {i} > {P}", "type -t {F}",
			"{F}() { echo $# \"$@\"; return {i}; }", "g() { echo \"g sees $x\"; x=g; }",
		}},
		"reference": {5, []string{
			"declare -n {R}={V}", "unset -n {R}", "{R}={i}", "echo \"${R}\"", "x={V}\necho \"${!x}\"",
			"eval \"{V}={i}\"", "eval echo '${V}'", "echo \"${!x*}\"", "into() { local -n o=$1; o+=(a); }; into {A}",
		}},
		"file": {14, []string{
			"echo {i} > {P}", "echo \"${V}\" >> {P}", "cat {P}", "cat {P} 2>/dev/null", "wc -l < {P}", "rm -f {P}",
			"mv {P} moved.txt", "cp {P} {P}.bak", "sed -i 's/1/one/' {P}", "[[ -f {P} ]] && echo there", "ls *.txt",
			"sort data.txt > {P}", "while read -r l; do {V}=$l; done < {P}", "tr a-z A-Z < data.txt | head -n 1",
			"cat data.txt {P} | wc -l", "mkdir -p box; echo {i} > box/f.txt", "cat box/* 2>/dev/null",
			"source ./lib.sh",
			"source ./lib.sh; {V}=$(from_lib {i})", "grep -c . {P}", "{ echo a; echo {i}; } > {P}", "cat <<< \"${V}\"",
			"cat <<END\nhere ${V} {i}\nEND",
		}},
		"descriptor": {3, []string{
			"exec {G}> {P}", "echo {i} >&{G}", "exec {G}>&-", "exec {G}< data.txt", "read -r {V} <&{G}",
			"exec {G}>> {P}",
		}},
		"option": {5, []string{
			"set -f", "set +f", "shopt -s nullglob", "shopt -u nullglob", "set -u", "set +u", "set -o pipefail",
			"IFS=,",
			"unset IFS", "set -- {i} two", "shift", "echo \"$# $1\"", "set -e", "set +e", "cd box",
			"[[ $PWD == */box ]] && cd ..",
			"umask 022",
			"trap 'echo usr' USR1", "trap 'echo usr; {N}=1' USR1; kill -USR1 $$", "trap - USR1", "RANDOM={i}",
			"echo $RANDOM", "alias say=echo",
			"shopt -s expand_aliases", "shopt -s lastpipe",
		}},
		"pipe": {6, []string{
			"echo b a | tr ' ' '\\n' | sort | head -n {i}", "seq {i} | while read -r k; do {N}=$k; done",
			"false | true",
			"true | (exit {i}); echo \"${PIPESTATUS[@]}\"", "{V}=$(seq 3 | tail -n 1)", "cat < <(echo {i})",
			"(exit {i})", "echo \"$?\"",
			"({V}=sub; echo \"${V}\")", "{ {V}=brace; }", "echo {i} | { read -r {V}; echo \"${V}\"; }",
			"(exit {i}) & wait $!",
		}},
		"show": {16, []string{
			"echo \"${V}\"", "echo \"${V} ${N}\"", "echo \"${{A}[@]}\"", "echo \"${#{A}[@]} ${!{A}[@]}\"",
			"declare -p {V}",
			"declare -p {A} 2>/dev/null", "echo \"${{H}[k]-none}\"", "echo \"${{V}-unset}\" >&2",
			"printf '<%s>' {V} ${V}; echo",
			"[[ ${V} == *a* ]] && echo yes || echo no",
			"case ${V} in a*) echo A;; [0-9]) echo digit;; *) echo other;; esac",
			"bash -c 'echo \"child ${E} $x\"'", "declare -f {F}",
		}},
		"fails": {1, []string{
			"false", "no_such_command_{i} 2>/dev/null", "cat none.txt 2>/dev/null", "echo $((1 / 0))",
			"echo \"${nope?gone}\"",
			"exit {i}", "return {i}",
		}},
	},
	inputs: map[string]func(n int) string{
		"data.txt": func(n int) string { return fmt.Sprintf("line %d\nab\n%d\n", n, n/2) },
		"lib.sh": func(n int) string {
			return fmt.Sprintf("LIB=%d\nfrom_lib() { echo \"lib $1 $LIB %d\"; }\n", n,
				n)
		},
	},
}

// unlikeVocabulary is unlikePlain for other languages.
func unlikeVocabulary(t *testing.T, words *vocabulary, files map[string][]byte, out *xstate.Outcome) string {
	if strings.Contains(string(files[words.file]), "echo $RANDOM") { // the session seeds it
		return ""
	}
	for _, b := range out.Blocks {
		if len(b.AllMarks) > 0 {
			return ""
		}
	}
	return unlikeAlone(t, files, judgeSettled, out)
}
