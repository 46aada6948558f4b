package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/xstate-engine/xstate/internal/xstatetest"
)

// vscodePattern is a line of a problem matcher. The numbers are those of groups of the expression.
type vscodePattern struct {
	Regexp                      string
	File, Line, Column, Message int
}

// vscodePatterns are the lines of one matcher. The file has a single one without a list.
type vscodePatterns []vscodePattern

func (p *vscodePatterns) UnmarshalJSON(data []byte) error {
	if data[0] != '[' {
		data = fmt.Appendf(nil, "[%s]", data)
	}
	return json.Unmarshal(data, (*[]vscodePattern)(p))
}

// problems returns FILE:LINE:COLUMN MESSAGE of every place in the output where each pattern matches its line, as VS
// Code looks for them.
func (p vscodePatterns) problems(output string) (found []string) {
	lines := strings.Split(output, "\n")
	for from := range max(0, len(lines)-len(p)+1) {
		var place, message string
		matched := true
		for i, pattern := range p {
			m := regexp.MustCompile(pattern.Regexp).FindStringSubmatch(lines[from+i])
			if matched = m != nil; !matched {
				break
			}
			for _, group := range []int{pattern.File, pattern.Line, pattern.Column} {
				if group > 0 && m[group] != "" {
					place += m[group] + ":"
				}
			}
			if pattern.Message > 0 {
				message = m[pattern.Message]
			}
		}
		if matched {
			found = append(found, place+" "+message)
		}
	}
	return found
}

// TestVSCodeTask runs programs by the task of clients/vscode, and reads what it prints by its problem matchers.
func TestVSCodeTask(t *testing.T) {
	text, err := os.ReadFile("../../clients/vscode/tasks.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Tasks []struct {
			Command string
			Args    []string
			Options struct{ Env map[string]string }
			Matcher []struct {
				FileLocation []string // how, and the folder that files are relative to
				Pattern      vscodePatterns
			} `json:"problemMatcher"`
		}
	}
	if err := json.Unmarshal(text, &file); err != nil || len(file.Tasks) != 1 {
		t.Fatalf("tasks.json has %d tasks, want 1: %v", len(file.Tasks), err)
	}
	task := file.Tasks[0]
	folder := t.TempDir()
	defer stopServers(t, folder)
	environ := append(os.Environ(), "XSTATE_PYTHON="+xstatetest.Pythons()[0], "XDG_CACHE_HOME="+t.TempDir())
	for name, value := range task.Options.Env {
		environ = append(environ, name+"="+value)
	}
	for _, c := range []struct {
		name, program string
		want          []string
	}{
		{"block.py", "# %% a\nx = 0\n# %% b\nprint('out')\ny = 1 / x\n# %% c\nprint(y)\n",
			[]string{"block.py:5: ZeroDivisionError: division by zero"}},
		{"function.py", "def f(v):\n    return 1 / v\n\nf(0)\n",
			[]string{"function.py:2: ZeroDivisionError: division by zero"}},
		{"assert.py", "x = 1\nassert x == 2\n", []string{"assert.py:2: AssertionError"}},
		{"two.py", "# %% a\n{}['k']\n# %% b\nnone\n",
			[]string{"two.py:2: KeyError: 'k'", "two.py:4: NameError: name 'none' is not defined"}},
		{"syntax.py", "x = 1\ny = (\n", []string{"syntax.py:2:5: SyntaxError: '(' was never closed"}},
		{"right.py", "print('File', 'line 3:')\n", nil},
		{"script.sh", "x=1\nnone\n", []string{"script.sh:2: none: command not found"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if err := os.Mkdir(filepath.Join(folder, c.name+".d"), 0o777); err != nil {
				t.Fatal(err)
			}
			path := c.name + ".d/" + c.name
			if err := os.WriteFile(filepath.Join(folder, path), []byte(c.program), 0o666); err != nil {
				t.Fatal(err)
			}
			var args []string
			for _, arg := range task.Args {
				args = append(args, strings.ReplaceAll(arg, "${relativeFile}", path))
			}
			cmd := exec.CommandContext(t.Context(), task.Command, args...)
			cmd.Dir, cmd.Env = folder, environ
			output, _ := cmd.CombinedOutput() // what fails exits with 1
			var got []string
			for _, m := range task.Matcher {
				for _, p := range m.Pattern.problems(string(output)) {
					if m.FileLocation[1] == "${fileDirname}" {
						p = c.name + ".d/" + p
					}
					got = append(got, p)
				}
			}
			var want []string
			for _, w := range c.want {
				want = append(want, c.name+".d/"+w)
			}
			slices.Sort(got) // matchers look one after the other
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("problems (-want +got):\n%s\nin\n%s", d, output)
			}
		})
	}
}
