package python

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"testing"

	"github.com/xstate-engine/xstate/internal/xstatetest/sampling"
)

// CPython judges the scope table: the test compares it with the symbol tables that CPython makes for a sample of the
// files of its own library, test suites included, and for all with XSTATE_TEST_ALL=1. XSTATE_TEST_PYTHONS lists the
// interpreters, separated as in PATH; the default is python3.

// judged is the interpreter's answer for one file (testdata/symtable_facts.py).
type judged struct {
	File        string
	Error       *string
	Undecodable bool
	Source      *string
	Scopes      []string
}

// allowed lists files on which the results differ, and why. The test fails on an entry that no longer differs.
var allowed = map[string]string{
	"3.10 test/test_unicode_identifiers.py": unnormalised,
	"3.11 test/test_unicode_identifiers.py": unnormalised,
	"3.12 test/test_unicode_identifiers.py": unnormalised,
	"3.13 test/test_unicode_identifiers.py": unnormalised,
	"3.11 test/test_traceback.py":           unnormalised,
	"3.12 test/test_traceback.py":           unnormalised,
	"3.13 test/test_traceback.py":           unnormalised,
	"3.11 test/test_compile.py":             leftOfBlock,
	"3.12 test/test_compile.py":             leftOfBlock,
	"3.13 test/test_compile.py":             leftOfBlock,
}

const (
	unnormalised = "names are compared as written; CPython normalises them (NFKC)"
	leftOfBlock  = "tree-sitter does not parse a line in parentheses that begins left of the block, behind a dot"
)

func TestScopesAgreeWithCPython(t *testing.T) {
	interpreters := filepath.SplitList(os.Getenv("XSTATE_TEST_PYTHONS"))
	if len(interpreters) == 0 {
		interpreters = []string{"python3"}
	}
	for _, python := range interpreters {
		t.Run(filepath.Base(filepath.Dir(filepath.Dir(python))), func(t *testing.T) { judge(t, python) })
	}
}

