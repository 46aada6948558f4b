package source

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/xstate-engine/xstate/runner/journal"
	"github.com/xstate-engine/xstate/runner/sandbox/policy"
	"github.com/xstate-engine/xstate/state"
)

// maker is an HTTP server of models, which answers what the test says and keeps what it was asked.
type maker struct {
	*httptest.Server
	answers []answer
	bodies  []map[string]any
	headers []http.Header
	paths   []string
}

// answer is one answer of a maker.
type answer struct {
	status int // 0: 200
	header string
	body   string
}

func newMaker(t *testing.T, answers ...answer) *maker {
	m := &maker{answers: answers}
	m.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		body, _ := io.ReadAll(q.Body)
		var asked map[string]any
		if err := json.Unmarshal(body, &asked); err != nil {
			t.Errorf("the request is no JSON: %s", body)
		}
		m.bodies, m.headers, m.paths = append(m.bodies, asked), append(m.headers, q.Header), append(m.paths, q.URL.Path)
		if len(m.bodies) > len(m.answers) {
			t.Errorf("request %d was not expected", len(m.bodies))
			return
		}
		a := m.answers[len(m.bodies)-1]
		if name, value, ok := strings.Cut(a.header, ": "); ok {
			w.Header().Set(name, value)
		}
		if a.status != 0 {
			w.WriteHeader(a.status)
		}
		_, _ = io.WriteString(w, a.body)
	}))
	t.Cleanup(m.Close)
	return m
}

// named is a policy with one model of a maker.
func (m *maker) named(api string) policy.Calls {
	return policy.Calls{Models: map[string]policy.Model{
		"main": {API: api, URL: m.URL, Model: "big-1", Key: "MODEL_KEY", Input: 2, Output: 10}}}
}

const modelKey = "sk-hunter2hunter2"

// ask asks the default model.
func (r *rig) ask(t *testing.T, args string, piece func(string)) (journal.Result, error) {
	t.Helper()
	return r.do(t, journal.KindModel, "", args, piece)
}

const hello = `{"messages":[{"role":"system","content":"be brief"},{"role":"user","content":"hello"}],` +
	`"options":{"temperature":0}}`

// The bodies below have the shape of the examples in the documentation of the interfaces:
// platform.openai.com/docs/api-reference/chat and docs.anthropic.com/en/api/messages.
const (
	openAIAnswer = `{"id":"chatcmpl-1","object":"chat.completion","created":1741569952,"model":"big-1-0613",` +
		`"choices":[{"index":0,"message":{"role":"assistant","content":%q,"refusal":null,"annotations":[]},` +
		`"logprobs":null,"finish_reason":"stop"}],` +
		`"usage":{"prompt_tokens":19,"completion_tokens":10,"total_tokens":29,` +
		`"prompt_tokens_details":{"cached_tokens":0}},"service_tier":"default"}`
	openAIRefusal = `{"choices":[{"index":0,"message":{"role":"assistant","content":null,"refusal":"I will not"},` +
		`"finish_reason":"stop"}],"usage":{"prompt_tokens":19,"completion_tokens":3}}`
	openAIStream = "data: {\"id\":\"1\",\"object\":\"chat.completion.chunk\",\"model\":\"big-1-0613\",\"choices\":" +
		"[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"},\"finish_reason\":null}]}\n\n" +
		": a comment\n\n" +
		"data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hel\"},\"finish_reason\":null}]}\r\n\r\n" +
		"data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"lo é\"},\"finish_reason\":null}]}\n\n" +
		"data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n" +
		"data: {\"choices\":[],\"usage\":{\"prompt_tokens\":19,\"completion_tokens\":2}}\n\n" +
		"data: [DONE]\n\n"
	anthropicAnswer = `{"id":"msg_1","type":"message","role":"assistant","model":"big-1-0613",` +
		`"content":[{"type":"text","text":%q}],"stop_reason":"end_turn","stop_sequence":null,` +
		`"usage":{"input_tokens":9,"cache_creation_input_tokens":4,"cache_read_input_tokens":6,"output_tokens":10}}`
	anthropicTool = `{"id":"msg_1","type":"message","role":"assistant","model":"big-1-0613","content":[` +
		`{"type":"tool_use","id":"toolu_1","name":"answer","input":%s}],"stop_reason":"tool_use",` +
		`"usage":{"input_tokens":19,"output_tokens":10}}`
	anthropicStream = "event: message_start\ndata: " +
		"{\"type\":\"message_start\",\"message\":{\"id\":\"msg_1\",\"type\":" +
		"\"message\",\"role\":\"assistant\",\"content\":[],\"model\":\"big-1-0613\",\"stop_reason\":null,\"usage\":" +
		"{\"input_tokens\":19,\"output_tokens\":1}}}\n\n" +
		"event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":" +
		"{\"type\":\"text\",\"text\":\"\"}}\n\nevent: ping\ndata: {\"type\": \"ping\"}\n\n" +
		"event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":" +
		"{\"type\":\"text_delta\",\"text\":\"Hel\"}}\n\n" +
		"event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":" +
		"{\"type\":\"text_delta\",\"text\":\"lo é\"}}\n\n" +
		"event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n" +
		"event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"}," +
		"\"usage\":{\"output_tokens\":2}}\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"
)

