package source

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/xstate-engine/xstate/runner/journal"
	"github.com/xstate-engine/xstate/runner/sandbox/policy"
	"github.com/xstate-engine/xstate/state"
)

// prompt is what a model is given.
type prompt struct {
	Messages []message       `json:"messages"`
	Schema   json.RawMessage `json:"schema"`  // the answer's; nil: it is a text
	Options  map[string]any  `json:"options"` // as the interface has them, such as temperature
}

type message struct {
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"` // a text, or parts as the interface has them
}

// reply is what a model answered.
type reply struct {
	text    string
	value   json.RawMessage // where the interface answers JSON
	refused bool
	input   int64 // tokens
	output  int64
	model   string
	ended   bool // a stream came to its end
}

// provider is the interface of models of one maker.
type provider interface {
	// request makes a request. schema is that of an object; nil: the answer is a text.
	request(m policy.Model, key string, p prompt, schema json.RawMessage, stream bool) (*http.Request, error)
	// read reads a whole answer.
	read(body []byte) (reply, error)
	// event adds an event of a stream to a reply, and returns the text that it brings.
	event(data []byte, r *reply) (piece string, err error)
}

// json is the JSON of a reply to a prompt that asked for some.
func (r *reply) json() (json.RawMessage, error) {
	if r.value != nil {
		return r.value, nil
	}
	if json.Valid([]byte(r.text)) {
		return json.RawMessage(r.text), nil
	}
	said := []rune(r.text)
	return nil,
		&state.Error{Code: journal.CodeResult, Hint: "ask for another sample, or say in the prompt what to answer",
			Message: fmt.Sprintf("the model answered no JSON: %q", string(said[:min(len(said), 2000)]))}
}

// objectSchema returns the schema of an object, as interfaces want one: an answer of another type is its member
// "value".
func objectSchema(schema json.RawMessage) (object json.RawMessage, wrapped bool) {
	var is map[string]json.RawMessage
	if schema == nil || json.Unmarshal(schema, &is) != nil || string(is["type"]) == `"object"` {
		return schema, false
	}
	about := map[string]any{"type": "object", "additionalProperties": false, "required": []string{"value"},
		"properties": map[string]any{"value": is}}
	if defs, ok := is["$defs"]; ok { // references to these begin at the root
		delete(is, "$defs")
		about["$defs"] = defs
	}
	object, err := json.Marshal(about)
	return object, err == nil
}

// unwrap takes the answer out of the object that objectSchema asked for.
func (r *reply) unwrap(wrapped bool) error {
	if !wrapped || r.refused {
		return nil
	}
	text, err := r.json()
	if err != nil {
		return err
	}
	var object struct{ Value json.RawMessage }
	if json.Unmarshal(text, &object) != nil || object.Value == nil {
		return &state.Error{Code: journal.CodeResult, Hint: "ask for another sample",
			Message: fmt.Sprintf("the model answered something else than the schema says: %.2000s", text)}
	}
	r.value = object.Value
	return nil
}

func textMessage(role, text string) message {
	content, _ := json.Marshal(text) // cannot fail for a text
	return message{Role: role, Content: content}
}

// text is the text of a message.
func (m *message) text() string {
	var s string
	if json.Unmarshal(m.Content, &s) == nil {
		return s
	}
	var parts []struct{ Text string }
	_ = json.Unmarshal(m.Content, &parts) // parts without a text have none
	for _, p := range parts {
		s += p.Text
	}
	return s
}

func postJSON(address string, body any) (*http.Request, error) {
	data, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequest(http.MethodPost, address, bytes.NewReader(data))
	if err == nil {
		r.Header.Set("Content-Type", "application/json")
	}
	return r, err
}

func noText() error {
	return &state.Error{Code: journal.CodeResult, Message: "the model answered no text",
		Hint: "take what asks for something else out of the options"}
}
