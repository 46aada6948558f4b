package python

import "testing"

func TestSyntaxErrors(t *testing.T) {
	for _, test := range []struct{ src, want string }{
		{"x = 1\n  y = 2", "line 2, column 3: unexpected indent"},
		{"  x = 1", "line 1, column 3: unexpected indent"},
		{"if a:\n        b\n    c", "line 3, column 5: unexpected indent"},
		{"if a:\nb", "line 1, column 1: expected an indented block"},
		{"if a:\n\tb\n        c", "line 3, column 9: inconsistent use of tabs and spaces in indentation"},
		{"class A:\n  # empty\nx", "line 1, column 1: expected an indented block"},
		{"print 'x'", "line 1, column 1: missing parentheses in call to print: this is a statement of Python 2"},
		{"exec 'x'", "line 1, column 1: missing parentheses in call to exec: this is a statement of Python 2"},
		{"raise A, B", "line 1, column 1: raise takes one exception"},
		{"a <> b", "line 1, column 3: <> is not an operator; use !="},
		{"x = 0777", "line 1, column 5: leading zeros in decimal integer literals are not permitted"},
		{"x = 10L", "line 1, column 5: invalid decimal literal"},
		{"x = `a`", "line 1, column 5: backquotes are not an expression; use repr"},
		{"x = ur'a'", "line 1, column 5: unknown string prefix ur"},
		{"return 1", "line 1, column 1: return outside a function"},
		{"yield 1", "line 1, column 1: yield outside a function"},
		{"break", "line 1, column 1: break outside a loop"},
		{"for x in y:\n  def f(): continue", "line 2, column 12: continue outside a loop"},
		{"def f(a, a): pass", "line 1, column 10: duplicate parameter a"},
		{"def f(a=1, b): pass", "line 1, column 12: a parameter without a default follows one with a default"},
		{"def f((a, b)): pass", "line 1, column 7: a parameter must be a name"},
		{"async = 1", "line 1, column 1: async is a keyword"},
		{"def f():\n  x = 1\n  global x", "line 3, column 10: name x is used prior to its global declaration"},
		{"def f():\n  nonlocal x", "line 2, column 12: no binding for nonlocal x found"},
		{"nonlocal x", "line 1, column 10: nonlocal declaration not allowed at module level"},
		{"x = 1\nfrom __future__ import annotations", "line 2, column 1: a future import must stand at the beginning"},
		{"from __future__ import braces", "line 1, column 24: future feature braces is not defined"},
		{"[x := 1 for x in y]", "line 1, column 2: an assignment expression cannot rebind the iteration variable x"},
		{"class A: [x := 1 for y in z]",
			"line 1, column 11: an assignment expression within a comprehension cannot be used in a class body"},
		{"x = y as z", "line 1, column 5: as is not allowed here"},
		{"del f()", "line 1, column 5: cannot delete f()"},
		{"with a as f(): pass", "line 1, column 11: cannot assign to f()"},
		{"a, b += 1", "line 1, column 1: this is not a target for augmented assignment"},
		{"x := 1", "line 1, column 1: an assignment expression needs parentheses here"},
		{"try: a", `line 1, column 1: invalid syntax near "try: a"`},
		{"a\nx = (1, [2\ny = 3", "line 2, column 9: '[' was never closed"},
		{"x = [1, 2)", "line 1, column 10: closing ')' does not match opening '['"},
		{"x = 1)", "line 1, column 6: unmatched ')'"},
		{"a\nx = 'abc\ny", "line 2, column 5: unterminated string literal"},
		{"a\nx = \"\"\"abc\ny", "line 2, column 5: unterminated string literal"},
		{"x = '# (' y", `line 1, column 5: invalid syntax near "'# ('"`},
		{"x€ = 1", `line 1, column 2: invalid syntax near "€"`},
		{"ä = 1\nx = \x00", "line 2, column 5: source code cannot contain null bytes"},
		{"x = '\xff'", "line 1, column 6: source code is not valid UTF-8"},
	} {
		_, err := Analyze([]byte(test.src), Plain)
		if err == nil || err.Error() != test.want {
			t.Errorf("Analyze(%q) = %v, want %s", test.src, err, test.want)
		}
	}
}

// These texts are valid in today's Python, but the linked grammar, of 2024, cannot parse them. Each must be an error,
// never a guess. Delete an entry that parses after an update of the grammar.
func TestKnownLimits(t *testing.T) {
	for _, src := range []string{
		"t'{x}'",                         // 3.14, template strings (PEP 750)
		"def f[T = int](): pass",         // 3.13, defaults of type parameters (PEP 696)
		"class A[T: int = bool]: pass",   // the same
		"type A[*Ts = *tuple[int]] = Ts", // the same
		"try: a\nexcept A, B, C: pass",   // 3.14, more than two exceptions without parentheses (PEP 758)
		"type(x).y = yield_ = yield",     // a yield assigned to an attribute of a type, outside a function anyway
		"(a.\nb)\nif c:\n  (a.\nb)",      // a line in parentheses that begins left of its block, behind a dot
	} {
		if _, err := Analyze([]byte(src), Plain); err == nil {
			t.Errorf("Analyze(%q) succeeds: no longer a limit", src)
		}
	}
}
