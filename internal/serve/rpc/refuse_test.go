package rpc

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"

	v1 "github.com/xstate-engine/xstate/api/xstate/v1"
	"github.com/xstate-engine/xstate/internal/api"
	"github.com/xstate-engine/xstate/internal/verb"
	"github.com/xstate-engine/xstate/internal/xstatetest/await"
	"github.com/xstate-engine/xstate/patch"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/output"
)

const why = v1.QueryServiceWhyProcedure

// TestRefusals: what cannot be served is refused with a code, a sentence and a hint.
func TestRefusals(t *testing.T) {
	d := &fake{do: answers(api.Why{})}
	_, client := serving(t, d, time.Minute)
	frame := func(flags byte, body string) string {
		return string(binary.BigEndian.AppendUint32([]byte{flags}, uint32(len(body)))) + body
	}
	stream := v1.RunServiceExecStreamProcedure
	for name, test := range map[string]struct {
		method, path, kind, body string
		header                   [2]string
		status                   int
		code, sentence           string
	}{
		"method":       {path: "/xstate.v1.RunService/Nothing", status: 501, code: "no-method", sentence: "Nothing"},
		"path":         {method: "GET", path: "/", status: 501, code: "no-method", sentence: `"/"`},
		"verb of HTTP": {method: "DELETE", path: why, status: 400, code: "usage", sentence: "takes POST, not DELETE"},
		"GET that acts": {method: "GET", path: v1.EditServiceUndoProcedure, status: 400, code: "usage",
			sentence: "POST"},
		"GET": {method: "GET", path: why + "?message={}", status: 400, code: "usage",
			sentence: "needs the parameters encoding"},
		"content type": {path: why, kind: "text/plain", body: "{}", status: 400, code: "usage",
			sentence: `application/json or application/proto, not "text/plain"`},
		"unary type of a stream": {path: stream, kind: "application/json", body: "{}", status: 400, code: "usage",
			sentence: "application/connect+json"},
		"compressed": {path: why, body: "{}", header: [2]string{"Content-Encoding", "gzip"}, status: 400, code: "usage",
			sentence: "compressed"},
		"no body": {path: why, status: 400, code: "usage", sentence: "the body is empty"},
		"garbage": {path: why, body: "\x00\xff{", status: 400, code: "usage", sentence: "syntax error"},
		"garbage proto": {path: why, kind: "application/proto", body: "\xff\xff\xff", status: 400, code: "usage",
			sentence: "protobuf"},
		"unknown field": {path: why, body: `{"blok":"a"}`, status: 400, code: "usage",
			sentence: `unknown field "blok"`},
		"unknown proto": {path: why, kind: "application/proto", body: "\xf8\x07\x01", status: 400, code: "usage",
			sentence: "does not know"},
		"type of a field": {path: why, body: `{"block":1}`, status: 400, code: "usage", sentence: "block"},
		"missing":         {path: why, body: `{}`, status: 400, code: "usage", sentence: "block is missing"},
		"no folder": {path: why, body: `{"block":"a","folder":"x"}`, status: 400, code: "usage",
			sentence: "not absolute"},
		"zero byte": {path: why, body: `{"block":"a","folder":"/a\u0000b"}`, status: 400, code: "usage",
			sentence: "zero byte"},
		"zero byte in an argument": {path: v1.RunServiceRunProcedure, body: `{"file":"p.py","arguments":["a\u0000b"]}`,
			status: 400, code: "usage", sentence: "zero byte"},
		"negative step": {path: v1.QueryServiceQueryProcedure, body: `{"at_step":-1}`, status: 400, code: "usage",
			sentence: "at_step is -1"},
		"origin": {path: v1.EditServiceUndoProcedure, body: `{"origin":{"agent":5}}`, status: 400, code: "usage",
			sentence: "the field agent of the origin is a number"},
		"no time": {path: v1.RunServiceExecProcedure, body: `{"timeout_seconds":-1}`, status: 400, code: "usage",
			sentence: "no time"},
		"too large": {path: why, body: strings.Repeat(" ", maxBody+1), status: 429, code: "too-large",
			sentence: "bytes"},
		"no runs": {path: v1.RunServiceListRunsProcedure, body: "{}", status: 501, code: "no-method",
			sentence: "runs"},
		"garbage frame": {path: stream, kind: "application/connect+json", body: "garbage", status: 200, code: "usage",
			sentence: "promised"},
		"half a frame": {path: stream, kind: "application/connect+json", body: "\x00\x00", status: 200, code: "usage",
			sentence: "incomplete"},
		"frame of garbage": {path: stream, kind: "application/connect+json", body: frame(0, "garbage"), status: 200,
			code: "usage", sentence: "syntax error"},
		"unknown field in a frame": {path: stream, kind: "application/connect+json", body: frame(0, `{"x":1}`),
			status: 200, code: "usage", sentence: `unknown field "x"`},
		"large frame": {path: stream, kind: "application/connect+json", body: "\x00\xff\xff\xff\xff" +
			strings.Repeat(" ", maxBody), status: 200, code: "too-large", sentence: "bytes"},
	} {
		method, kind := "POST", "application/json"
		if test.method != "" {
			method = test.method
		}
		if test.kind != "" {
			kind = test.kind
		}
		// The body has no length, so that it is read until it is too large.
		body := io.MultiReader(strings.NewReader(test.body))
		r, err := http.NewRequestWithContext(t.Context(), method, "http://xstate"+test.path, body)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", kind)
		if test.header[0] != "" {
			r.Header.Set(test.header[0], test.header[1])
		}
		answer, err := client.Do(r)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		text, _ := io.ReadAll(answer.Body)
		answer.Body.Close()
		e := errorIn(t, name, text)
		if answer.StatusCode != test.status || e.Code != test.code || !strings.Contains(e.Message, test.sentence) ||
			e.Hint == "" {
			t.Errorf("%s: status %d, code %q, %q (%s); want %d, %q and %q with a hint",
				name, answer.StatusCode, e.Code, e.Message, e.Hint, test.status, test.code, test.sentence)
		}
	}
	if len(d.calls) > 0 {
		t.Errorf("the call %+v was made", d.calls[0])
	}
}

