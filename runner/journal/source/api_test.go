package source

import (
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

// petDocument describes an interface, in YAML and with the words of OpenAPI 3.0.
const petDocument = `
openapi: 3.0.3
info: {title: Pets, version: "1.2"}
servers: [{url: "{scheme}://unused.example", variables: {scheme: {default: https}}}]
paths:
  /pets/{id}:
    parameters:
    - {name: id, in: path, required: true, schema: {type: integer, minimum: 0, exclusiveMinimum: true}}
    get:
      operationId: getPet
      summary: One pet.
      parameters:
      - {name: tags, in: query, schema: {type: array, items: {type: string}}}
      - {name: ids, in: query, explode: false, schema: {type: array, items: {type: integer}}}
      - {name: filter, in: query, style: deepObject, schema: {type: object}}
      - {name: X-Trace, in: header, description: who asks, schema: {type: string}}
      responses:
        "200": {description: a pet, content: {application/json: {schema: {$ref: "#/components/schemas/Pet"}}}}
        default: {description: an error}
    put:
      operationId: putPet
      requestBody: {required: true, content: {application/json: {schema: {$ref: "#/components/schemas/Pet"}}}}
      responses: {"204": {description: done}}
    delete:
      responses: {"204": {description: done}}
  /pets:
    post:
      operationId: addPet
      requestBody:
        content:
          application/x-www-form-urlencoded: {schema: {type: object, properties: {name: {type: string}}}}
      responses: {"201": {description: done, content: {text/plain: {}}}}
  /photo:
    post:
      operationId: addPhoto
      requestBody: {required: true, content: {image/png: {schema: {type: string, format: binary}}}}
      responses: {"201": {description: done}}
components:
  schemas:
    Pet:
      type: object
      required: [name]
      properties:
        name: {type: string, example: Rex}
        owner: {type: string, nullable: true}
        mother: {$ref: "#/components/schemas/Pet"}
`

// shop is an HTTP interface that answers what the test says and keeps what it was asked.
type shop struct {
	*httptest.Server
	answer func(w http.ResponseWriter, n int) // n: of the request, from 0
	asked  []string
	header []http.Header
}

func newShop(t *testing.T, document string) (*shop, policy.Calls) {
	t.Helper()
	s := &shop{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		body, _ := io.ReadAll(q.Body)
		s.asked = append(s.asked, fmt.Sprintf("%s %s %s", q.Method, q.URL.RequestURI(), body))
		s.header = append(s.header, q.Header)
		s.answer(w, len(s.asked)-1)
	}))
	t.Cleanup(s.Close)
	file := filepath.Join(t.TempDir(), "pets.yaml")
	if err := os.WriteFile(file, []byte(document), 0o666); err != nil {
		t.Fatal(err)
	}
	return s, policy.Calls{OpenAPI: map[string]policy.OpenAPI{"pets": {Document: file, Base: s.URL + "/v1/",
		Headers: map[string]string{"Authorization": "Bearer $PET_TOKEN"}}}}
}

