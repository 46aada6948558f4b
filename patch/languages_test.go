package patch

import (
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/xstate-engine/xstate/patch/syntax"
)

const typescriptFile = `#!/usr/bin/env -S deno run
/* A license
 * of several lines */
import { readFileSync } from "node:fs"
import type { Row } from "./types"

// about rows
interface Sum { total: number }
function pick(a: string): string
function pick(a: number): number
function pick(a: any) {
  // %% not a cell
  return ` + "`\n// %% not a cell\n`" + `
}

export const twice = async (n: number) => n * 2
export default class Box<T> { constructor(public value: T) {} }
let sum = 0
console.log(sum)

await twice(2); const done = true
`

const shellFile = `#!/bin/bash
# about the options
set -e
x=1; y=2

build() {
  echo "$1"
}
cat <<END | sort
# %% not a cell

END
cat <<A; cat <<-'B'
1
A
	B
echo after &

if true; then

  build it
fi
`

const scriptCells = `// head
const before = 1
// %% load id="q1"
const f = make
// %% [markdown]
// # Title

// %%
(async () => {})()
const t = ` + "`\n// %% text\n`" + `
/*
// %% comment
*/
function only() {}
// %% broken
let open = (
// %% last
1
`

// TestSourceFiles reads files of each language as blocks. mustParse checks that they come back byte for byte.
func TestSourceFiles(t *testing.T) {
	for _, c := range []struct {
		name, text, dialect string
		kind                Kind
		want                []string // line, title, first line
	}{
		{"a.ts", typescriptFile, syntax.TypeScript, KindScript, []string{"2  /* A license", "7 Sum // about rows",
			"9 pick function pick(a: string): string", "18 twice export const twice = async (n: number) => n * 2",
			"19 Box export default class Box<T> { constructor(public value: T) {} }", "20  let sum = 0",
			"23  await twice(2); const done = true"}},
		{"a.sh", shellFile, syntax.Bash, KindScript, []string{"2  # about the options", "6 build build() {",
			"9  cat <<END | sort", "19  if true; then"}},
		{"a.js", scriptCells, syntax.JavaScript, KindCells, []string{"1  // head", "4 load const f = make",
			"9 only (async () => {})()", "18 broken let open = (", "20 last 1"}},
		{"a.js", "import x from 'x'\n\nx()\n", syntax.Module, KindScript, []string{"1  import x from 'x'", "3  x()"}},
		{"a.mjs", "x()\n", syntax.Module, KindScript, []string{"1  x()"}},
		{"a.cjs", "exports.x = 1\n", syntax.JavaScript, KindScript, []string{"1  exports.x = 1"}},
		{"a.cts", "let x: number = <number>y\n", syntax.TypeScript, KindScript,
			[]string{"1  let x: number = <number>y"}},
		{"a.jsx", "const a = <b>1</b>\r\n\r\nlet c\r\n", syntax.TSX, KindScript, []string{"1  const a = <b>1</b>",
			"3  let c"}},
		{"a.tsx", "const A = () => <b>1</b>", syntax.TSX, KindScript, []string{"1 A const A = () => <b>1</b>"}},
		{"a.bash", "set -e\n# %% one\ncat <<E\n# %% no\nE\n# %% two\nif true; then\n# %% three\nf() { x\n# %% no\n}\n",
			syntax.Bash, KindCells, []string{"1  set -e", "3 one cat <<E", "7 two if true; then", "9 three f() { x"}},
		{"run", "#!/usr/bin/env node\nlet a\n", syntax.JavaScript, KindScript, []string{"2  let a"}},
		{"run", "#!/usr/bin/env -S deno run\nlet a: 1\n", syntax.TypeScript, KindScript, []string{"2  let a: 1"}},
		{"run", "#!/bin/sh -e\nls\n", syntax.Bash, KindScript, []string{"2  ls"}},
		{"bad.ts", "const x = (\n\nconst y = 2\n\nfunction f() {\n  return 1\n}\nf()\n", syntax.TypeScript, KindScript,
			[]string{"1  const x = (", "3  const y = 2", "5 f function f() {", "8  f()"}},
		{"bad.sh", "if x; then\n  echo\n\nf() {\n  a\n}\nb\n", syntax.Bash, KindScript,
			[]string{"1  if x; then", "4 f f() {", "7  b"}},
	} {
		p := mustParse(t, c.name, c.text)
		if p.Kind != c.kind {
			t.Errorf("%s: kind %s, want %s", c.name, p.Kind, c.kind)
		}
		var heads []string
		for _, b := range p.Blocks {
			first, _, _ := strings.Cut(b.Source, "\n")
			heads = append(
				heads,
				strings.Join([]string{strconv.Itoa(b.Line), b.Title, strings.TrimRight(first, "\r")}, " "),
			)
			if b.Dialect != c.dialect {
				t.Errorf("%s: block %q is in %s, want %s", c.name, b.Source, b.Dialect, c.dialect)
			}
		}
		if d := cmp.Diff(c.want, heads); d != "" {
			t.Errorf("%s %q (-want +got):\n%s", c.name, c.text, d)
		}
	}
}

