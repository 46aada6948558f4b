package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/xstate-engine/xstate/internal/api"
	"github.com/xstate-engine/xstate/internal/serve"
	"github.com/xstate-engine/xstate/internal/verb"
	"github.com/xstate-engine/xstate/internal/wording"
	"github.com/xstate-engine/xstate/internal/xstatetest"
	"github.com/xstate-engine/xstate/state"
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
			timeout := time.Minute
			if strings.HasPrefix(x.code, "while True") {
				timeout = 500 * time.Millisecond
			}
			d := execBy(t, door, t.TempDir(), x.code, timeout)
			hint := ""
			if d.Error != nil {
				hint = d.Error.Hint
			}
			if !strings.Contains(hint, want) || door != wording.CommandLine && ofCommandLine.MatchString(d.Text) {
				t.Errorf("door %d: the hint of %q is %q, want %q; the text is %s", door, x.code, hint, want, d.Text)
			}
		}
	}
}

// execBy executes code by a door, within the bounds of a workspace.
func execBy(t *testing.T, door wording.Door, folder, code string, timeout time.Duration) *api.Exec {
	t.Helper()
	environ := append(os.Environ(), "XSTATE_PYTHON="+xstatetest.Pythons()[0], "XSTATE_SANDBOX=workspace")
	d := &api.Exec{}
	if door != wording.CommandLine {
		answer, failed := commands{}.Operate(t.Context(), verb.Call{Folder: folder, Environ: environ, Door: door,
			Request: &verb.Exec{Code: code, Timeout: timeout}})
		if failed != nil {
			t.Fatalf("exec by door %d: %+v", door, failed)
		}
		return verb.As[api.Exec](answer)
	}
	var out bytes.Buffer
	commands{}.Do(t.Context(), serve.Call{Args: []string{"exec", "--timeout", timeout.String(), "--json", "-"},
		Folder: folder, Environ: environ, Stdin: strings.NewReader(code), Stdout: &out, Stderr: io.Discard})
	if err := json.Unmarshal(out.Bytes(), d); err != nil {
		t.Fatal(err)
	}
	return d
}

// misuses are requests of each operation with values in one field that mean nothing, or not there.
func misuses(session string) (all []verb.Request) {
	step, number := state.StepNumber(99), -1
	values := []any{"none", "none.py", "99", "99..1", "(", "zz", "/none/python", -1, 1, 99, int64(-1), true, &step,
		&number, time.Duration(-1), []string{"none"}, []state.CallID{9}, state.CallID(9), step}
	for _, r := range []verb.Request{&verb.Exec{}, &verb.Patch{}, &verb.Plan{}, &verb.Run{}, &verb.Why{},
		&verb.Query{}, &verb.Log{}, &verb.Show{}, &verb.Undo{}, &verb.Approve{}, &verb.Fork{}, &verb.Replay{},
		&verb.Rollback{}, &verb.Diff{}, &verb.Calls{}, &verb.WholeCall{}, &verb.Verify{}, &verb.Evidence{}} {
		kind := reflect.TypeOf(r).Elem()
		for _, f := range reflect.VisibleFields(kind) {
			for _, v := range values {
				if f.Anonymous || reflect.TypeOf(v) != f.Type {
					continue
				}
				made := reflect.New(kind)
				if about := made.Elem().FieldByName("Session"); about.IsValid() {
					about.SetString(session)
				}
				made.Elem().FieldByIndex(f.Index).Set(reflect.ValueOf(v))
				all = append(all, made.Interface().(verb.Request))
			}
		}
	}
	return all
}

// TestRefusalsOfDoors walks over ways to misuse each operation, and finds no words of the command line in what is
// refused.
func TestRefusalsOfDoors(t *testing.T) {
	folder := t.TempDir()
	environ := append(os.Environ(), "XSTATE_PYTHON="+xstatetest.Pythons()[0])
	refused := 0
	try := func(r verb.Request) {
		for _, door := range []wording.Door{wording.Tools, wording.API} {
			_, failed := commands{}.Operate(t.Context(), verb.Call{Request: r, Folder: folder, Environ: environ,
				Door: door})
			if failed == nil {
				continue // it was done
			}
			refused++
			if ofCommandLine.MatchString(failed.Message) || ofCommandLine.MatchString(failed.Hint) ||
				failed.Code == api.CodeInternal {
				t.Errorf("door %d, %T%+v: %+v", door, r, r, *failed)
			}
		}
	}
	for _, r := range misuses("") { // no store
		if _, runs := r.(*verb.Exec); !runs {
			try(r)
		}
	}
	execBy(t, wording.Tools, folder, "x = 1", 0)
	for _, session := range []string{"", "main"} {
		for _, r := range misuses(session) {
			try(r)
		}
	}
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
		d := execBy(t, door, t.TempDir(), "for i in range(9999): print('line', i)", time.Minute)
		if !strings.Contains(d.Text, want) || door != wording.CommandLine && strings.Contains(d.Text, "/outputs/") {
			t.Errorf("door %d: the text is %.300q, want %q in it", door, d.Text, want)
		}
	}
}