// detail is the detail of an error of ours.
type detail struct{ Code, Message, Hint string }

// errorIn reads the error of Connect in a body, or in the last frame of a stream.
func errorIn(t *testing.T, name string, body []byte) detail {
	t.Helper()
	if len(body) > 5 && body[0] == 2 {
		var end struct{ Error json.RawMessage }
		if err := json.Unmarshal(body[5:], &end); err != nil {
			t.Errorf("%s: end of the stream %q: %v", name, body, err)
		}
		body = end.Error
	}
	var e struct {
		Code, Message string
		Details       []struct{ Debug detail }
	}
	if err := json.Unmarshal(body, &e); err != nil || len(e.Details) != 1 {
		t.Errorf("%s: error %q, want one with a detail: %v", name, body, err)
		return detail{}
	}
	d := e.Details[0].Debug
	if want := fmt.Sprintf("%s: %s (%s)", d.Code, d.Message, d.Hint); e.Message != want {
		t.Errorf("%s: message %q, want %q", name, e.Message, want)
	}
	return d
}

// TestFailuresOfOperations: the failure of an operation is the error of the method, with all that it says.
func TestFailuresOfOperations(t *testing.T) {
	for _, test := range []struct {
		code state.Code
		want connect.Code
	}{
		{"usage", connect.CodeInvalidArgument},
		{"no-block", connect.CodeNotFound},
		{"session-exists", connect.CodeAlreadyExists},
		{"conflict", connect.CodeAborted},
		{"store-busy", connect.CodeUnavailable},
		{"store-readonly", connect.CodeFailedPrecondition},
		{"store-damaged", connect.CodeDataLoss},
		{"no-source", connect.CodeDataLoss},
		{"internal", connect.CodeInternal},
		{"disk-full", connect.CodeResourceExhausted},
		{"interrupted", connect.CodeCanceled},
	} {
		failed := &api.Error{Code: test.code, Message: "It failed.", Hint: "try",
			Candidates: []patch.Candidate{{Line: 4, Score: 1}}}
		d := &fake{do: func(_ context.Context, c verb.Call) (any, *api.Error) {
			if c.Event != nil {
				c.Event(api.Event{Event: "started", Run: "0123abcd"})
			}
			return nil, failed
		}}
		_, one := serving(t, d, time.Minute)
		client := v1.NewRunServiceClient(one, "http://xstate")
		_, err := client.Exec(t.Context(), connect.NewRequest(&v1.ExecRequest{}))
		checkFailure(t, "Exec", err, string(test.code), test.want)
		stream, err := client.ExecStream(t.Context(), connect.NewRequest(&v1.ExecRequest{}))
		if err != nil {
			t.Fatal(err)
		}
		if !stream.Receive() || stream.Msg().GetRun() != "0123abcd" || stream.Receive() {
			t.Errorf("%s: the stream has not the one event started", test.code)
		}
		checkFailure(t, "ExecStream", stream.Err(), string(test.code), test.want)
		stream.Close()
	}
}

func checkFailure(t *testing.T, method string, err error, code string, want connect.Code) {
	t.Helper()
	var e *connect.Error
	if !errors.As(err, &e) || e.Code() != want || len(e.Details()) != 1 {
		t.Errorf("%s with %s: error %v, want %v with a detail", method, code, err, want)
		return
	}
	value, err := e.Details()[0].Value()
	if err != nil {
		t.Fatal(err)
	}
	m, ok := value.(*v1.Error)
	if !ok || m.GetCode() != code || m.GetMessage() != "It failed." || m.GetHint() != "try" ||
		len(m.GetCandidates()) != 1 {
		t.Errorf("%s with %s: detail %v", method, code, value)
	}
}

