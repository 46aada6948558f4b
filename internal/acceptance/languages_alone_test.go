package acceptance

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/evanw/esbuild/pkg/api"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/internal/xstatetest"
	"github.com/xstate-engine/xstate/internal/xstatetest/await"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/output"
)

// How the interpreter alone runs a program is the first word of the section "judge" of a session:
//
//   - (absent): the blocks one after the other, with a line between any two
//   - settled: the same, and between blocks it waits until nothing is left of what the block began
//   - whole: without lines, which the program would notice; all that it prints is compared at once
//   - none: not at all, for the reason that follows
const (
	judgeSettled = "settled"
	judgeWhole   = "whole"
	judgeNone    = "none"
)

const (
	inShell = "prog.sh"
	border  = "\x01" // begins the line after a block
)

func isNodeProgram(name string) bool {
	switch name {
	case "prog.js", "prog.cjs", "prog.mjs", "prog.ts", "prog.tsx":
		return true
	}
	return false
}

// texts are what a program prints between two borders.
type texts struct{ stdout, stderr string }

// unlikeAlone tells how what a run printed is unlike what the interpreter alone does; "" where it is alike.
func unlikeAlone(t *testing.T, files map[string][]byte, judge string, out *xstate.Outcome) string {
	t.Helper()
	judge, _, _ = strings.Cut(judge, " ")
	if judge == judgeNone {
		return ""
	}
	stdout, stderr, code := runAlone(t, files, judge)
	var have []texts
	var failure *state.ExecError
	for _, b := range out.Blocks {
		if b.Status.Skipped() {
			if failure == nil && b.Status == state.StatusBlocked {
				return fmt.Sprintf("block %s waits for a block that did not fail", b.ID)
			}
			break
		}
		have = append(have, printedBy(b.Outputs))
		if failure = b.Err; b.Status == state.StatusFailed || b.Ending != nil {
			if b.Ending != nil && code != b.Ending.Code {
				return fmt.Sprintf("the program ends with %d, and alone with %d", b.Ending.Code, code)
			}
			failure = endOf(b.Ending, failure)
			break
		}
	}
	_, script := files[inShell]
	script = script && failure == nil // where nothing ends it, its code is that of its last command
	if ends := failure != nil; ends != (code != 0) && !script {
		return fmt.Sprintf("alone it ends with %d, %s, the run: %+v", code, lastLines(stderr), failure)
	}
	if failure != nil && !tells(stderr, failure) {
		return fmt.Sprintf("alone it fails so:\n%s\nthe run: %s: %s", stderr, failure.Type, failure.Message)
	}
	want := between(stdout, stderr)
	if judge == judgeWhole {
		have = []texts{joined(have)}
	}
	for i, h := range have {
		w := texts{}
		if i < len(want) {
			w = want[i]
		}
		if failure != nil && i == len(have)-1 {
			h.stderr, w.stderr = "", "" // it holds the failure
		}
		if h != w {
			return fmt.Sprintf("block %s prints %q, and alone %q", out.Blocks[i].ID, h, w)
		}
	}
	return ""
}

// tells reports whether what an interpreter printed when it failed names a failure. An exit prints nothing.
func tells(stderr string, e *state.ExecError) bool {
	switch e.Type {
	case "exit":
		return true
	case "ShellError":
		return strings.Contains(stderr, e.Message)
	case "Thrown": // what is no error is shown as a value, and alone as a text
		return strings.Contains(stderr, strings.Trim(e.Message, "'"))
	}
	return strings.Contains(stderr, e.Type) && strings.Contains(stderr, e.Message)
}

// endOf is the failure of a block that ended the program with a code other than 0.
func endOf(e *state.Ending, failure *state.ExecError) *state.ExecError {
	if e != nil && e.Code != 0 && failure == nil {
		return &state.ExecError{Type: "exit"}
	}
	return failure
}

func lastLines(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-6):], "\n")
}

func joined(list []texts) texts {
	var all texts
	for _, p := range list {
		all.stdout += p.stdout
		all.stderr += p.stderr
	}
	return all
}

func printedBy(outputs []output.Output) texts {
	var p texts
	for _, o := range outputs {
		switch o.Kind {
		case "stdout":
			p.stdout += o.Text
		case "stderr":
			p.stderr += withoutPlaces(o.Text)
		}
	}
	return p
}

var lineOfShell = regexp.MustCompile(`(?m)^[^:\n]*: line \d+: `)

// withoutPlaces removes the names of files and the lines that Bash begins its messages with.
func withoutPlaces(text string) string { return lineOfShell.ReplaceAllString(text, "") }