func judge(t *testing.T, python string) {
	every := 5
	if sampling.All() {
		every = 1
	}
	cmd := exec.Command(python, "-I", "testdata/symtable_facts.py", strconv.Itoa(every))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	dec := json.NewDecoder(bufio.NewReaderSize(out, 1<<20))
	var head struct {
		Version, Root string
		Inlined       bool
	}
	if err := dec.Decode(&head); err != nil {
		t.Fatalf("%s printed no facts: %v", python, err)
	}
	files, refused, differ := 0, 0, 0
	for dec.More() {
		var want judged
		if err := dec.Decode(&want); err != nil {
			t.Fatal(err)
		}
		if want.Undecodable {
			continue // no text, so nothing to analyse
		}
		files++
		if want.Error != nil {
			refused++
		}
		diff := disagreement(t, head.Root, want, head.Inlined)
		_, known := allowed[head.Version+" "+want.File]
		switch {
		case diff != "" && !known:
			differ++
			if differ < 60 {
				t.Errorf("%s %s: %s", head.Version, want.File, diff)
			}
		case diff == "" && known:
			t.Errorf("%s %s: allowed to differ, and does not", head.Version, want.File)
		}
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	if files < 1000/every {
		t.Errorf("%s judged %d files, want one in %d of its library", python, files, every)
	}
	t.Logf("python %s: %d files, %d refused by the interpreter, %d differ", head.Version, files, refused, differ)
}

// disagreement analyses a file and describes how the result differs from the interpreter's, or returns "".
func disagreement(t *testing.T, root string, want judged, inlined bool) string {
	src, err := os.ReadFile(filepath.Join(root, want.File))
	if err != nil {
		t.Fatal(err)
	}
	if want.Source != nil {
		src = []byte(*want.Source)
	}
	w, err := analyze(src, runs)
	if err2 := checkText(src); err2 != nil {
		err = err2
	}
	switch {
	case want.Error != nil && err != nil:
		return ""
	case want.Error != nil:
		return "the interpreter refuses it: " + *want.Error
	case err != nil:
		return err.Error()
	}
	got := w.scopeLines(inlined)
	for i := range max(len(got), len(want.Scopes)) {
		switch {
		case i >= len(got):
			return "missing scope " + want.Scopes[i]
		case i >= len(want.Scopes):
			return "surplus scope " + got[i]
		case got[i] != want.Scopes[i]:
			return fmt.Sprintf("scope\n got %s\nwant %s", got[i], want.Scopes[i])
		}
	}
	return ""
}

// tableScope is a scope as testdata/symtable_facts.py prints it.
type tableScope struct {
	path, kind string
	line       int
	symbols    map[string]string
}

// scopeLines writes the scope table as testdata/symtable_facts.py does. From 3.12 on (PEP 709), the compiler merges a
// comprehension into the enclosing scope, except generator expressions and comprehensions from which a class is
// visible.
func (w *walker) scopeLines(inlined bool) []string {
	table := make([]tableScope, len(w.all))
	for i, s := range w.all {
		table[i] = w.tableScope(int32(i), table, inlined)
		for k := s.first; k != noIndex; k = w.syms[k].next {
			if text := w.symbolText(k); text != "" {
				table[i].symbols[w.names.texts[w.syms[k].name]] = text
			}
		}
	}
	if inlined {
		children := make(map[int32][]int32)
		for i, s := range w.all {
			children[s.parent] = append(children[s.parent], int32(i))
		}
		w.mergeInto(0, table, children)
	}
	var lines []string
	for i, s := range table {
		if inlined && w.merges(int32(i)) {
			continue
		}
		var symbols []string
		for name, text := range s.symbols {
			symbols = append(symbols, name+":"+text)
		}
		sort.Strings(symbols)
		lines = append(lines, fmt.Sprintf("%s|%s|%d|%s", s.path, s.kind, s.line, strings.Join(symbols, " ")))
	}
	sort.Strings(lines)
	return lines
}

// mergeInto merges the comprehensions of a scope into it, inner and earlier ones first. If two have the same name, the
// first one counts.
func (w *walker) mergeInto(around int32, table []tableScope, children map[int32][]int32) {
	for _, i := range children[around] {
		w.mergeInto(i, table, children)
		if !w.merges(i) {
			continue
		}
		for name, text := range table[i].symbols {
			if _, ok := table[around].symbols[name]; !ok {
				table[around].symbols[name] = text
			}
		}
	}
}

// merges reports whether CPython 3.12 and later merge scope i into the enclosing one.
func (w *walker) merges(i int32) bool {
	k := w.all[i].kind
	return (k == listScope || k == setScope || k == dictScope) && !w.seesClass(w.all[i].parent)
}

// seesClass reports whether a scope is between a class and the users of its type parameters (PEP 695).
func (w *walker) seesClass(i int32) bool {
	switch w.all[i].kind {
	case paramsScope, boundScope, aliasScope:
		parent := w.all[i].parent
		return w.all[parent].kind == classScope || w.seesClass(parent)
	}
	return false
}

func (w *walker) tableScope(i int32, table []tableScope, inlined bool) tableScope {
	s := w.all[i]
	if i == 0 {
		return tableScope{"/top", "module", 0, map[string]string{}}
	}
	name := ""
	if s.name != noIndex {
		name = w.names.texts[s.name]
	}
	kind := map[scopeKind]string{classScope: "class", paramsScope: "params", boundScope: "bound",
		aliasScope: "alias"}[s.kind]
	if kind == "" {
		kind = "function"
	}
	path := table[s.parent].path
	if !inlined || !w.merges(i) {
		path += "/" + name
	}
	return tableScope{path, kind, w.line(s.start), map[string]string{}}
}

func (w *walker) symbolText(i int32) string {
	s := w.syms[i]
	marks := ""
	for _, m := range []struct {
		m symbolFlags
		l string
	}{{isParam, "P"}, {isAssigned, "A"}, {isUsed, "U"}, {isImported, "I"}, {isAnnotated, "T"}, {isGlobal, "G"},
		{isNonlocal, "N"}} {
		if s.flags&m.m != 0 {
			marks += m.l
		}
	}
	if marks == "" || w.names.texts[s.name] == superClass {
		return ""
	}
	return marks + ":" + w.where(i)
}

// where returns the scope that a name refers to, in CPython's terms.
func (w *walker) where(i int32) string {
	s := w.syms[i]
	switch r := w.resolve(i); {
	case s.flags&isGlobal != 0:
		return "explicit"
	case s.flags&isNonlocal != 0:
		return "free"
	case s.flags&isBound != 0:
		return "local"
	case s.scope == 0, w.classBinds(s), w.syms[r].scope == 0, w.syms[r].flags&isGlobal != 0:
		return "global"
	}
	return "free"
}

// classBinds reports whether a name read in an annotation scope is found in the enclosing class.
func (w *walker) classBinds(s symbol) bool {
	if !w.seesClass(s.scope) {
		return false
	}
	class := s.scope
	for w.all[class].kind != classScope {
		class = w.all[class].parent
		for k := w.all[class].first; k != noIndex; k = w.syms[k].next {
			if w.syms[k].name == s.name && w.syms[k].flags&isBound != 0 && w.syms[k].flags&isNonlocal == 0 {
				return w.all[class].kind == classScope
			}
		}
	}
	return false
}