const mixedFile = "# T\n\n```python\nrows = [1]\n```\n\n```js name=log\nconsole.log(1)\n```\n\n```mjs\nlet a\n```\n\n" +
	"```ts\nlet b: 1\n```\n\n```sh\nls\n```\n\n```bash\n$ ls\na\n```\n\n```console\n$ ls\n```\n\n```zsh\nls\n```\n\n" +
	"```js ignore\nno()\n```\n\n```{python, eval=FALSE}\nno()\n```\n\n```js\nimport 'x'\n```\n"

func TestMixedMarkdown(t *testing.T) {
	p := mustParse(t, "a.md", mixedFile)
	var got []string
	for _, b := range p.Blocks {
		got = append(got, b.Dialect+" "+b.Title+" "+b.Source)
	}
	want := []string{"python  rows = [1]", "javascript log console.log(1)", "esm  let a", "typescript  let b: 1",
		"bash  ls", "esm  import 'x'"}
	if d := cmp.Diff(want, got); d != "" {
		t.Fatalf("blocks (-want +got):\n%s", d)
	}
	p, ids := readFile(t, "a.md", mixedFile)
	blocks := append([]Block(nil), p.Blocks...)
	blocks[4].Source = "ls -l"
	blocks = append(blocks, Block{ID: "new", Dialect: syntax.Module, Source: "let z"})
	text, err := p.With(ids, blocks)
	if err != nil {
		t.Fatal(err)
	}
	changed := strings.Replace(mixedFile, "```sh\nls\n", "```sh\nls -l\n", 1) + "\n```mjs\nlet z\n```\n"
	if d := cmp.Diff(changed, string(text)); d != "" {
		t.Errorf("With (-want +got):\n%s", d)
	}
}

const magicNotebook = `{
 "cells": [
  {"cell_type": "code", "id": "a", "execution_count": null, "metadata": {}, "outputs": [], "source": [
    "%%bash\n",
    "ls\n",
    "pwd"
   ]},
  {"cell_type": "code", "id": "b", "execution_count": null, "metadata": {}, "outputs": [], "source": ["x = 1"]},
  {"cell_type": "code", "id": "c", "metadata": {}, "outputs": [], "source": ["%%javascript\n", "alert(1)"]},
  {"cell_type": "code", "id": "d", "metadata": {}, "outputs": [], "source": "%%script node\nlet a"}
 ],
 "metadata": {"kernelspec": {"name": "python3", "language": "python"}},
 "nbformat": 4,
 "nbformat_minor": 5
}
`

func TestNotebookLanguages(t *testing.T) {
	var got []string
	for _, b := range mustParse(t, "a.ipynb", magicNotebook).Blocks {
		got = append(got, strings.Join([]string{strconv.Itoa(b.Line), b.Dialect, b.Source}, " "))
	}
	want := []string{"5 bash ls\npwd", "8 ipython x = 1", "9 ipython %%javascript\nalert(1)", "10 javascript let a"}
	if d := cmp.Diff(want, got); d != "" {
		t.Fatalf("blocks (-want +got):\n%s", d)
	}
	p, ids := readFile(t, "a.ipynb", magicNotebook)
	blocks := append([]Block(nil), p.Blocks...)
	blocks[0].Source = "ls -l"
	blocks = append(blocks, Block{ID: "new", Dialect: syntax.Bash, Source: "echo"})
	text, err := p.With(ids, blocks)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"\"%%bash\\n\",\n    \"ls -l\"", "\"%%bash\\n\",\n    \"echo\""} {
		if !strings.Contains(string(text), part) {
			t.Errorf("With has no %s:\n%s", part, text)
		}
	}
	for spec, want := range map[string]string{
		`"kernelspec": {"name": "deno", "language": "typescript"}`:                       syntax.TypeScript,
		`"kernelspec": {"name": "tslab"}, "language_info": {"name": "typescript"}`:       syntax.TypeScript,
		`"kernelspec": {"name": "jslab"}, "language_info": {"name": "javascript"}`:       syntax.JavaScript,
		`"kernelspec": {"name": "bash"}, "language_info": {"name": "bash", "x": "x-sh"}`: syntax.Bash,
	} {
		python := `"kernelspec": {"name": "python3", "language": "python"}`
		p := mustParse(t, "a.ipynb", strings.Replace(magicNotebook, python, spec, 1))
		if got := p.Blocks[1].Dialect; got != want {
			t.Errorf("a cell of a notebook with %s is in %s, want %s", spec, got, want)
		}
	}
}

