package source

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strings"

	"github.com/xstate-engine/xstate/runner/sandbox/policy"
)

// anthropic is the interface "messages". Source: docs.anthropic.com/en/api/messages.
type anthropic struct{}

// anthropicVersion is the version of the interface, and answerTokens bounds an answer where the options do not: the
// interface wants a bound.
const (
	anthropicVersion = "2023-06-01"
	answerTokens     = 4096
)

func (anthropic) request(
	m policy.Model, key string, p prompt, schema json.RawMessage, stream bool,
) (*http.Request, error) {
	body := map[string]any{"max_tokens": answerTokens}
	maps.Copy(body, p.Options)
	system := ""
	messages := []message{}
	for _, x := range p.Messages {
		if x.Role != "system" {
			messages = append(messages, x)
		} else if system == "" {
			system = x.text()
		} else {
			system += "\n\n" + x.text()
		}
	}
	body["model"], body["messages"] = m.Model, messages
	if system != "" {
		body["system"] = system
	}
	if schema != nil { // a tool that the model must use is the way to an answer of a form
		body["tools"] = []any{map[string]any{"name": "answer", "description": "gives the answer",
			"input_schema": schema}}
		body["tool_choice"] = map[string]any{"type": "tool", "name": "answer"}
	}
	delete(body, "stream")
	if stream {
		body["stream"] = true
	}
	r, err := postJSON(strings.TrimSuffix(cmp.Or(m.URL, "https://api.anthropic.com"), "/")+"/v1/messages", body)
	if err == nil {
		r.Header.Set("Anthropic-Version", anthropicVersion)
		if key != "" {
			r.Header.Set("X-Api-Key", key)
		}
	}
	return r, err
}

// anthropicUsage are the tokens of an answer. Those that a cache of prompts served count as input.
type anthropicUsage struct {
	Input   int64 `json:"input_tokens"`
	Created int64 `json:"cache_creation_input_tokens"`
	Cached  int64 `json:"cache_read_input_tokens"`
	Output  int64 `json:"output_tokens"`
}

func (u *anthropicUsage) addTo(r *reply) {
	if u != nil {
		// The events of a stream repeat the sums so far, and may leave the input out.
		r.input, r.output = max(r.input, u.Input+u.Created+u.Cached), max(r.output, u.Output)
	}
}

// anthropicMessage is an answer.
type anthropicMessage struct {
	Model   string
	Content []struct {
		Type  string
		Text  string
		Input json.RawMessage
	}
	StopReason string `json:"stop_reason"`
	Usage      *anthropicUsage
}

func (anthropic) read(body []byte) (r reply, err error) {
	var m anthropicMessage
	if err := json.Unmarshal(body, &m); err != nil {
		return r, fmt.Errorf("the answer is no JSON: %w", err)
	}
	r.model, r.refused = m.Model, m.StopReason == "refusal"
	m.Usage.addTo(&r)
	texts := 0
	for _, c := range m.Content {
		switch c.Type {
		case "text":
			r.text += c.Text
			texts++
		case "tool_use":
			r.value = c.Input
		}
	}
	if texts == 0 && r.value == nil && !r.refused {
		return r, noText()
	}
	return r, nil
}

func (anthropic) event(data []byte, r *reply) (piece string, err error) {
	var e struct {
		Type    string
		Message *anthropicMessage
		Delta   struct {
			Type, Text string
			StopReason string `json:"stop_reason"`
		}
		Usage *anthropicUsage
		Error json.RawMessage
	}
	if err := json.Unmarshal(data, &e); err != nil {
		return "", fmt.Errorf("the stream has an event that is no JSON: %w", err)
	}
	e.Usage.addTo(r)
	switch e.Type {
	case "message_start":
		if e.Message != nil {
			r.model = e.Message.Model
			e.Message.Usage.addTo(r)
		}
	case "content_block_delta":
		piece = e.Delta.Text
	case "message_delta":
		r.refused = e.Delta.StopReason == "refusal"
	case "message_stop":
		r.ended = true
	case "error":
		return "", fmt.Errorf("the interface reports an error: %.2000s", e.Error)
	}
	return piece, nil
}
