package web

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/xstate-engine/xstate/runner/sandbox/policy"
	"github.com/xstate-engine/xstate/state"
)

// spent is what answers of models say of themselves, in the words of OpenAI and Anthropic.
type spent struct {
	Model string
	Usage struct {
		Prompt     int64 `json:"prompt_tokens"`
		Completion int64 `json:"completion_tokens"`
		Input      int64 `json:"input_tokens"`
		Output     int64 `json:"output_tokens"`
	}
}

// usageOf returns what an answer of a model spent, and which one answered. Of a stream each event may say a part: the
// largest count is the last.
func usageOf(
	models map[string]policy.Model, body []byte, headers map[string][]string,
) (u state.Usage, model string) {
	kind := strings.Join(headers["content-type"], ",")
	note := func(x spent) {
		if x.Model != "" {
			model = x.Model
		}
		u.InputTokens = max(u.InputTokens, x.Usage.Prompt, x.Usage.Input)
		u.OutputTokens = max(u.OutputTokens, x.Usage.Completion, x.Usage.Output)
	}
	switch {
	case strings.HasPrefix(kind, "application/json"):
		var x spent
		if json.Unmarshal(body, &x) == nil {
			note(x)
		}
	case strings.HasPrefix(kind, "text/event-stream"):
		for line := range bytes.Lines(body) {
			data, is := bytes.CutPrefix(line, []byte("data:"))
			var event struct {
				spent
				Message  spent // Anthropic's first event
				Response spent // OpenAI's last event
			}
			if is && json.Unmarshal(data, &event) == nil {
				note(event.spent)
				note(event.Message)
				note(event.Response)
			}
		}
	}
	if u == (state.Usage{}) {
		return u, ""
	}
	for _, m := range models {
		if m.Model == model {
			u.MicroUSD = int64(float64(u.InputTokens)*m.Input + float64(u.OutputTokens)*m.Output)
		}
	}
	return u, model
}