// TestNewFilesOfLanguages writes blocks into new files, which read as these blocks.
func TestNewFilesOfLanguages(t *testing.T) {
	bash := Block{ID: "a", Title: "one", Dialect: syntax.Bash, Source: "ls"}
	script := Block{ID: "b", Dialect: syntax.TypeScript, Source: "let x: 1"}
	python := Block{ID: "c", Dialect: syntax.IPython, Source: "y = 1"}
	for _, c := range []struct {
		kind   Kind
		blocks []Block
		has    string
	}{
		{KindCells, []Block{bash}, "# %% one\nls"}, {KindCells, []Block{script}, "// %%\nlet x: 1"},
		{KindMarkdown, []Block{bash, script}, "```typescript\nlet x: 1"},
		{KindNotebook, []Block{script}, `"name": "deno"`}, {KindNotebook, []Block{python, bash}, `"%%bash\n"`},
		{KindNotebook, []Block{bash}, `"name": "bash"`},
	} {
		text, err := New(c.kind, c.blocks, nil)
		if err != nil || !strings.Contains(string(text), c.has) {
			t.Errorf("New(%s, %v) = %v, want %q in\n%s", c.kind, c.blocks, err, c.has, text)
		}
	}
	if _, err := New(KindCells, []Block{bash, script}, nil); codeOf(err) != string(CodeUnwritable) {
		t.Errorf("a script of two languages: %v, want %s", err, CodeUnwritable)
	}
	if err := CheckFile("a.py", []Block{script}); codeOf(err) != string(CodeUnwritable) {
		t.Errorf("TypeScript in a.py: %v, want %s", err, CodeUnwritable)
	}
}

// subject is the program of a file that was read for the first time.
func subject(t *testing.T, name, text string) Subject {
	f := mustParse(t, name, text)
	for i, id := range Names(f.Blocks) {
		f.Blocks[i].ID = id
	}
	return Subject{Name: name, Path: name, File: f, Blocks: f.Blocks}
}

// TestPatchesOfLanguages applies patches to programs in other languages.
func TestPatchesOfLanguages(t *testing.T) {
	const ts = "// %% rates\nconst rate: number = 2\n\n// %% scale\nfunction scale(x: number) {\n  return rate * " +
		"x\n}\n\n" +
		"// %% show\nconsole.log(scale(3))\n"
	const sh = "name=x\n\ngreet() {\n  echo \"hello $name\"\n}\n\ngreet\n"
	for what, c := range map[string]struct{ name, file, patch, old, new string }{
		"a function, written again": {"a.ts", ts,
			"```ts\nfunction scale(x: number): number {\n  return 3 * rate * x\n}\n```\n",
			"function scale(x: number) {\n  return rate", "function scale(x: number): number {\n  return 3 * rate"},
		"JavaScript for TypeScript": {"a.ts", ts, "```js\nfunction scale(x) {\n  return 3 * rate * x\n}\n```\n",
			"function scale(x: number) {\n  return rate", "function scale(x) {\n  return 3 * rate"},
		"with a marker": {"a.ts", ts, "// %% show\nconsole.log(4)\n", "console.log(scale(3))", "console.log(4)"},
		"for its reader": {"a.ts", ts, "```bash\nnpm i x\n```\n\n```ts\n// %% show\nconsole.log(4)\n```\n",
			"console.log(scale(3))", "console.log(4)"},
		"search and replace": {"a.sh", sh,
			"<<<<<<< SEARCH\n  echo \"hello $name\"\n=======\n  echo \"hi $name\"\n>>>>>>> REPLACE\n", "hello", "hi"},
		"a function of the shell": {"a.sh", sh, "```bash\ngreet() {\n  echo \"hi, dear $name\"\n}\n```\n",
			"hello $name",
			"hi, dear $name"},
		"a diff": {"a.sh", sh, "--- a/a.sh\n+++ b/a.sh\n@@ -1,2 +1,2 @@\n-name=x\n+name=y\n \n", "name=x", "name=y"},
	} {
		p, err := Read(c.patch, "")
		if err != nil {
			t.Errorf("%s: %v", what, err)
			continue
		}
		r, err := Revise(p, subject(t, c.name, c.file))
		if err != nil {
			t.Errorf("%s: %v", what, err)
			continue
		}
		if d := cmp.Diff(strings.Replace(c.file, c.old, c.new, 1), string(r.Text)); d != "" {
			t.Errorf("%s (-want +got):\n%s", what, d)
		}
	}
	p, err := Read("```ts\nfunction scale(x: number) {\n  // ... existing code ...\n}\n```\n", "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Revise(p, subject(t, "a.ts", ts)); codeOf(err) != string(CodePatch) {
		t.Errorf("a function that leaves out code: %v, want %s", err, CodePatch)
	}
}

// TestModuleByEdit: an import makes a module of all blocks of a .js file.
func TestModuleByEdit(t *testing.T) {
	p, err := Read("// %% a\nimport x from 'x'\n", "")
	if err != nil {
		t.Fatal(err)
	}
	r, err := Revise(p, subject(t, "a.js", "// %% a\nlet x = 1\n\n// %% b\nx\n"))
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range r.Blocks {
		if b.Dialect != syntax.Module {
			t.Errorf("block %s is in %s, want %s", b.ID, b.Dialect, syntax.Module)
		}
	}
}
