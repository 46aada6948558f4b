package state

import (
	"encoding/json"
	"fmt"
	"strings"
)

// callArgs bounds the arguments in the text of a call, in bytes.
const callArgs = 60

// Text returns a call as people read it: search(query="x").
func (c *Call) Text() string {
	name := c.Tool
	if c.Sample > 0 {
		name += fmt.Sprintf(" [sample %d]", c.Sample)
	}
	return name + "(" + argsText(c.Args) + ")"
}

func argsText(args Content) string {
	if args.Inline == nil && args.Size > 0 {
		return fmt.Sprintf("%d bytes", args.Size)
	}
	d := json.NewDecoder(strings.NewReader(string(args.Inline)))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return clipText(string(args.Inline), callArgs)
	}
	text := ""
	for d.More() && len(text) < callArgs {
		name, err := d.Token()
		if err != nil {
			break
		}
		var value json.RawMessage
		if d.Decode(&value) != nil {
			break
		}
		if text != "" {
			text += ", "
		}
		text += fmt.Sprintf("%v=%s", name, value)
	}
	if d.More() {
		text += ", …"
	}
	return clipText(text, callArgs)
}

// Summary returns the result of a call in at most n bytes. Of a call without one it returns its state, or why.
func (c *Call) Summary(n int) string {
	switch {
	case c.Err != nil && !c.State.Ended():
		return clipText(string(c.State)+": "+c.Err.Message, n)
	case !c.State.Ended():
		return string(c.State)
	case c.Result.Inline == nil && c.Result.Size > 0:
		return fmt.Sprintf("%d bytes", c.Result.Size)
	}
	return clipText(string(c.Result.Inline), n)
}

func clipText(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return strings.ToValidUTF8(text[:n], "") + "…"
}