func TestModel(t *testing.T) {
	for _, x := range []struct {
		api, body, path, header, value string
		want                           map[string]any
	}{
		{"openai", fmt.Sprintf(openAIAnswer, "Hi!"), "/chat/completions", "Authorization", "Bearer " + modelKey,
			map[string]any{"model": "big-1", "temperature": 0.0, "messages": []any{
				map[string]any{"role": "system", "content": "be brief"},
				map[string]any{"role": "user", "content": "hello"}}}},
		{"anthropic", fmt.Sprintf(anthropicAnswer, "Hi!"), "/v1/messages", "X-Api-Key", modelKey,
			map[string]any{"model": "big-1", "temperature": 0.0, "system": "be brief", "max_tokens": 4096.0,
				"messages": []any{map[string]any{"role": "user", "content": "hello"}}}},
	} {
		t.Run(x.api, func(t *testing.T) {
			m := newMaker(t, answer{body: x.body})
			r := newRig(t, m.named(x.api), "MODEL_KEY="+modelKey)
			got, err := r.ask(t, hello, nil)
			if err != nil || string(got.JSON) != `"Hi!"` {
				t.Fatalf("the answer is %s, %v", got.JSON, err)
			}
			if d := cmp.Diff(x.want, m.bodies[0]); d != "" {
				t.Errorf("the request (-want +got):\n%s", d)
			}
			if m.paths[0] != x.path || m.headers[0].Get(x.header) != x.value {
				t.Errorf("the request was for %s, with %q", m.paths[0], m.headers[0].Get(x.header))
			}
			if want := (state.Usage{InputTokens: 19, OutputTokens: 10, MicroUSD: 138}); got.Call.Usage != want {
				t.Errorf("usage = %+v, want %+v", got.Call.Usage, want)
			}
			if again, err := r.ask(t, hello, nil); err != nil || !again.Served {
				t.Errorf("again: served %v, %v", again.Served, err)
			}
			if got.Call.Tool != "main" || got.Call.Kind != "model" || got.Call.Class != "pure" ||
				strings.Contains(fmt.Sprintf("%+v", got.Call), modelKey) {
				t.Errorf("the record is %+v", got.Call)
			}
		})
	}
}

func TestModelStream(t *testing.T) {
	for api, body := range map[string]string{"openai": openAIStream, "anthropic": anthropicStream} {
		t.Run(api, func(t *testing.T) {
			m := newMaker(t, answer{body: body}, answer{body: body[:len(body)*2/3]},
				answer{body: "data: {\"type\":\"error\",\"error\":{\"message\":\"overloaded\"}}\n\n"})
			r := newRig(t, m.named(api), "MODEL_KEY="+modelKey)
			var pieces []string
			piece := func(text string) { pieces = append(pieces, text) }
			got, err := r.ask(t, hello, piece)
			if err != nil || string(got.JSON) != `"Hello é"` {
				t.Fatalf("the answer is %s, %v", got.JSON, err)
			}
			if d := cmp.Diff([]string{"Hel", "lo é"}, pieces); d != "" || !cmp.Equal(got.Call.Pieces, []int{3, 5}) {
				t.Errorf("pieces %v, in the record %v; (-want +got):\n%s", pieces, got.Call.Pieces, d)
			}
			if u := got.Call.Usage; u.InputTokens != 19 || u.OutputTokens != 2 || m.bodies[0]["stream"] != true {
				t.Errorf("usage = %+v, the request was %v", u, m.bodies[0])
			}
			other := strings.Replace(hello, "hello", "broken", 1)
			if _, err := r.ask(t, other, piece); err == nil || !strings.Contains(err.Error(), "broke off") {
				t.Errorf("a stream that breaks off: %v", err)
			}
			if _, err := r.ask(t, other, piece); err == nil || !strings.Contains(err.Error(), "overloaded") {
				t.Errorf("a stream that reports an error: %v", err)
			}
		})
	}
}