// TestGoneClient: a client that goes away cancels its call.
func TestGoneClient(t *testing.T) {
	ended := make(chan error, 1)
	d := &fake{do: func(ctx context.Context, c verb.Call) (any, *api.Error) {
		c.Event(api.Event{Event: "started"})
		<-ctx.Done()
		ended <- ctx.Err()
		return nil, &api.Error{Code: api.CodeInterrupted}
	}}
	_, one := serving(t, d, time.Minute)
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	stream, err := v1.NewRunServiceClient(one, "http://xstate").
		ExecStream(ctx, connect.NewRequest(&v1.ExecRequest{}))
	if err != nil {
		t.Fatal(err)
	}
	if !stream.Receive() {
		t.Fatalf("the event started does not come before the end: %v", stream.Err())
	}
	leave()
	if err := <-ended; err == nil {
		t.Error("the call went on")
	}
}

// TestDetached: a detached call goes on without its client, takes no notice of what the client does not read, and ends
// with the server.
func TestDetached(t *testing.T) {
	life, end := context.WithCancel(t.Context())
	events := 0
	d := &fake{do: func(ctx context.Context, c verb.Call) (any, *api.Error) {
		for range 3 {
			c.Event(api.Event{})
		}
		if ctx.Err() != nil {
			t.Error("the call was cancelled with its client")
		}
		end()
		<-ctx.Done()
		return nil, &api.Error{Code: api.CodeInterrupted}
	}}
	gone, leave := context.WithCancel(t.Context())
	leave()
	s := &Service{Operations: d, Store: "/store", Folder: "/work", Life: life}
	_, err := s.operate(gone, &call{ask: &verb.Exec{}, detach: true}, func(any) error {
		events++
		return errors.New("the client is gone")
	})
	if err == nil || events != 1 {
		t.Errorf("%d events were handed over, and the error is %v; want one, and an error", events, err)
	}
}

// TestStalledReader: a client that stops reading is given up. Its call is cancelled, and holds little memory.
func TestStalledReader(t *testing.T) {
	ended := make(chan int, 1)
	d := &fake{do: func(ctx context.Context, c verb.Call) (any, *api.Error) {
		e := api.Event{Event: "output", Output: &output.Output{Kind: "stdout", Text: strings.Repeat("x", 1<<20)}}
		n := 0
		for ; ctx.Err() == nil && n < 1<<14; n++ {
			c.Event(e)
		}
		ended <- n
		return nil, &api.Error{Code: api.CodeInterrupted}
	}}
	socket, _ := serving(t, d, 100*time.Millisecond)
	conn, err := net.Dial("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	body := "\x00\x00\x00\x00\x02{}"
	fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: x\r\nContent-Type: application/connect+json\r\n"+
		"Content-Length: %d\r\n\r\n%s",
		v1.RunServiceExecStreamProcedure, len(body), body)
	if n := await.Receive(t, "the call is given up", ended); n > 100 {
		t.Errorf("%d MB were written to a client that reads nothing", n)
	}
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	if m.HeapAlloc > 200<<20 {
		t.Errorf("%d MB are in use", m.HeapAlloc>>20)
	}
}

// TestCurl: plain curl reads answers and errors.
func TestCurl(t *testing.T) {
	curl, err := exec.LookPath("curl")
	if err != nil {
		t.Skip("curl is not installed")
	}
	document := map[string]any{"b<c": "as it was", "version": 1, "zero": 0}
	const text = `{"b<c":"as it was","version":1,"zero":0}`
	socket, _ := serving(t, &fake{do: answers(document)}, time.Minute)
	run := func(args ...string) string {
		out, err := exec.Command(curl, append([]string{"-sS", "--unix-socket", socket}, args...)...).CombinedOutput()
		if err != nil {
			t.Errorf("curl %q: %v: %s", args, err, out)
		}
		return string(out)
	}
	post := []string{"-H", "Content-Type: application/json", "-d", `{"block":"total"}`, "http://xstate" + why}
	if got := run(post...); got != text {
		t.Errorf("curl printed %s, want the document as the command line prints it", got)
	}
	get := "http://xstate" + v1.QueryServiceQueryProcedure + "?encoding=json&message=%7B%22block%22%3A%22a%22%7D"
	if got, want := run(get), `{"block":`+text+"}"; got != want {
		t.Errorf("curl GET printed %s, want %s", got, want)
	}
	if got := run("-d", "{}", "http://xstate"+why); !strings.Contains(got, "usage: Why takes content of the type") {
		t.Errorf("curl printed %s, want an error that a person can read", got)
	}
}
