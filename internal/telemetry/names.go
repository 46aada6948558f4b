package telemetry

import (
	"cmp"
	"encoding/json"

	"go.opentelemetry.io/otel/attribute"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"

	"github.com/xstate-engine/xstate/runner/journal"
	"github.com/xstate-engine/xstate/state"
)

// operation names what a call is, in the terms of the conventions.
func operation(c *state.Call) []attribute.KeyValue {
	switch journal.Kind(c.Kind) {
	case journal.KindTool:
		return []attribute.KeyValue{semconv.GenAIOperationNameExecuteTool, semconv.GenAIToolName(c.Tool)}
	case journal.KindModel:
		provider, _ := journal.ModelOf(c)
		return []attribute.KeyValue{semconv.GenAIOperationNameChat, semconv.GenAIRequestModel(model(c)),
			semconv.GenAIProviderNameKey.String(cmp.Or(provider, noProvider))}
	}
	return []attribute.KeyValue{attribute.String("xstate.call.kind", c.Kind)}
}

// noProvider is the provider of models that scripts are, and of those that the program asks itself. The conventions
// want a name.
const noProvider = "xstate"

// model is the provider's name of a model; else the one by which the program asks it.
func model(c *state.Call) string {
	_, name := journal.ModelOf(c)
	return cmp.Or(name, c.Tool)
}

// spanName names the span of a call.
func spanName(c *state.Call) string {
	switch journal.Kind(c.Kind) {
	case journal.KindTool:
		return "execute_tool " + c.Tool
	case journal.KindModel:
		return "chat " + model(c)
	}
	return "xstate " + c.Kind + " " + c.Tool
}

// messages is what went to a model, or came from it, in the form of the conventions. Each message that has a role and a
// text keeps them; all else is one text.
func messages(role string, data []byte) string {
	type part struct {
		Type    string `json:"type"`
		Content string `json:"content"`
	}
	type message struct {
		Role  string `json:"role"`
		Parts []part `json:"parts"`
	}
	var asked struct {
		Messages []struct{ Role, Content string }
	}
	var all []message
	if json.Unmarshal(data, &asked) == nil {
		for _, m := range asked.Messages {
			all = append(all, message{m.Role, []part{{"text", m.Content}}})
		}
	}
	if len(all) == 0 {
		text := string(data)
		_ = json.Unmarshal(data, &text) // anything but text stays JSON
		all = []message{{role, []part{{"text", text}}}}
	}
	out, _ := json.Marshal(all)
	return string(out)
}