// TestEndlessStream: a stream that never ends is bounded by the time of the model.
func TestEndlessStream(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		for q.Context().Err() == nil {
			if _, err := io.WriteString(w, "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n"); err != nil {
				return
			}
		}
	}))
	t.Cleanup(s.Close)
	r := newRig(t, policy.Calls{Models: map[string]policy.Model{
		"m": {API: "openai", URL: s.URL, Model: "m", Timeout: 100 * time.Millisecond}}})
	if _, err := r.ask(t, hello, func(string) {}); err == nil ||
		!strings.Contains(err.Error(), "no answer within 100ms") {
		t.Errorf("an endless stream: %v", err)
	}
}

func TestModelSchema(t *testing.T) {
	const object = `{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"],` +
		`"additionalProperties":false}`
	prompt := func(schema string) string {
		return `{"messages":[{"role":"user","content":"count"}],"schema":` + schema + `}`
	}
	asOpenAI := func(text string) string { return fmt.Sprintf(openAIAnswer, text) }
	asAnthropic := func(text string) string { return fmt.Sprintf(anthropicTool, text) }
	for _, x := range []struct {
		name, api, schema, body, want string
		code                          state.Code
	}{
		{name: "object", api: "openai", schema: object, body: asOpenAI(`{"n": 3}`), want: `{"n":3}`},
		{name: "list", api: "openai", schema: `{"type":"array"}`, body: asOpenAI(`{"value": [1, 2]}`), want: `[1,2]`},
		{name: "no JSON", api: "openai", schema: object, body: asOpenAI(`Sure! n is 3.`), code: journal.CodeResult},
		{name: "other JSON", api: "openai", schema: object, body: asOpenAI(`{"n": "3"}`), code: journal.CodeResult},
		{name: "refusal", api: "openai", schema: object, body: openAIRefusal, code: journal.CodeRefused},
		{name: "object", api: "anthropic", schema: object, body: asAnthropic(`{"n":3}`), want: `{"n":3}`},
		{name: "list", api: "anthropic", schema: `{"type":"array"}`, body: asAnthropic(`{"value":[1]}`), want: `[1]`},
		{name: "text", api: "anthropic", schema: object, body: fmt.Sprintf(anthropicAnswer, "Sure!"),
			code: journal.CodeResult},
	} {
		t.Run(x.api+" "+x.name, func(t *testing.T) {
			m := newMaker(t, answer{body: x.body})
			r := newRig(t, m.named(x.api), "MODEL_KEY="+modelKey)
			got, err := r.ask(t, prompt(x.schema), nil)
			if state.CodeOf(err) != x.code || x.code == "" && string(got.JSON) != x.want {
				t.Fatalf("the answer is %s, %v, want %s, %q", got.JSON, err, x.want, x.code)
			}
			asked, _ := json.Marshal(m.bodies[0])
			for _, want := range []string{map[string]string{"openai": `"strict":true`,
				"anthropic": `"tool_choice":{"name":"answer","type":"tool"}`}[x.api]} {
				if x.schema == object && !strings.Contains(string(asked), want) {
					t.Errorf("the request %s lacks %s", asked, want)
				}
			}
			if x.name == "no JSON" {
				lost := got.Call.Attempts
				if len(lost) != 1 || !strings.Contains(lost[0].Err.Message, "Sure! n is 3.") ||
					lost[0].Usage.OutputTokens != 10 {
					t.Errorf("the record keeps %+v, want what the model said, and its cost", lost)
				}
			}
		})
	}
}

// TestObjectSchema: references of a schema lead where they led, also within the object that interfaces want.
func TestObjectSchema(t *testing.T) {
	const list = `{"$defs":{"N":{"type":"integer"}},"items":{"$ref":"#/$defs/N"},"type":"array"}`
	got, wrapped := objectSchema(json.RawMessage(list))
	want := `{"$defs":{"N":{"type":"integer"}},"additionalProperties":false,"properties":{"value":` +
		`{"items":{"$ref":"#/$defs/N"},"type":"array"}},"required":["value"],"type":"object"}`
	if string(got) != want || !wrapped {
		t.Errorf("objectSchema = %s, %v, want %s", got, wrapped, want)
	}
}

