package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/xstate-engine/xstate/internal/serve"
	"github.com/xstate-engine/xstate/internal/wording"
	"github.com/xstate-engine/xstate/internal/xstatetest"
)

// ofCommandLine finds flags and commands.
var ofCommandLine = regexp.MustCompile(`xstate [a-z]|(^|[ (])--[a-z]`)

// TestHintsOfDoors makes the same errors by all doors. To an agent that had tools and nothing else, a failure once said
// "a longer --timeout gives it more time" and "xstate run FILE --stdin FILE". Each door has its own words.
func TestHintsOfDoors(t *testing.T) {
	for _, x := range []struct{ code, line, tools, api string }{
		{"input()", "xstate run FILE --stdin FILE gives it one", "on the command line", "on the command line"},
		{"import no_such_module_here", "choose another one with --python", "-m pip install no_such_module_here",
			"choose another one with python"},
		{"import xstate\nxstate.ask('go?', ['yes', 'no'])", "xstate approve 1, or --deny; then run it again",
			"approve with call 1, or deny; then run it again", "approve with call 1, or deny; then run it again"},
		{"raise SystemExit(0)", "", "", ""},
		{"while True: pass", "a longer --timeout gives it more time; --always", "a longer timeout gives it more time",
			"a longer timeout gives it more time; always"},
	} {
		for door, want := range map[wording.Door]string{
			wording.CommandLine: x.line, wording.Tools: x.tools, wording.API: x.api,
		} {
			folder := t.TempDir()
			var d struct {
				Text  string
				Error struct{ Hint string }
			}
			printed := doneBy(t, door, folder, x.code, "exec", "--timeout=500ms", "--json", "-")
			if err := json.Unmarshal(printed, &d); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(d.Error.Hint, want) ||
				door != wording.CommandLine && ofCommandLine.MatchString(d.Text) {
				t.Errorf("door %d: the hint of %q is %q, want %q; the text is %s", door, x.code, d.Error.Hint, want,
					d.Text)
			}
		}
	}
}

// doneBy carries out a call by a door.
func doneBy(t *testing.T, door wording.Door, folder, stdin string, args ...string) []byte {
	t.Helper()
	var out bytes.Buffer
	commands{}.Do(t.Context(), serve.Call{
		Args: args, Folder: folder, Door: door, Stdin: strings.NewReader(stdin), Stdout: &out, Stderr: io.Discard,
		Environ: append(os.Environ(), "XSTATE_PYTHON="+xstatetest.Pythons()[0]),
	})
	return out.Bytes()
}

// TestRefusalsOfDoors walks over ways to misuse each verb that a tool or a method has, and finds no words of the
// command line in what is refused.
func TestRefusalsOfDoors(t *testing.T) {
	folder := t.TempDir()
	refused := 0
	try := func(stdin string, args ...string) {
		for _, door := range []wording.Door{wording.Tools, wording.API} {
			var d struct {
				Error *struct{ Code, Message, Hint string }
			}
			printed := doneBy(t, door, folder, stdin, append(args, "--json")...)
			if err := json.Unmarshal(printed, &d); err != nil || d.Error == nil || d.Error.Code == "" {
				continue // it was done
			}
			refused++
			if ofCommandLine.MatchString(d.Error.Message) || ofCommandLine.MatchString(d.Error.Hint) {
				t.Errorf("door %d, %v: %+v", door, args, *d.Error)
			}
		}
	}
	verbs := []string{"exec", "patch", "plan", "run", "why", "query", "log", "show", "undo", "approve", "fork",
		"replay",
		"rollback", "diff", "calls", "verify", "evidence"}
	words := [][]string{
		nil, {"none"}, {"none", "other"}, {"--session=none"}, {"--session=none.py"}, {"--at-step=99"},
		{"--timeout=-1s"},
		{"--expect=9"}, {"--merge"}, {"--by=nobody"}, {"--to-step=99"}, {"--step=99"}, {"--value=none"},
		{"--symbol=none"},
		{"--limit=1"}, {"--version=zz"}, {"--patch=99"}, {"--where=("}, {"--times=1"}, {"--format=none"}, {"--nothing"},
		{"99"}, {"99..1"}, {"--choice=maybe", "9"}, {"--block=none"}, {"--python=/none/python"}, {"--after=x"},
	}
	walk := func() {
		for _, verb := range verbs {
			for _, w := range words {
				try("<<<<", append([]string{verb}, w...)...)
				try("<<<<", append([]string{verb, "--session=main"}, w...)...)
			}
		}
	}
	for _, verb := range verbs { // no store
		try("", verb)
		try("", verb, "none")
	}
	doneBy(t, wording.Tools, folder, "x = 1", "exec", "-")
	walk()
	if refused < 400 {
		t.Errorf("only %d calls were refused", refused)
	}
}

// TestDoorsAreNamed: a call over HTTP is one by the API. Its failures have no words of the command line.
func TestDoorsAreNamed(t *testing.T) {
	folder := t.TempDir()
	server, _ := apiServer(t, folder)
	for _, x := range []struct{ method, request, want string }{
		{"RunService/Run", `{"file":"` + filepath.Join(folder, "none.py") + `"}`, "check the path; run takes a .py"},
		{"EditService/Undo", `{"session":"none","steps":"5"}`, "exec begins a session"},
	} {
		answer, err := http.Post(server.URL+"/xstate.v1."+x.method, "application/json", strings.NewReader(x.request))
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		if err != nil || !strings.Contains(string(text), x.want) || ofCommandLine.Match(text) {
			t.Errorf("%s = %s (%v), want %q", x.method, text, err, x.want)
		}
	}
}

// TestLongOutputOfDoors: what is left out of a long output is found by the door's own way. A path of this machine is
// none for code that the sandbox bounds, nor for a client of a server.
func TestLongOutputOfDoors(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	for door, want := range map[wording.Door]string{
		wording.CommandLine: "xstate query --session main --at-step 2 --block b1 prints it; it is in ",
		wording.Tools:       "left out here; a link below leads to all of it]",
		wording.API:         "left out here; query with session main and at_step 2 and block b1 prints it]",
	} {
		var d struct{ Text string }
		code := "for i in range(9999): print('line', i)"
		printed := doneBy(t, door, t.TempDir(), code, "exec", "--sandbox=workspace", "--json", "-")
		if err := json.Unmarshal(printed, &d); err != nil || !strings.Contains(d.Text, want) ||
			door != wording.CommandLine && strings.Contains(d.Text, "/outputs/") {
			t.Errorf("door %d: the text is %.300q (%v), want %q in it", door, d.Text, err, want)
		}
	}
}
