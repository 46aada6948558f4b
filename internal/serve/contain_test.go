package serve

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/xstate-engine/xstate/internal/api"
	"github.com/xstate-engine/xstate/internal/verb"
)

// safe is a buffer for several goroutines.
type safe struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *safe) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *safe) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// TestContainment: a call that panics fails. One that neither ends nor heeds that it is cancelled is given up, and then
// reaches its streams no more.
func TestContainment(t *testing.T) {
	goOn, ended := make(chan struct{}), make(chan error, 2)
	var log safe
	c := &Containment{
		Doer: doer(func(_ context.Context, c Call) int {
			switch c.Args[0] {
			case "panic":
				panic("as it was told")
			case "endless":
				<-goOn
				_, err := io.WriteString(c.Stdout, "late")
				ended <- err
				_, err = c.Stdin.Read(make([]byte, 1))
				ended <- err
			}
			_, _ = io.Copy(c.Stdout, c.Stdin)
			return 7
		}),
		Limit: func(verb string) time.Duration {
			if verb == "endless" {
				return time.Nanosecond
			}
			return 0
		},
		Log: &log,
	}
	for _, test := range []struct {
		args []string
		exit int
		out  string
	}{
		{[]string{"echo"}, 7, "in"},
		{[]string{"panic", "--json"}, 5, `{"version":1,"error":{"code":"internal","message":"internal error: as it`},
		{[]string{"panic"}, 5, ""},
		{[]string{"endless", "--json"}, 3, `{"version":1,"error":{"code":"too-slow","message":"no answer was found`},
	} {
		var out, errOut safe
		exit := c.Do(t.Context(), Call{Args: test.args, Stdin: strings.NewReader("in"), Stdout: &out, Stderr: &errOut})
		if exit != test.exit || !strings.HasPrefix(out.String(), test.out) || test.out == "" && out.String() != "" {
			t.Errorf("Do(%q) = %d, %s, want %d, %s", test.args, exit, out.String(), test.exit, test.out)
		}
		if test.exit != 7 && !strings.Contains(errOut.String(), "hint: ") {
			t.Errorf("Do(%q) says %q, want a hint", test.args, errOut.String())
		}
		if test.args[0] != "endless" {
			continue
		}
		before := out.String()
		close(goOn)
		for range 2 {
			if err := <-ended; err == nil {
				t.Error("a call that was given up still reaches its client")
			}
		}
		if out.String() != before {
			t.Errorf("a call that was given up wrote %q", out.String())
		}
	}
	for _, want := range []string{"as it was told", "contain_test.go", "gave up"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log has no %q:\n%s", want, log.String())
		}
	}
}

// TestContainedOperation: an operation that panics fails, and one that is given up reaches its caller no more.
func TestContainedOperation(t *testing.T) {
	var log safe
	goOn, ended := make(chan struct{}), make(chan bool)
	c := &Containment{
		Doer: operations(func(_ context.Context, c verb.Call) (any, *api.Error) {
			switch r := c.Request.(type) {
			case *verb.Why:
				panic("as it was told")
			case *verb.Query:
				<-goOn
				c.Event(api.Event{Event: "late"})
				close(ended)
			case *verb.Exec:
				c.Event(api.Event{Event: r.Code})
			}
			return "answer", nil
		}),
		Limit: func(verb string) time.Duration {
			if verb == "query" {
				return time.Nanosecond
			}
			return 0
		},
		Log: &log,
	}
	var events []string
	ask := func(r verb.Request) (any, *api.Error) {
		return c.Operate(t.Context(), verb.Call{Request: r,
			Event: func(e api.Event) { events = append(events, e.Event) }})
	}
	if answer, failed := ask(&verb.Exec{Code: "began"}); answer != "answer" || failed != nil {
		t.Errorf("Operate = %v, %v, want the answer", answer, failed)
	}
	if answer, failed := ask(&verb.Why{}); answer != nil || failed == nil || failed.Code != api.CodeInternal {
		t.Errorf("Operate of what panics = %v, %v, want %s", answer, failed, api.CodeInternal)
	}
	if answer, failed := ask(&verb.Query{}); answer != nil || failed == nil || failed.Code != api.CodeTooSlow {
		t.Errorf("Operate of what does not end = %v, %v, want %s", answer, failed, api.CodeTooSlow)
	}
	close(goOn)
	<-ended
	if len(events) != 1 || events[0] != "began" {
		t.Errorf("the events are %q, want the first alone", events)
	}
	for _, want := range []string{"as it was told", "contain_test.go", "gave up"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log has no %q:\n%s", want, log.String())
		}
	}
}

// TestRecovering: a handler that panics answers with a failure.
func TestRecovering(t *testing.T) {
	var log safe
	s := &Server{o: Options{Log: &log}}
	w := httptest.NewRecorder()
	h := s.recovering(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("as it was told") }))
	h.ServeHTTP(w, httptest.NewRequest("POST", "/x", nil))
	if w.Code != 500 || !strings.Contains(w.Body.String(), `"code":"internal"`) ||
		!strings.Contains(log.String(), "as it was told") {
		t.Errorf("status %d, %s, log %s; want 500 and a failure", w.Code, w.Body, log.String())
	}
}
