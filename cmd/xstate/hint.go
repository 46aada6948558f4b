package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/depgraph/languages"
	"github.com/xstate-engine/xstate/patch"
	"github.com/xstate-engine/xstate/runner"
	"github.com/xstate-engine/xstate/runner/journal"
	"github.com/xstate-engine/xstate/runner/sandbox/policy"
	"github.com/xstate-engine/xstate/state"
)

// hint says what to do about an error of a block, in the words of the caller's door; "" where that is not certain.
func (p *places) hint(e *state.ExecError) string {
	if p == nil {
		return ""
	}
	return p.door.Hint(p.remedy(e))
}

// remedy is a hint as it is written.
func (p *places) remedy(e *state.ExecError) string {
	if len(e.Denied) > 0 {
		return p.deniedHint(e.Denied)
	}
	switch e.Type {
	case "ModuleNotFoundError":
		return p.moduleHint(e)
	case "NameError":
		return p.nameHint(e)
	case "FileNotFoundError":
		return p.fileHint(e)
	case "SyntaxError", "IndentationError":
		if i := p.at(e.Block); i >= 0 && patch.ProseAround(p.blocks[i].source) {
			return "send code in a fence (```python … ```), and the prose around it is skipped"
		}
		if e.Message == "Illegal return statement" { // Node wraps the files that it runs into functions
			return "a block is no function, as a script of CommonJS is: process.exit() ends the program here"
		}
	case "xstate.ToolError", "ToolError":
		return p.toolHint(e)
	case "EOFError":
		if e.Message == "EOF when reading a line" { // raised by input()
			return "the program's standard input has no more lines: `xstate run FILE --stdin FILE` gives it one"
		}
	case runner.TypeTimeout:
		return fmt.Sprintf("a longer `--timeout` gives it more time; `--always %s` tries the same again", e.Block)
	case runner.TypeWaiting:
		return waitingHint(e.Waiting)
	case runner.TypeDied:
		return diedHint(e.Message)
	}
	return ""
}

// toolHint says which sources of tools do not count: one may have what a call missed.
func (p *places) toolHint(e *state.ExecError) string {
	if !strings.Contains(e.Message, "there is no tool ") && !strings.Contains(e.Message, "there is no model") {
		return ""
	}
	found, err := policy.Read(policy.Options{Folder: filepath.Dir(cmp.Or(p.file, filepath.Join(p.folder, "-"))),
		User: policy.UserFile(p.env), Home: p.env("HOME")})
	if err != nil {
		return ""
	}
	return found.UntrustedHint()
}

// distributions are packages whose names differ from those of their modules.
var distributions = map[string]string{
	"cv2": "opencv-python", "yaml": "PyYAML", "sklearn": "scikit-learn", "skimage": "scikit-image", "PIL": "pillow",
	"bs4": "beautifulsoup4", "dateutil": "python-dateutil", "dotenv": "python-dotenv", "attr": "attrs",
	"Crypto": "pycryptodome", "OpenSSL": "pyOpenSSL", "jwt": "PyJWT", "git": "GitPython", "serial": "pyserial",
	"docx": "python-docx", "pptx": "python-pptx", "fitz": "PyMuPDF",
}

// systemModules are parts of Python that some systems ship apart; pip has none of them.
var systemModules = []string{"tkinter", "_tkinter", "_sqlite3", "_bz2", "_lzma", "_ctypes", "_curses", "ensurepip",
	"venv", "distutils"}

// moduleHint names the interpreter that lacks a module. It says how to install only modules that pip may have.
func (p *places) moduleHint(e *state.ExecError) string {
	name, found := strings.CutPrefix(e.Message, "No module named '")
	name, _, ends := strings.Cut(name, "'")
	if !found || !ends || p.python.Path == "" {
		return ""
	}
	where := fmt.Sprintf("the interpreter is %s (%s); ", p.python.Path, p.python.Version)
	if strings.Contains(name, ".") || slices.Contains(systemModules, name) {
		return where + "`--python` chooses another one"
	}
	if known := distributions[name]; known != "" {
		name = known
	}
	return where + fmt.Sprintf("install it there: %s -m pip install %s, or choose another one with `--python`",
		p.python.Path, name)
}

// shellNames are names in which IPython keeps results and inputs. Those of results are there in notebooks.
var shellNames = []string{"_", "__", "___", "Out", "In", "_i", "_ii", "_iii"}

// shellHint says what to write in place of a name of IPython.
func shellHint(name string) string {
	switch {
	case name == "Out":
		return "IPython's Out is not there: in a notebook _3 is the value of cell 3; or give the result a name"
	case strings.Trim(name, "_") == "":
		return name + " is the value of a cell before it in a notebook, unless the program binds it itself; " +
			"give the result a name, and use that"
	}
	return fmt.Sprintf("IPython's %s is not there: give the result a name, and use that", name)
}

