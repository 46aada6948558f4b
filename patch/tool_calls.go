package patch

import (
	"encoding/json"
	"errors"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/xstate-engine/xstate/patch/syntax"
)

// call is a call of a tool, as models' APIs and harness logs write it. It may be the arguments alone, or the arguments
// in an envelope.
type call struct {
	Tool string // "" if unknown
	Args map[string]json.RawMessage
}

// readCalls returns the calls in a text. The text is JSON, or it has JSON at the beginnings of lines. broken is the
// first line, from 1, of a call that cannot be read: skipping it would apply half of a patch.
func readCalls(text string) (calls []call, broken int) {
	if calls, ok := jsonCalls(text); ok {
		return calls, 0
	}
	left := syntax.Budget(len(text))
	for at, line := 0, 1; at < len(text); line++ {
		rest := text[at:]
		first, _, _ := strings.Cut(rest, "\n")
		next := at + len(first) + 1
		if t := strings.TrimSpace(first); left > 0 && t != "" && (t[0] == '{' || t[0] == '[') {
			in := strings.NewReader(rest)
			d := json.NewDecoder(in)
			var raw json.RawMessage
			err := d.Decode(&raw)
			read := int(d.InputOffset())
			left -= len(rest) - in.Len()
			switch {
			case err == nil:
				calls = append(calls, unwrap("", raw, 0)...)
				line += strings.Count(rest[:read], "\n")
				rest, _, _ = strings.Cut(rest[read:], "\n")
				next = at + read + len(rest) + 1
			case broken == 0 && callWord.MatchString(rest[:min(len(rest), maxBytesByChar)]):
				broken = line
			}
		}
		at = next
	}
	return calls, broken
}

// callWord matches a field that only calls have.
var callWord = regexp.MustCompile(`"(command|old_str|old_string|oldText|new_source|cell_source)"\s*:`)

// formatCalls returns the calls of one format in a text.
func formatCalls(text string, is func(*call) bool) ([]call, *ParseError) {
	all, broken := readCalls(text)
	if broken > 0 {
		return nil, malformed(broken,
			"in strings, write line ends as \\n and double backslashes; for code, use `--format block`",
			"a call is not valid JSON")
	}
	var calls []call
	for _, c := range all {
		if is(&c) {
			calls = append(calls, c)
		}
	}
	return calls, nil
}

// likeCalls reports whether a text holds a call of a format, or a call that cannot be read.
func likeCalls(text string, is func(*call) bool) bool {
	calls, broken := readCalls(text)
	return broken > 0 || slices.ContainsFunc(calls, func(c call) bool { return is(&c) })
}

// jsonCalls reads a text that consists of one or more JSON values.
func jsonCalls(text string) (calls []call, ok bool) {
	if t := strings.TrimSpace(text); t == "" || t[0] != '{' && t[0] != '[' {
		return nil, false
	}
	d := json.NewDecoder(strings.NewReader(text))
	for {
		var raw json.RawMessage
		err := d.Decode(&raw)
		if errors.Is(err, io.EOF) {
			return calls, len(calls) > 0
		}
		if err != nil {
			return nil, false
		}
		calls = append(calls, unwrap("", raw, 0)...)
	}
}

// envelopes are fields that hold the arguments of a call.
var envelopes = []string{"input", "arguments", "args", "parameters", "function", "params", "tool_input", "functionCall",
	"function_call", "tool_calls", "message", "content"}

const deepest = 6 // the deepest nesting of envelopes

// unwrap returns the calls in a value.
func unwrap(tool string, raw json.RawMessage, depth int) []call {
	var list []json.RawMessage
	if depth > deepest {
		return nil
	}
	if json.Unmarshal(raw, &list) == nil {
		var all []call
		for _, item := range list {
			all = append(all, unwrap(tool, item, depth+1)...)
		}
		return all
	}
	var text string
	if json.Unmarshal(raw, &text) == nil { // OpenAI writes arguments as a string
		if t := strings.TrimSpace(text); strings.HasPrefix(t, "{") {
			return unwrap(tool, json.RawMessage(t), depth+1)
		}
		return []call{{tool, map[string]json.RawMessage{"patch": raw}}}
	}
	args := map[string]json.RawMessage{}
	if json.Unmarshal(raw, &args) != nil {
		return nil
	}
	c := call{tool, args}
	if c.Tool == "" {
		c.Tool = c.text("name", "tool_name", "tool")
	}
	for _, e := range envelopes {
		if inner, ok := args[e]; ok && (e != "content" || inner[0] == '[') &&
			(e != "input" && e != "args" || !c.has("command")) {
			if calls := unwrap(c.Tool, inner, depth+1); len(calls) > 0 {
				return calls
			}
		}
	}
	return []call{c}
}

// text returns the first argument with one of these names that is a string.
func (c *call) text(names ...string) string {
	s, _ := c.said(names...)
	return s
}

func (c *call) said(names ...string) (string, bool) {
	for _, n := range names {
		var s string
		if raw, ok := c.Args[n]; ok && json.Unmarshal(raw, &s) == nil {
			return s, true
		}
	}
	return "", false
}

// lines returns a text that may be an array of lines, as in notebooks.
func (c *call) lines(names ...string) (string, bool) {
	if s, ok := c.said(names...); ok {
		return s, true
	}
	for _, n := range names {
		var list []string
		if raw, ok := c.Args[n]; ok && json.Unmarshal(raw, &list) == nil {
			return strings.Join(list, ""), true
		}
	}
	return "", false
}

// patchInCommand returns the patch in a command that a call executes, as a list of words or as one text; or "".
func (c *call) patchInCommand() string {
	for _, name := range []string{"command", "cmd"} {
		words := []string{c.text(name)}
		if raw, ok := c.Args[name]; ok && words[0] == "" {
			_ = json.Unmarshal(raw, &words) // anything else is not a command
		}
		for _, w := range words {
			if likeV4A(w) {
				return w
			}
		}
	}
	return ""
}

// number returns the first argument with one of these names that is a whole number, or a string of one.
func (c *call) number(names ...string) (int, bool) {
	for _, n := range names {
		var number int
		raw, ok := c.Args[n]
		if !ok {
			continue
		}
		if json.Unmarshal(raw, &number) == nil ||
			json.Unmarshal([]byte(strings.Trim(string(raw), `"`)), &number) == nil {
			return number, true
		}
	}
	return 0, false
}

func (c *call) has(names ...string) bool {
	for _, n := range names {
		if _, ok := c.Args[n]; ok {
			return true
		}
	}
	return false
}

// path returns the file or block that a call is about.
func (c *call) path() string {
	return c.text("path", "file_path", "filename", "file", "notebook_path", "block")
}

// object writes the arguments of a call, in the given order.
func object(pairs ...any) string {
	var out strings.Builder
	out.WriteString("{")
	for i := 0; i < len(pairs); i += 2 {
		if i > 0 {
			out.WriteString(", ")
		}
		out.WriteString(encodeJSON(pairs[i], "") + ": " + encodeJSON(pairs[i+1], ""))
	}
	return out.String() + "}"
}

// objects writes a single call alone, and several as an array.
func objects(calls []string) string {
	if len(calls) == 1 {
		return calls[0] + "\n"
	}
	return "[\n" + strings.Join(calls, ",\n") + "\n]\n"
}
