package wording

import (
	"regexp"
	"testing"
)

func TestDoors(t *testing.T) {
	for _, x := range []struct{ hint, line, tools, api string }{
		{"`xstate log` lists the steps", "xstate log lists the steps", "history lists the steps",
			"history lists the steps"},
		{"a longer `--timeout` gives it more time; `--always b1` tries the same again",
			"a longer --timeout gives it more time; --always b1 tries the same again",
			"a longer timeout gives it more time",
			"a longer timeout gives it more time; always b1 tries the same again"},
		{"`xstate run FILE --stdin FILE` gives it again", "xstate run FILE --stdin FILE gives it again",
			"run with stdin FILE on the command line gives it again",
			"run with stdin FILE on the command line gives it again"},
		{"to overwrite it: `xstate run FILE --restore-files`; or copy it first",
			"to overwrite it: xstate run FILE --restore-files; or copy it first",
			"to overwrite it: run with restore_files; or copy it first",
			"to overwrite it: run with restore_files; or copy it first"},
		{"`xstate approve 7`, or `--deny`; then run it again", "xstate approve 7, or --deny; then run it again",
			"approve with call 7, or deny; then run it again", "approve with call 7, or deny; then run it again"},
		{"`xstate approve 7 --choice yes|no`", "xstate approve 7 --choice yes|no",
			"approve with call 7 and choice yes|no", "approve with call 7 and choice yes|no"},
		{"`xstate query --value x` prints it", "xstate query --value x prints it", "value with name x prints it",
			"value with name x prints it"},
		{"`xstate undo 5 --session 'a b'`", "xstate undo 5 --session 'a b'", "undo with step 5 and session 'a b'",
			"undo with steps 5 and session 'a b'"},
		{"`xstate rollback --to-step 4` takes it back", "xstate rollback --to-step 4 takes it back",
			"rollback with to_step 4 on the command line takes it back", "rollback with to_step 4 takes it back"},
		{"name one: `--python /a/python`; or set XSTATE_PYTHON", "name one: --python /a/python; or set XSTATE_PYTHON",
			"set XSTATE_PYTHON", "name one: python /a/python; or set XSTATE_PYTHON"},
		{"put code between ```python and ```", "put code between ```python and ```",
			"put code between ```python and ```", "put code between ```python and ```"},
		{"", "", "", ""},
	} {
		for d, want := range map[Door]string{CommandLine: x.line, Tools: x.tools, API: x.api} {
			if got := d.Hint(x.hint); got != want {
				t.Errorf("door %d: %q is %q, want %q", d, x.hint, got, want)
			}
		}
	}
	if got := Program.Hint("`xstate run --budget usd=2` goes on"); got != "run with budget usd=2 goes on" {
		t.Errorf("a program reads %q", got)
	}
	got := Tools.Misuse("--at-step and --symbol: xstate query takes one")
	if got != "at_step and symbol: query takes one" {
		t.Errorf("a misuse is worded %q", got)
	}
}

// commandLine is what no other door than the command line shows.
var commandLine = regexp.MustCompile("xstate [a-z]+ ?|(^|[ (\"])--[a-z]")

// TestRemedies: what a door says of a code itself has neither flags nor commands.
func TestRemedies(t *testing.T) {
	for d, all := range remedies {
		for code, text := range all {
			if commandLine.MatchString(text) {
				t.Errorf("door %d says of %s: %q", d, code, text)
			}
			if got := d.Remedy(code, "`xstate x`"); got != text {
				t.Errorf("Remedy(%s) = %q", code, got)
			}
		}
	}
}
