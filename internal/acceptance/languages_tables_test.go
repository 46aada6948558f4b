package acceptance

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/internal/xstatetest"
	"github.com/xstate-engine/xstate/internal/xstatetest/await"
	"github.com/xstate-engine/xstate/internal/xstatetest/clients"
)

// handed is a program that hands a table from Python to TypeScript, and another back, and a map to Bash.
const handed = "```python\n" + `import pandas as pd
sales = pd.DataFrame({"city": ["Ulm", "Bonn", "Ulm"], "n": [3, 5, 9]})
sales["day"] = pd.to_datetime(["2024-01-02", None, "2024-03-04"])
` + "```\n\n```ts\n// xstate: from py import sales\n" + `import { tableFromArrays } from 'apache-arrow'
const sums = new Map<string, number>()
for (const row of sales) sums.set(row.city, (sums.get(row.city) ?? 0) + Number(row.n))
const totals = tableFromArrays({ city: [...sums.keys()], n: Float64Array.from(sums.values()) })
console.log(sales.numRows, String(totals.getChild('n')))
` + "```\n\n```python\n# xstate: from ts import totals\n" +
	`print(totals.sort_values("n").to_string())
print(dict(totals.dtypes))
` + "```\n\n```bash\n# xstate: from ts import sums\n" + `echo "${#sums[@]} ${sums[Ulm]}"
` + "```\n"

// What the interpreters alone need to hand the table on in a file.
const (
	writesSales = `
import pyarrow as pa
with pa.OSFile("sales.arrow", "wb") as f, pa.ipc.new_stream(f, pa.Schema.from_pandas(sales)) as w:
    w.write_table(pa.Table.from_pandas(sales))
`
	readsSales = `import { tableFromIPC, tableToIPC } from 'apache-arrow'
import { readFileSync, writeFileSync } from 'node:fs'
const sales = tableFromIPC(readFileSync('sales.arrow'))
`
	writesTotals = `writeFileSync('totals.arrow', tableToIPC(totals, 'stream'))
writeFileSync('sums.sh', 'declare -A sums=(' + [...sums].map(([k, v]) => '[' + k + ']=' + v).join(' ') + ')\n')
`
	readsTotals = `import pandas, pyarrow as pa
totals = pa.ipc.open_stream(open("totals.arrow", "rb")).read_all().to_pandas()
`
)

// TestTables edits the program in each of its languages. What its blocks print must be what the interpreters alone
// print, and only what an edit affects may run.
func TestTables(t *testing.T) {
	packages := filepath.Join(clients.Folder(t, "npm-tables"), "node_modules")
	if !has("bash") {
		t.Skip("there is no bash")
	}
	o := xstate.SessionOptions{Python: xstatetest.Pythons()[0], Seed: 7, Workspace: folderWith(t, packages)}
	store := xstatetest.OpenStore(t, filepath.Join(o.Workspace, xstate.StoreName))
	session := xstatetest.OpenSession(t, store, o)
	text := handed
	for i, step := range []struct{ old, new, ran string }{
		{"", "", "b1 b2 b3 b4"},
		{`[3, 5, 9]`, `[3, 5, 8]`, "b1 b2 b3 b4"},
		{`Number(row.n)`, `Number(row.n) * 2`, "b2 b3 b4"},
		{`sort_values("n")`, `sort_values("city")`, "b3"},
		// The package numbers its dictionaries, so the table is another, and b3 takes it anew; what it prints stands.
		{`"2024-01-02", None`, `"2024-01-03", None`, "b1 b2 b3"},
		{`"Ulm", "Bonn", "Ulm"`, `"Bonn", "Ulm", "Ulm"`, "b1 b2 b3 b4"},
		{`sums[Ulm]`, `sums[Bonn]`, "b4"},
	} {
		text = strings.ReplaceAll(text, step.old, step.new)
		files := map[string][]byte{"prog.md": []byte(text)}
		xstatetest.WriteFiles(t, o.Workspace, files)
		if i%2 == 1 {
			session.Close()
			session = xstatetest.OpenSession(t, store, o)
		}
		have := xstatetest.RunFile(t, t.Context(), session, o.Workspace, files, await.Long)
		var printed []string
		for _, b := range have.Blocks[1:] {
			printed = append(printed, printedBy(b.Outputs).stdout)
		}
		if d := cmp.Diff(handedAlone(t, packages, o.Python, text), printed); d != "" {
			t.Errorf("step %d: printed (-alone +run):\n%s", i, d)
		}
		if d := cmp.Diff(strings.Fields(step.ran), xstatetest.RanBlocks(have)); d != "" {
			t.Errorf("step %d: blocks that ran (-want +got):\n%s", i, d)
		}
	}
}

func folderWith(t *testing.T, packages string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Symlink(packages, filepath.Join(dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	return dir
}

// handedAlone returns what the interpreters print that run the blocks of the program, each in a process of its own.
func handedAlone(t *testing.T, packages, python, text string) (printed []string) {
	t.Helper()
	dir := folderWith(t, packages)
	var code [4]string
	for i, fence := range strings.Split(text, "\n\n") {
		lines := strings.Split(strings.TrimSpace(fence), "\n")
		code[i] = strings.Join(slices.DeleteFunc(lines, func(line string) bool {
			return strings.HasPrefix(line, "```") || strings.Contains(line, "xstate: from")
		}), "\n") + "\n"
	}
	// What hands the table on stands around the blocks.
	code[0] += writesSales
	code[1] = scriptOf(t, dir, "two.ts", readsSales+code[1]+writesTotals)
	code[2] = readsTotals + code[2]
	code[3] = ". ./sums.sh\n" + code[3]
	for i, name := range []string{"one.py", "two.mjs", "three.py", "four.sh"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(code[i]), 0o644); err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), []string{python, "node", python, "bash"}[i], name)
		cmd.Dir = dir
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if i > 0 {
			printed = append(printed, string(out))
		}
	}
	return printed
}