// TestModelRetry: what may pass is tried again, as the server asks. What will not is reported, without the key.
func TestModelRetry(t *testing.T) {
	ok := answer{body: fmt.Sprintf(openAIAnswer, "Hi!")}
	m := newMaker(t, answer{status: 429, header: "Retry-After: 7"}, answer{status: 503}, answer{status: 529}, ok)
	r := newRig(t, m.named("openai"), "MODEL_KEY="+modelKey)
	if got, err := r.ask(t, hello, nil); err != nil || string(got.JSON) != `"Hi!"` {
		t.Errorf("after refusals: %s, %v", got.JSON, err)
	}
	if len(r.waits) != 3 || r.waits[0] != 7*time.Second || r.waits[1] > 2*time.Second {
		t.Errorf("it waited %v, want 7s first", r.waits)
	}
	for _, x := range []struct {
		answer answer
		times  int
		want   string
	}{
		{answer{status: 429, header: "Retry-After: 3600", body: "slow down"}, 1, "slow down"},
		{answer{status: 500, body: "oh"}, tries, "500 Internal Server Error: oh"},
		{answer{status: 401, body: `{"error":{"message":"Incorrect API key provided: ` + modelKey + `"}}`}, 1, "401"},
		{answer{body: `{"choices":[]}`}, 1, "no choices"},
		{answer{body: `<html>`}, 1, "no JSON"},
	} {
		var answers []answer
		for range x.times {
			answers = append(answers, x.answer)
		}
		m := newMaker(t, answers...)
		r := newRig(t, m.named("openai"), "MODEL_KEY="+modelKey)
		if _, err := r.ask(t, hello, nil); err == nil || !strings.Contains(err.Error(), x.want) ||
			len(m.bodies) != x.times {
			t.Errorf("%+v: %v after %d requests, want %q after %d", x.answer, err, len(m.bodies), x.want, x.times)
		}
	}
	r = newRig(t, m.named("openai"))
	_, err := r.ask(t, hello, nil)
	var e *state.Error
	if !errors.As(err, &e) || !strings.Contains(e.Message, "the variable MODEL_KEY is not set") || e.Hint == "" {
		t.Errorf("without the key: %v", err)
	}
}

func TestScript(t *testing.T) {
	script := filepath.Join(t.TempDir(), "script.jsonl")
	write := func(text string) policy.Calls {
		if err := os.WriteFile(script, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		return policy.Calls{Models: map[string]policy.Model{"fake": {API: "script", Script: script, Output: 5}}}
	}
	c := write(`{"match":"sum","reply":{"total":3},"usage":{"input_tokens":2,"output_tokens":4}}

{"regexp":"^ca(t|ts)$","reply":"meow and purr","delay":"3s"}
{"match":"bomb","refusal":"no"}
{"match":"fail","error":"no power"}`)
	r := newRig(t, c)
	prompt := func(text, more string) string {
		return fmt.Sprintf(`{"messages":[{"role":"user","content":%q}]%s}`, text, more)
	}
	got, err := r.ask(t, prompt("the sum", `,"schema":{"type":"object","required":["total"]}`), nil)
	if err != nil || string(got.JSON) != `{"total":3}` || got.Call.Usage.MicroUSD != 20 {
		t.Errorf("a reply = %s, %v, %+v", got.JSON, err, got.Call.Usage)
	}
	var pieces []string
	got, err = r.ask(t, prompt("cats", ""), func(s string) { pieces = append(pieces, s) })
	if err != nil || string(got.JSON) != `"meow and purr"` || len(pieces) != 3 || len(r.waits) != 1 {
		t.Errorf("a reply = %s, %v, in %q, after %v", got.JSON, err, pieces, r.waits)
	}
	for text, want := range map[string]string{"bomb": "no", "fail": "no power", "else": "no line of the script fits"} {
		if _, err := r.ask(t, prompt(text, ""), nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	got, err = r.again(t, write(`{"reply":"new"}`)).ask(t, prompt("cats", ""), nil)
	if err != nil || string(got.JSON) != `"new"` {
		t.Errorf("another script = %s, %v, want its own answer", got.JSON, err)
	}
	for _, text := range []string{`{"reply":1,"error":"x"}`, `{"replies":1}`, `{"regexp":"(","reply":1}`, `nonsense`} {
		_, err := r.again(t, write(text)).ask(t, prompt("x", ""), nil)
		if err == nil || !strings.Contains(err.Error(), "script.jsonl:1: ") {
			t.Errorf("%s: %v, want an error with its line", text, err)
		}
	}
}

func TestDefaultModel(t *testing.T) {
	script := filepath.Join(t.TempDir(), "script.jsonl")
	if err := os.WriteFile(script, []byte(`{"reply":"hi"}`), 0o666); err != nil {
		t.Fatal(err)
	}
	m := policy.Model{API: "script", Script: script}
	for _, x := range []struct {
		names []string
		want  string
	}{{[]string{"a"}, "a"}, {[]string{"a", "default"}, "default"}, {[]string{"a", "b"}, ""}, {nil, ""}} {
		c := policy.Calls{Models: map[string]policy.Model{}}
		for _, name := range x.names {
			c.Models[name] = m
		}
		got, err := newRig(t, c).ask(t, hello, nil)
		if got.Call.Tool != x.want || (err == nil) != (x.want != "") {
			t.Errorf("of %q, the default model is %q, %v, want %q", x.names, got.Call.Tool, err, x.want)
		}
	}
}
