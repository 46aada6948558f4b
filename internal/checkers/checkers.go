package checkers

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Check is a call of a checker.
type Check struct {
	Checker string
	Files   []string
	Source  string // of a block in Bash
}

// checker is a program that reads sources.
type checker struct {
	name     string
	suffixes []string // of the files that it reads
	together bool     // one call reads all files: what is wrong in one may depend on another
	args     []string // before the files
	most     int      // the highest exit code of a call that made its check; above, it failed
	read     func(stdout string) ([]Finding, error)
}

var (
	pythonFiles     = []string{".py", ".pyi"}
	typeScriptFiles = []string{".ts", ".mts", ".cts", ".tsx"}
	javaScriptFiles = []string{".js", ".mjs", ".cjs", ".jsx"}
)

var all = []checker{
	{name: "ruff", suffixes: append([]string{".ipynb"}, pythonFiles...), most: 1,
		args: []string{"check", "--no-cache", "--no-fix", "--output-format=json", "--"}, read: readRuff},
	{name: "mypy", suffixes: pythonFiles, together: true, most: 2, // 2: a syntax error, among others
		args: []string{"--output=json", "--cache-dir=/dev/null", "--show-absolute-path", "--"}, read: readMypy},
	{name: "ty", suffixes: pythonFiles, together: true, most: 1,
		args: []string{"check", "--output-format=gitlab", "--no-progress", "--"}, read: readTy},
	{name: "pyright", suffixes: pythonFiles, together: true, most: 1,
		args: []string{"--outputjson"}, read: readPyright},
	{name: "pylint", suffixes: pythonFiles, most: 31, args: []string{"--output-format=json"}, read: readPylint},
	{name: "eslint", suffixes: slices.Concat(javaScriptFiles, typeScriptFiles), most: 1,
		args: []string{"--format=json", "--no-cache", "--no-warn-ignored", "--"}, read: readESLint},
	{name: "tsc", suffixes: typeScriptFiles, together: true, most: 2,
		args: []string{"--noEmit", "--pretty", "false", "--incremental", "false"}, read: readTSC},
	{name: "shellcheck", suffixes: []string{".sh", ".bash"}, most: 1,
		args: []string{"--format=json", "--"}, read: readShellCheck},
}

// Read reports whether a checker that is installed reads a file.
func Read(checks []Check, file string) bool {
	return slices.ContainsFunc(checks, func(c Check) bool { return slices.Contains(c.Files, file) })
}

// Names lists the checkers.
func Names() []string {
	names := make([]string, len(all))
	for i, c := range all {
		names[i] = c.name
	}
	return names
}

// Checks returns the calls that check files with the named checkers, in a fixed order. find returns the path of a
// program, and "" if it is not installed.
func Checks(files, names []string, find func(name string) string) (checks []Check) {
	for _, c := range all {
		read := slices.DeleteFunc(slices.Clone(files), func(f string) bool {
			return !slices.Contains(c.suffixes, strings.ToLower(path.Ext(f)))
		})
		if len(read) == 0 || !slices.Contains(names, c.name) {
			continue
		}
		program := find(c.name)
		if program == "" {
			continue
		}
		groups := [][]string{read}
		if !c.together {
			groups = slices.Collect(slices.Chunk(read, 1))
		}
		for _, group := range groups {
			source := c.source(program, group)
			checks = append(checks, Check{Checker: c.name, Files: group, Source: source})
		}
	}
	return checks
}

// source returns the call as a block. Its last line of output is the exit code: that of the block says nothing.
func (c *checker) source(program string, files []string) string {
	words := []string{quoted(program)}
	for _, arg := range c.args {
		words = append(words, quoted(arg))
	}
	for _, file := range files {
		if strings.ContainsAny(file[:1], "-@+") { // no option, and no file with options
			file = "./" + file
		}
		words = append(words, quoted(file))
	}
	return "(" + strings.Join(words, " ") + `; printf '\nexit %s\n' "$?")`
}

// quoted returns a word that Bash reads as the text.
func quoted(text string) string {
	if strings.Trim(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-=") == "" {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// Findings reads what the block of a check printed. It ran in folder, from which files are named.
func (c Check) Findings(stdout, stderr, folder string) ([]Finding, error) {
	checker := &all[slices.IndexFunc(all, func(x checker) bool { return x.name == c.Checker })]
	printed, code, ended := cutLast(strings.TrimSuffix(stdout, "\n"), "\nexit ")
	exit, err := strconv.Atoi(code)
	if !ended || err != nil {
		return nil, errors.New("it did not end, or printed more than is kept")
	}
	if exit > checker.most {
		said := strings.TrimSpace(stderr)
		if said == "" {
			said = strings.TrimSpace(printed)
		}
		return nil, fmt.Errorf("it ended with %d: %s", exit, said)
	}
	found, err := checker.read(printed)
	if err != nil {
		return nil, fmt.Errorf("what it printed cannot be read: %w", err)
	}
	if exit != 0 && len(found) == 0 { // it is a crash, or a form of output that is not known
		said := strings.TrimSpace(printed + stderr)
		return nil, fmt.Errorf("it ended with %d, and printed no finding: %s", exit, said)
	}
	for i := range found {
		f := &found[i]
		f.Checker = c.Checker
		f.Message = strings.TrimSpace(f.Message)
		f.File = path.Clean(strings.TrimPrefix(f.File, folder+"/"))
	}
	slices.SortStableFunc(found, func(a, b Finding) int {
		return cmp.Or(strings.Compare(a.File, b.File), a.Line-b.Line, a.Column-b.Column)
	})
	return found, nil
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}