// says answers with a status and a body.
func says(status int, kind, body string) func(http.ResponseWriter, int) {
	return func(w http.ResponseWriter, _ int) {
		w.Header().Set("Content-Type", kind)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

func TestOpenAPI(t *testing.T) {
	s, c := newShop(t, petDocument)
	r := newRig(t, c, "PET_TOKEN=hunter2hunter2")
	var names []string
	for _, x := range r.Tools(t.Context()) {
		names = append(names, fmt.Sprintf("%s %s", x.Name, x.Class))
	}
	want := []string{"addPet irreversible", "delete_pets_id idempotent", "getPet read", "putPet idempotent"}
	if d := cmp.Diff(want, names); d != "" {
		t.Errorf("tools (-want +got):\n%s", d)
	}
	if !strings.HasPrefix(r.tool(t, "getPet").Version, "1.2 ") {
		t.Errorf("the version is %q", r.tool(t, "getPet").Version)
	}
	s.answer = says(200, "application/json; charset=utf-8", `{"name": "Rex", "owner": null}`)
	r.wantJSON(t, "getPet", `{"id":7,"tags":["a b","c"],"ids":[1,2],"filter":{"age":3},"X-Trace":"me"}`,
		`{"name":"Rex","owner":null}`)
	if got := s.header[0]; got.Get("X-Trace") != "me" || got.Get("Authorization") != "Bearer hunter2hunter2" ||
		got.Get("Idempotency-Key") != "" {
		t.Errorf("the headers are %v", got)
	}
	s.answer = says(204, "", "")
	r.wantJSON(t, "putPet", `{"id":7,"body":{"name":"Rex"}}`, `null`)
	r.wantJSON(t, "pets.delete_pets_id", `{"id":7}`, `null`)
	s.answer = says(201, "text/plain", "pet 8")
	r.wantJSON(t, "addPet", `{"body":{"name":"Ada & co"}}`, `"pet 8"`)
	if keys := s.header[3].Get("Idempotency-Key"); keys == "" || keys == s.header[1].Get("Idempotency-Key") {
		t.Errorf("the idempotency keys are %q and %q", keys, s.header[1].Get("Idempotency-Key"))
	}
	wantAsked := []string{"GET /v1/pets/7?filter%5Bage%5D=3&ids=1%2C2&tags=a+b&tags=c ",
		`PUT /v1/pets/7 {"name":"Rex"}`,
		"DELETE /v1/pets/7 ", "POST /v1/pets name=Ada+%26+co"}
	if d := cmp.Diff(wantAsked, s.asked); d != "" {
		t.Errorf("requests (-want +got):\n%s", d)
	}
	for args, tool := range map[string]string{`{"id":0}`: "getPet", `{}`: "getPet", `{"id":1,"more":2}`: "getPet",
		`{"id":1,"body":{}}`: "putPet", `{"id":1,"body":{"name":"x","mother":{"name":null}}}`: "putPet"} {
		if _, err := r.call(t, tool, args); state.CodeOf(err) != journal.CodeArguments {
			t.Errorf("%s(%s): %v, want %s", tool, args, err, journal.CodeArguments)
		}
	}
}

func TestOpenAPIAnswers(t *testing.T) {
	s, c := newShop(t, petDocument)
	n := 0
	try := func(tool string, answer func(http.ResponseWriter, int)) (*rig, journal.Result, error) {
		n++
		s.asked, s.answer = nil, answer
		r := newRig(t, c, "PET_TOKEN=hunter2hunter2")
		args := fmt.Sprintf(`{"id":%d}`, n)
		if tool == "addPet" {
			args = fmt.Sprintf(`{"body":{"name":"%d"}}`, n)
		}
		got, err := r.call(t, tool, args)
		return r, got, err
	}
	_, got, err := try("getPet", says(404, "application/json", `{"error":"no pet"}`))
	if state.CodeOf(err) != journal.CodeRefused || string(got.JSON) != `{"error":"no pet"}` ||
		got.Call.State != state.CallRefused {
		t.Errorf("404 = %s, %v, want a refusal with the body", got.JSON, err)
	}
	for _, x := range []struct {
		what, tool string
		answer     func(http.ResponseWriter, int)
		requests   int
		code       state.Code
		state      state.CallState
	}{
		{"other credentials", "getPet", says(401, "", "who?"), 1, journal.CodeLost, state.CallLost},
		{"a read fails", "getPet", says(500, "", "oh"), tries, journal.CodeLost, state.CallLost},
		{"an order fails", "addPet", says(500, "", "oh"), 1, "", state.CallWaiting},
		{"an order moves", "addPet", says(307, "", ""), 1, "", state.CallWaiting},
		{"too many requests", "addPet", says(429, "", "slow"), tries, journal.CodeLost, state.CallLost},
		{"another form", "getPet", says(200, "application/json", `{"name":3}`), 1, journal.CodeResult, state.CallLost},
		{"no JSON", "getPet", says(200, "application/json", `{`), 1, journal.CodeLost, state.CallLost},
	} {
		_, got, err := try(x.tool, x.answer)
		var waits *journal.Suspended
		if errors.As(err, &waits) {
			got.Call = waits.Call
		}
		if state.CodeOf(err) != x.code || got.Call.State != x.state || len(s.asked) != x.requests {
			t.Errorf("%s: %v, %q after %d requests, want %q, %q after %d", x.what, err, got.Call.State, len(s.asked),
				x.code,
				x.state, x.requests)
		}
	}
	r, got, err := try("addPet", func(w http.ResponseWriter, n int) {
		if n == 0 {
			w.Header().Set("Retry-After", time.Now().Add(20*time.Second).UTC().Format(http.TimeFormat))
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		_, _ = io.WriteString(w, "done")
	})
	if err != nil || string(got.JSON) != `"done"` || len(r.waits) != 1 || r.waits[0] < 15*time.Second {
		t.Errorf("after 503 with Retry-After: %s, %v, after %v", got.JSON, err, r.waits)
	}
	s.Close()
	_, got, err = try("addPet", nil)
	if state.CodeOf(err) != journal.CodeLost || got.Call.State != state.CallLost {
		t.Errorf("a host that refuses the connection: %v, %q, want it lost and nobody asked", err, got.Call.State)
	}
}

// TestOpenAPIDocument: a document that changes has other tools, and one that is none says why.
func TestOpenAPIDocument(t *testing.T) {
	s, c := newShop(t, petDocument)
	s.answer = says(200, "application/json", `{"name":"Rex"}`)
	r := newRig(t, c, "PET_TOKEN=hunter2hunter2")
	r.wantJSON(t, "getPet", `{"id":1}`, `{"name":"Rex"}`)
	file := c.OpenAPI["pets"].Document
	for text, want := range map[string]string{
		"openapi: 2.0.0": "version", "{": "document", "openapi: 3.0.0\npaths: {/a: {get: {responses: {}}}}": "no tool",
		"openapi: 3.0.0\npaths: {/a: {get: {operationId: x}}, /b: {get: {operationId: x}}}": "two operations x",
		"openapi: 3.0.0\npaths: {/a: {get: {$ref: \"/etc/passwd\"}}}":                       "tool \"getPet\"",
	} {
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		other := newRig(t, c, "PET_TOKEN=hunter2hunter2")
		if _, err := other.call(t, "getPet", `{"id":1}`); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	changed := strings.Replace(petDocument, `version: "1.2"`, `version: "1.30"`, 1)
	if err := os.WriteFile(file, []byte(changed), 0o666); err != nil {
		t.Fatal(err)
	}
	if got, err := r.call(t, "getPet", `{"id":1}`); err != nil || got.Served {
		t.Errorf("under another version: served %v, %v, want a new call", got.Served, err)
	}
	relative := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if q.URL.Path == "/doc/openapi.json" {
			_, _ = io.WriteString(w, `{"openapi":"3.1.0","info":{"title":"x","version":"1"},"servers":[{"url":"/api"}],
				"paths":{"/a":{"get":{"operationId":"a","responses":{"200":{"description":"a"}}}}}}`)
			return
		}
		_, _ = io.WriteString(w, q.URL.Path)
	}))
	t.Cleanup(relative.Close)
	r = newRig(t,
		policy.Calls{OpenAPI: map[string]policy.OpenAPI{"far": {Document: relative.URL + "/doc/openapi.json"}}})
	r.wantJSON(t, "a", `{}`, `"/api/a"`)
}

// TestPath: no argument leads to another path.
func TestPath(t *testing.T) {
	op := &operation{method: "GET", path: "/a/{x}", parameters: []parameter{{argument: "x", name: "x", in: "path"}}}
	for arg, want := range map[string]string{`"b/../c"`: "/a/b%2F..%2Fc", `"?q"`: "/a/%3Fq", `".."`: "", `""`: "",
		`"."`: "", `"é"`: "/a/%C3%A9", `[1,2]`: "/a/1,2"} {
		q, err := op.request("http://h", []byte(`{"x":`+arg+`}`))
		if got := ""; err == nil {
			if got = q.URL.EscapedPath(); got != want {
				t.Errorf("x = %s: the path is %q, want %q", arg, got, want)
			}
		} else if want != "" {
			t.Errorf("x = %s: %v", arg, err)
		}
	}
}