// nameHint names the later block that defines a name.
func (p *places) nameHint(e *state.ExecError) string {
	name := p.python.Missing(e)
	if slices.Contains(shellNames, name) {
		return shellHint(name)
	}
	at := p.at(e.Block)
	if name == "" || at < 0 {
		return ""
	}
	for _, b := range p.blocks[at+1:] {
		facts, err := languages.Analyze([]byte(b.source), depgraph.Dialect(b.dialect))
		if err != nil {
			continue
		}
		for i := range facts.Nodes {
			if slices.Contains(facts.Nodes[i].Defines, name) {
				return fmt.Sprintf("block %s defines %s, below: blocks run from top to bottom", b.id, name)
			}
		}
	}
	return ""
}

// fileHint says where a relative path begins, unless the program may have changed the directory.
func (p *places) fileHint(e *state.ExecError) string {
	_, name, found := strings.Cut(e.Message, "No such file or directory: '")
	name, ends := strings.CutSuffix(name, "'")
	if !found || !ends || strings.Contains(name, "'") || filepath.IsAbs(name) || p.folder == "" {
		return ""
	}
	for _, b := range p.blocks {
		if strings.Contains(b.source, "chdir") {
			return ""
		}
	}
	if _, err := os.Stat(filepath.Join(p.folder, name)); err == nil {
		return ""
	}
	if b := p.failedWriter(e.Block, name); b != "" {
		return fmt.Sprintf("block %s, which writes %s, failed before this one", b, name)
	}
	hint := fmt.Sprintf("the program runs in %s, and there is no %s", p.folder, name)
	here, err := p.here()
	if err != nil || here == p.folder {
		return hint
	}
	if _, err := p.stat(name); err == nil {
		hint += fmt.Sprintf("; there is one in %s: `--workdir . --session NAME` runs the program there", here)
	}
	return hint
}

// failedWriter returns the last block above another one that failed and by its text writes a file; "" if there is none.
func (p *places) failedWriter(reader state.BlockID, name string) state.BlockID {
	for _, b := range slices.Backward(p.blocks[:max(0, p.at(reader))]) {
		if !p.failed[b.id] {
			continue
		}
		facts, err := languages.Analyze([]byte(b.source), depgraph.Dialect(b.dialect))
		if err != nil {
			continue
		}
		for i := range facts.Nodes {
			if slices.ContainsFunc(facts.Nodes[i].Effects, func(x depgraph.Effect) bool {
				return x.Kind == depgraph.EffectFile && x.Mode != depgraph.Reads &&
					filepath.Clean(x.Arg) == filepath.Clean(name)
			}) {
				return b.id
			}
		}
	}
	return ""
}

// waitingHint says how to decide about calls.
func waitingHint(waiting []state.WaitingCall) string {
	var all []string
	for _, w := range waiting {
		text := fmt.Sprintf("`xstate approve %d", w.Call)
		switch {
		case slices.Contains(w.Choices, journal.ChoiceYes):
			text += "`, or `--deny`"
		case len(w.Choices) > 0:
			text += " --choice " + strings.Join(w.Choices, "|") + "`"
		default:
			text += " --choice TEXT`"
		}
		all = append(all, text)
	}
	if len(all) == 0 {
		return "`xstate calls --waiting`"
	}
	return strings.Join(all, "; ") + "; then run it again"
}

// diedHint says how to learn why an interpreter died.
func diedHint(message string) string {
	switch {
	case strings.Contains(message, "signal 15"):
		return "somebody ended the interpreter; `--fresh` or `--always BLOCK` tries again"
	case strings.Contains(message, "signal 9"):
		return "the system kills processes that take too much memory"
	case strings.Contains(message, "signal 31"):
		return "the block closed a descriptor from 250 to 255, which are of its shell, or called what is forbidden"
	case strings.Contains(message, "killed by signal"):
		return "native code crashed; with PYTHONFAULTHANDLER=1 in the environment, Python prints where"
	}
	return ""
}

// deniedHint says what would allow what was denied; "" where nothing was.
func (c caller) deniedHint(denied []state.Denial) string {
	if len(denied) == 0 {
		return ""
	}
	text := deniedText(denied)
	rules, file := c.allowing(denied)
	if len(rules) == 0 {
		return text + ", and no line of a policy allows it"
	}
	return fmt.Sprintf("%s; what would allow it in %s: %s", text, file, strings.Join(rules, "; "))
}

// allowing returns the lines of the user's policy file that would allow what was denied, and the name of that file.
func (c caller) allowing(denied []state.Denial) (rules []string, file string) {
	for _, d := range denied {
		rule := d.Rule
		if strings.HasPrefix(rule, "limits.") && !strings.Contains(rule, "=") {
			rule = "a higher " + rule
		}
		if rule != "" && !slices.Contains(rules, rule) {
			rules = append(rules, rule)
		}
	}
	file = cmp.Or(policy.UserFile(c.env), policy.FileName)
	if below, ok := strings.CutPrefix(file, c.env("HOME")+"/"); ok {
		file = "~/" + below
	}
	return rules, file
}

// deniedText lists what was denied.
func deniedText(denied []state.Denial) string {
	var all []string
	for _, d := range denied {
		if !slices.Contains(all, d.String()) {
			all = append(all, d.String())
		}
	}
	return "the sandbox denied: " + strings.Join(all, ", ")
}
