package source

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/xstate-engine/xstate/runner/sandbox/policy"
)

// openAI is the interface "chat completions", which many servers of models have.
// Source: platform.openai.com/docs/api-reference/chat.
type openAI struct{}

func (openAI) request(
	m policy.Model, key string, p prompt, schema json.RawMessage, stream bool,
) (*http.Request, error) {
	body := maps.Clone(p.Options)
	if body == nil {
		body = map[string]any{}
	}
	body["model"], body["messages"] = m.Model, p.Messages
	if schema != nil {
		body["response_format"] = map[string]any{"type": "json_schema", "json_schema": map[string]any{
			"name": "answer", "schema": schema, "strict": isStrict(schema)}}
	}
	delete(body, "stream")
	if stream {
		body["stream"], body["stream_options"] = true, map[string]any{"include_usage": true}
	}
	r, err := postJSON(strings.TrimSuffix(cmp.Or(m.URL, "https://api.openai.com/v1"), "/")+"/chat/completions", body)
	if err == nil && key != "" {
		r.Header.Set("Authorization", "Bearer "+key)
	}
	return r, err
}

// isStrict reports whether a schema is of the kind that the interface enforces: each object names all its members.
func isStrict(schema json.RawMessage) bool {
	var v any
	return json.Unmarshal(schema, &v) == nil && strict(v)
}

func strict(v any) bool {
	switch v := v.(type) {
	case []any:
		return !slices.ContainsFunc(v, func(x any) bool { return !strict(x) })
	case map[string]any:
		if properties, ok := v["properties"].(map[string]any); ok || v["type"] == "object" {
			required, _ := v["required"].([]any)
			if v["additionalProperties"] != false || len(required) != len(properties) {
				return false
			}
		}
		for _, x := range v {
			if !strict(x) {
				return false
			}
		}
	}
	return true
}

// completion is an answer, or with Delta in the place of Message, a part of one.
type completion struct {
	Model   string
	Choices []struct {
		Message, Delta struct {
			Content *string
			Refusal *string
		}
		FinishReason *string `json:"finish_reason"`
	}
	Usage *struct {
		Input  int64 `json:"prompt_tokens"`
		Output int64 `json:"completion_tokens"`
	}
	Error json.RawMessage
}

// parse reads an answer or a part of one.
func (openAI) parse(data []byte, r *reply) (c completion, err error) {
	if err := json.Unmarshal(data, &c); err != nil {
		return c, fmt.Errorf("the answer is no JSON: %w", err)
	}
	if len(c.Error) > 0 && string(c.Error) != "null" {
		return c, fmt.Errorf("the interface reports an error: %.2000s", c.Error)
	}
	r.model = cmp.Or(c.Model, r.model)
	if c.Usage != nil {
		r.input, r.output = c.Usage.Input, c.Usage.Output
	}
	return c, nil
}

func (o openAI) read(body []byte) (r reply, err error) {
	c, err := o.parse(body, &r)
	if err != nil {
		return r, err
	}
	if len(c.Choices) == 0 {
		return r, errors.New("the answer has no choices")
	}
	switch m := c.Choices[0].Message; {
	case m.Refusal != nil && *m.Refusal != "":
		r.text, r.refused = *m.Refusal, true
	case m.Content == nil:
		return r, noText()
	default:
		r.text = *m.Content
	}
	return r, nil
}

func (o openAI) event(data []byte, r *reply) (piece string, err error) {
	if string(data) == "[DONE]" {
		r.ended = true
		return "", nil
	}
	c, err := o.parse(data, r)
	if err != nil || len(c.Choices) == 0 {
		return "", err
	}
	d := c.Choices[0].Delta
	if d.Refusal != nil && *d.Refusal != "" {
		r.refused = true
		return *d.Refusal, nil
	}
	if d.Content != nil {
		piece = *d.Content
	}
	return piece, nil
}