// between cuts what a program printed at its borders.
func between(stdout, stderr string) []texts {
	var list []texts
	outs, errs := strings.Split(stdout, border+"\n"), strings.Split(stderr, border+"\n")
	for i := range max(len(outs), len(errs)) {
		var p texts
		if i < len(outs) {
			p.stdout = stands(outs[i])
		}
		if i < len(errs) {
			p.stderr = withoutPlaces(stands(errs[i]))
		}
		list = append(list, p)
	}
	return list
}

// stands returns what is left of a text on a terminal that goes back at carriage returns.
func stands(text string) string {
	var b strings.Builder
	for _, o := range output.Join([]output.Output{{Kind: "stdout", Text: text}}) {
		b.WriteString(o.Text)
	}
	return b.String()
}

// runAlone runs the program of the files by its interpreter, in a new folder.
func runAlone(t *testing.T, files map[string][]byte, judge string) (stdout, stderr string, code int) {
	t.Helper()
	dir, err := os.MkdirTemp("", "xstate-alone-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	xstatetest.WriteFiles(t, dir, files)
	name := ""
	for n := range files {
		if n == inShell || isNodeProgram(n) {
			name = n
		}
	}
	interpreter := []string{"bash", name}
	text := shellAlone(string(files[name]), judge)
	if name != inShell {
		before := filepath.Join(dir, ".before.cjs")
		if err := os.WriteFile(before, []byte(settle), 0o644); err != nil {
			t.Fatal(err)
		}
		text = nodeAlone(string(files[name]), judge, name)
		if filepath.Ext(name) == ".ts" || filepath.Ext(name) == ".tsx" {
			text = scriptOf(t, dir, name, text)
			name = "prog.mjs"
		}
		interpreter = []string{"node", "--require", before, name}
	}
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), await.Long)
	defer cancel()
	cmd := exec.CommandContext(ctx, interpreter[0], interpreter[1:]...)
	cmd.Dir = dir
	var outs, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &outs, &errs
	if err := cmd.Run(); cmd.ProcessState == nil {
		t.Fatal(err)
	}
	blank := func(b []byte) string { return strings.ReplaceAll(string(b), dir, "DIR") }
	return blank(outs.Bytes()), blank(errs.Bytes()), cmd.ProcessState.ExitCode()
}

var (
	nodeTitle  = regexp.MustCompile(`(?m)^// %% .*\n`)
	shellTitle = regexp.MustCompile(`(?m)^# %% .*\n`)
)

// settle waits until nothing is left that the program began: Node says so, and a list of what is active is empty
// between the parts of an import().
const settle = `Object.defineProperty(globalThis, '__settle', { value: () => {
  const soon = setImmediate
  return new Promise(r => process.once('beforeExit', () => soon(r)))
} })
`

// blocksAlone cuts a program at its titles.
func blocksAlone(title *regexp.Regexp, text string) []string {
	if blocks := title.Split(text, -1); len(blocks) > 1 {
		return blocks[1:]
	}
	return []string{text}
}

// nodeAlone is a program with a line between any two blocks.
func nodeAlone(text, judge, name string) string {
	blocks := blocksAlone(nodeTitle, text)
	line := `;process.stdout.write("\x01\n");process.stderr.write("\x01\n");` + "\n"
	switch judge {
	case judgeWhole:
		line = ""
	case judgeSettled:
		line = ";await __settle();" + line
	}
	text = strings.Join(blocks, line)
	if judge == judgeSettled {
		text += ";await __settle();"
	}
	if judge == judgeSettled && name == "prog.js" {
		text = ";(async () => {" + text + "\n})()"
	}
	return text
}

// shellAlone is a program with a line between any two blocks, after which $? is what it was before.
func shellAlone(text, judge string) string {
	blocks := blocksAlone(shellTitle, text)
	blocks = append(blocks, "exit 0\n") // or a last command that fails would look like a program that fails
	if judge == judgeWhole {
		return strings.Join(blocks, "")
	}
	return "__border() { local s=$?; builtin printf '\\001\\n' 2>/dev/null; builtin printf '\\001\\n' >&2; " +
		"return $s; }\n" +
		strings.Join(blocks, "__border\n")
}

// scriptOf is a program in TypeScript, with the modules of its folder, as JavaScript.
func scriptOf(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	made := api.Build(api.BuildOptions{
		EntryPoints: []string{path},
		Bundle:      true,
		Platform:    api.PlatformNode,
		Format:      api.FormatESModule,
		Target:      api.ES2022,
		TreeShaking: api.TreeShakingFalse,
	})
	if len(made.Errors) > 0 || len(made.OutputFiles) != 1 {
		t.Fatalf("%s: %v", name, made.Errors)
	}
	return string(made.OutputFiles[0].Contents)
}
