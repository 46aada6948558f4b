package mcp

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/xstate-engine/xstate/internal/api"
	"github.com/xstate-engine/xstate/internal/verb"
)

// tool is a verb for agents.
type tool struct {
	name, title, about string
	arguments          []argument

	// The tool's possible effects, which hosts read before they call it.
	readOnly, destructive, idempotent, openWorld bool

	documents []any                              // one value of each type that it may answer with
	request   func(*input) (request, *api.Error) // makes the request of valid arguments
}

// read reads the arguments of a call. A nil error means that they are what the tool takes.
func (t *tool) read(raw json.RawMessage, client string) (*input, *api.Error) {
	given := map[string]json.RawMessage{}
	if len(raw) > 0 {
		if err := json.Unmarshal(raw, &given); err != nil {
			return nil, t.misused("the arguments of %s must be a JSON object", t.name)
		}
	}
	in := &input{given: map[string]any{}, client: client}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		i := slices.IndexFunc(t.arguments, func(a argument) bool { return a.name == name })
		if i < 0 {
			return nil, t.misused("%s has no argument %q", t.name, name)
		}
		if text := string(given[name]); text == "null" || text == `""` { // an empty text is none
			continue
		}
		value, ok := t.arguments[i].value(given[name])
		if !ok {
			return nil, t.misused("%s must be %s, and is %s", name, t.arguments[i].want(), shown(given[name]))
		}
		in.given[name] = value
	}
	for _, a := range t.arguments {
		if a.required && !in.has(a.name) {
			return nil, t.misused("%s needs the argument %s", t.name, a.name)
		}
	}
	return in, nil
}

// shown is a value in a message.
func shown(raw json.RawMessage) string {
	const most = 60
	s := strings.ToValidUTF8(string(raw), "?")
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}

// misused is the error of a call that is not what the tool takes.
func (t *tool) misused(format string, values ...any) *api.Error {
	var takes []string
	for _, a := range t.arguments {
		word := a.name + " (" + string(a.kind)
		if a.required {
			word += ", required"
		}
		takes = append(takes, word+")")
	}
	return &api.Error{
		Code:    api.CodeUsage,
		Message: fmt.Sprintf(format, values...),
		Hint:    t.name + " takes " + strings.Join(takes, ", "),
	}
}

// request is what a tool asks, and how its answer is worded.
type request struct {
	ask    verb.Request
	events bool                               // progress is reported while it goes on
	answer func(document any) any             // the part of the document that is the answer; nil: all of it
	read   func(document any) (*reply, error) // makes the reply of the answer
}
