package rpc

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/xstate-engine/xstate/internal/api"
	"github.com/xstate-engine/xstate/internal/verb"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/output"
	"github.com/xstate-engine/xstate/state/query"
)

// asked sends a request of the E2B client and returns the status and the lines of the answer.
func asked(t *testing.T, client *http.Client, method, path, body string) (int, []map[string]any) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, "http://localhost:49999"+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	answer, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	var all []map[string]any
	for d := json.NewDecoder(answer.Body); ; {
		var line map[string]any
		if err := d.Decode(&line); err != nil {
			return answer.StatusCode, all
		}
		delete(line, "timestamp")
		all = append(all, line)
	}
}

// execs is an exec that has these events, as JSON without the version. The last one is done or error.
func execs(list ...string) func(context.Context, verb.Call) (any, *api.Error) {
	return func(_ context.Context, c verb.Call) (any, *api.Error) {
		for _, text := range list {
			var e api.Event
			if err := json.Unmarshal([]byte("{"+text+"}"), &e); err != nil {
				panic(err)
			}
			if e.Event == "done" || e.Event == "error" {
				return e.Exec, e.Error
			}
			c.Event(e)
		}
		return nil, nil
	}
}

// TestE2BExecute: events become the messages of the client, in its order.
func TestE2BExecute(t *testing.T) {
	d := &fake{do: execs(
		`"event":"started","run":"0123abcd"`,
		`"event":"output","block":"b1","other":true,"output":{"kind":"stdout","text":"of another block"}`,
		`"event":"output","block":"b1","other":true,"output":{"kind":"result","text":"of another block"}`,
		`"event":"output","block":"b2","output":{"kind":"stdout","text":"hi\n"}`,
		`"event":"output","block":"b2","output":{"kind":"stderr","text":"careful\n"}`,
		`"event":"output","block":"b2","output":{"kind":"display","text":"Figure","data":{"image/png":"aGk="}}`,
		`"event":"output","block":"b2","output":{"kind":"result","text":"42","data":`+
			`{"text/plain":"42","text/html":"<b>42</b>","application/json":"{\"a\":1}","x/y":"z"}}`,
		`"event":"done","exec":{"version":1,"block":"b2","step":9,"status":"failed",`+
			`"error":{"type":"ValueError","message":"no","traceback":["one","two"]}}`,
	)}
	_, client := serving(t, d, time.Minute)
	status, got := asked(t, client, "POST", "/execute",
		`{"code":"x + 1","context_id":null,"language":null,"env_vars":{"B":"2"}}`)
	want := []map[string]any{
		{"type": "stdout", "text": "hi\n"},
		{"type": "stderr", "text": "careful\n"},
		{"type": "result", "text": "Figure", "png": "aGk=", "is_main_result": false},
		{"type": "result", "text": "42", "html": "<b>42</b>", "json": map[string]any{"a": 1.0},
			"extra": map[string]any{"x/y": "z"}, "is_main_result": true},
		{"type": "error", "name": "ValueError", "value": "no", "traceback": "one\ntwo"},
		{"type": "number_of_executions", "execution_count": 9.0},
		{"type": "end_of_execution"},
	}
	if diff := cmp.Diff(want, got); status != 200 || diff != "" {
		t.Errorf("status %d, messages (-want +got):\n%s", status, diff)
	}
	asks := &verb.Exec{InSession: verb.In("main"), Code: "x + 1", Language: "python", Append: true,
		Origin: state.Origin{Client: "e2b"}}
	if diff := cmp.Diff(verb.Request(asks), d.last()); diff != "" {
		t.Errorf("what is asked (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"A=1", "B=2", "XSTATE_PASS=B"}, d.calls[0].Environ); diff != "" {
		t.Errorf("environment (-want +got):\n%s", diff)
	}
}

// TestE2BEnvironment: variables of a call stay for the later ones of the context. Empty code executes nothing.
func TestE2BEnvironment(t *testing.T) {
	d := &fake{do: execs(`"event":"done","exec":{"version":1,"block":"b","step":4,"status":"ran"}`)}
	_, client := serving(t, d, time.Minute)
	for _, body := range []string{`{"code":"1","env_vars":{"B":"2","C":"3"}}`, `{"code":"2","env_vars":{"C":"4"}}`,
		`{"code":"3"}`} {
		asked(t, client, "POST", "/execute", body)
	}
	status, got := asked(t, client, "POST", "/execute", `{"code":" \n","env_vars":{"D":"5"}}`)
	if diff := cmp.Diff([]map[string]any{{"type": "end_of_execution"}}, got); status != 200 || diff != "" {
		t.Errorf("messages of empty code (-want +got):\n%s", diff)
	}
	var environs [][]string
	for _, c := range d.calls {
		environs = append(environs, c.Environ)
	}
	want := [][]string{{"A=1", "B=2", "C=3", "XSTATE_PASS=B,C"}, {"A=1", "B=2", "C=4", "XSTATE_PASS=B,C"},
		{"A=1", "B=2", "C=4", "XSTATE_PASS=B,C"}}
	if diff := cmp.Diff(want, environs); diff != "" {
		t.Errorf("environments (-want +got):\n%s", diff)
	}
}

// TestE2BReused: code whose result is recorded executes nothing, and the client gets its outputs all the same.
func TestE2BReused(t *testing.T) {
	d := &fake{do: func(ctx context.Context, c verb.Call) (any, *api.Error) {
		if _, ok := c.Request.(*verb.Query); ok {
			return api.QueryBlock{Block: &query.BlockView{ID: "b", Outputs: []output.Output{
				{Kind: "stdout", Text: "hi"}, {Kind: "result", Text: "1"},
			}}}, nil
		}
		return execs(`"event":"done","exec":{"version":1,"block":"b","step":4,"status":"reused"}`)(ctx, c)
	}}
	_, client := serving(t, d, time.Minute)
	_, got := asked(t, client, "POST", "/execute", `{"code":"f()"}`)
	want := []map[string]any{
		{"type": "stdout", "text": "hi"},
		{"type": "result", "text": "1", "is_main_result": true},
		{"type": "number_of_executions", "execution_count": 4.0},
		{"type": "end_of_execution"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
	four := state.StepNumber(4)
	asks := &verb.Query{InSession: verb.In("main"), Moment: verb.Moment{AtStep: &four}, Block: "b"}
	if diff := cmp.Diff(verb.Request(asks), d.last()); diff != "" {
		t.Errorf("what is asked (-want +got):\n%s", diff)
	}
}

// TestE2BStreams: output is sent while the code runs.
func TestE2BStreams(t *testing.T) {
	seen := make(chan bool)
	d := &fake{do: func(ctx context.Context, c verb.Call) (any, *api.Error) {
		execs(`"event":"output","block":"b","output":{"kind":"stdout","text":"first"}`)(ctx, c)
		<-seen // or the test hangs
		return execs(`"event":"done","exec":{"version":1,"block":"b","step":1,"status":"ran"}`)(ctx, c)
	}}
	_, client := serving(t, d, time.Minute)
	answer, err := client.Post("http://localhost/execute", "application/json", strings.NewReader(`{"code":"x"}`))
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	lines := bufio.NewScanner(answer.Body)
	if !lines.Scan() || !strings.Contains(lines.Text(), "first") {
		t.Errorf("the first line is %q", lines.Text())
	}
	close(seen)
	for lines.Scan() {
	}
}

// TestE2BFailures: a call that fails before its first output has a status; one that fails later reports an error.
func TestE2BFailures(t *testing.T) {
	failed := `"event":"error","error":{"code":"store-busy","message":"It is busy.","hint":"wait"}`
	output := `"event":"output","block":"b","output":{"kind":"stdout","text":"hi"}`
	for _, test := range []struct {
		events []string
		status int
		want   []map[string]any
	}{
		{[]string{failed}, 503, []map[string]any{{"version": 1.0, "error": map[string]any{
			"code": "store-busy", "message": "It is busy.", "hint": "wait",
		}}}},
		{[]string{output, failed}, 200, []map[string]any{
			{"type": "stdout", "text": "hi"},
			{"type": "error", "name": "store-busy", "value": "It is busy.", "traceback": "wait"},
			{"type": "end_of_execution"},
		}},
	} {
		_, client := serving(t, &fake{do: execs(test.events...)}, time.Minute)
		status, got := asked(t, client, "POST", "/execute", `{"code":"x"}`)
		if diff := cmp.Diff(test.want, got); status != test.status || diff != "" {
			t.Errorf("%q: status %d, want %d; (-want +got):\n%s", test.events, status, test.status, diff)
		}
	}
}

// TestE2BContexts: contexts are made, listed, restarted and removed.
func TestE2BContexts(t *testing.T) {
	outside := t.TempDir()
	served := filepath.Join(t.TempDir(), "served")
	inner := filepath.Join(served, "inner")
	if err := errors.Join(os.MkdirAll(inner, 0o777), os.Symlink(outside, filepath.Join(served, "link"))); err != nil {
		t.Fatal(err)
	}
	d := &fake{do: execs(`"event":"done","exec":{"version":1,"block":"b","step":1,"status":"ran"}`)}
	_, client := servingIn(t, served, d, time.Minute)
	for _, folder := range []string{outside, "/", served + "/..", served + "/link", served + "/none"} {
		if status, _ := asked(t, client, "POST", "/contexts", `{"cwd":"`+folder+`"}`); status != 403 && status != 400 {
			t.Errorf("a context in %s is made, with status %d", folder, status)
		}
	}
	status, made := asked(t, client, "POST", "/contexts", `{"cwd":"`+served+`/x/../inner","language":"typescript"}`)
	if status != 200 || made[0]["cwd"] != inner || made[0]["language"] != "typescript" {
		t.Fatalf("made %v with status %d", made, status)
	}
	id := made[0]["id"].(string)
	executes := func() string {
		asked(t, client, "POST", "/execute", `{"code":"x","context_id":"`+id+`"}`)
		if call := d.calls[len(d.calls)-1]; call.Folder != inner {
			t.Errorf("the call is made from %s", call.Folder)
		}
		return d.last().About()
	}
	first := executes()
	if want := id; first != want {
		t.Errorf("the first session is %s, want %s", first, want)
	}
	if status, _ := asked(t, client, "POST", "/contexts/"+id+"/restart", ""); status != 200 {
		t.Errorf("restart has status %d", status)
	}
	if second := executes(); second == first {
		t.Error("a context that was restarted goes on in its old session")
	}
	if err := errors.Join(os.Remove(inner), os.Symlink(outside, inner)); err != nil {
		t.Fatal(err)
	}
	if status, got := asked(t, client, "POST", "/execute", `{"code":"x","context_id":"`+id+`"}`); status != 403 {
		t.Errorf("code is executed behind a link that leads out: status %d, %v", status, got)
	}
	if status, _ := asked(t, client, "DELETE", "/contexts/"+id, ""); status != 200 {
		t.Errorf("removal has status %d", status)
	}
	for path, method := range map[string]string{
		"/contexts/" + id: "DELETE", "/contexts/" + id + "/restart": "POST", "/contexts/x": "DELETE",
	} {
		status, got := asked(t, client, method, path, "")
		if status != 404 || !strings.Contains(fmt.Sprint(got), "no-context") {
			t.Errorf("%s %s has status %d: %v", method, path, status, got)
		}
	}
}

// TestE2BRefusals: requests that are not as they must be.
func TestE2BRefusals(t *testing.T) {
	d := &fake{do: execs()}
	_, client := serving(t, d, time.Minute)
	for _, test := range []struct {
		method, path, body string
		status             int
		code               string
	}{
		{"POST", "/execute", "", 400, "usage"}, // no type
		{"POST", "/execute", "{", 400, "usage"},
		{"POST", "/execute", "{} {}", 400, "usage"},
		{"POST", "/execute", `{"code":"x","cwd":"/"}`, 400, "usage"},
		{"POST", "/execute", `{"code":"x","language":"r"}`, 400, "usage"},
		{"POST", "/contexts", `{"language":"r"}`, 400, "usage"},
		{"POST", "/execute", `{"code":"x","context_id":"gone"}`, 404, "no-context"},
		{"POST", "/execute", `{"code":"x","env_vars":{"a=b":"c"}}`, 400, "usage"},
		{"POST", "/execute", `{"code":"` + strings.Repeat("x", maxBody) + `"}`, 413, "too-large"},
		{"POST", "/contexts", `{"cwd":"here"}`, 400, "usage"},
		{"DELETE", "/contexts/main", "", 400, "usage"},
		{"PUT", "/contexts", "{}", 404, "no-method"},
	} {
		status, got := asked(t, client, test.method, test.path, test.body)
		if len(got) != 1 || status != test.status {
			t.Errorf("%s %s %.40s: status %d, %v; want %d", test.method, test.path, test.body, status, got, test.status)
			continue
		}
		e, _ := got[0]["error"].(map[string]any)
		if e["code"] != test.code || e["message"] == "" || e["hint"] == "" {
			t.Errorf("%s %s %.40s: %v, want the code %s", test.method, test.path, test.body, e, test.code)
		}
	}
	if len(d.calls) > 0 {
		t.Errorf("the call %+v was made", d.calls[0])
	}
}
