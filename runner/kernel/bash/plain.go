package bash

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/xstate-engine/xstate/runner/kernel"
)

// fail ends a handover with a failure.
func (sh *shell) fail(seen kernel.Observation, f *kernel.Failure) (kernel.Observation, error) {
	f.Traceback = []string{f.Type + ": " + f.Message}
	seen.Failure = f
	return seen, sh.peer.Send("result", map[string]any{"error": f}, nil)
}

// give sends the plain forms of values.
func (sh *shell) give(n kernel.Node) (seen kernel.Observation, err error) {
	var names []string
	if err := json.Unmarshal(n.Text, &names); err != nil {
		return seen, err
	}
	var again []string
	for _, name := range names {
		if slices.Contains(n.Unbound, name) {
			again = append(again, name)
		}
	}
	if len(again) > 0 {
		seen.Again = again
		return seen, sh.peer.Send("result", map[string]any{"unbound": true}, nil)
	}
	u := &uses{names: map[string]bool{}, keys: map[string]bool{}}
	for _, name := range names {
		u.names[name] = true
	}
	defer func() { sh.reads(&seen, u, sh.live) }()
	values := map[string]any{}
	for _, name := range names {
		d, is := sh.live.vars[name]
		if ref, index, points := d.target(); points && index == "" {
			u.names[ref] = true
			d, is = sh.live.vars[ref]
		}
		if !is {
			return sh.fail(seen, &kernel.Failure{Type: typeShell, Message: name + ": unbound variable", Name: name})
		}
		value, why := plainOf(d)
		if why != "" {
			return sh.fail(seen, &kernel.Failure{Type: typeNoPlainForm, Message: name + why})
		}
		values[name] = value
	}
	document, err := json.Marshal(map[string]any{"names": values})
	if err != nil {
		return seen, err
	}
	if err := sh.peer.Send("plain", struct{}{}, document); err != nil {
		return seen, err
	}
	return seen, sh.peer.Send("result", struct{}{}, nil)
}

// plainOf returns the plain form of a variable, or why it has none: the part, a colon, and what it is.
func plainOf(d declaration) (form any, why string) {
	if strings.HasSuffix(d.name, ")") || d.has("n") {
		return nil, ": a " + kindOf(d)
	}
	if !d.has("a") && !d.has("A") {
		text, ok := d.scalar()
		switch {
		case d.value == "":
			return nil, ""
		case d.value == `=""`:
			return "", ""
		case !ok || !isText(text):
			return nil, notText
		}
		return text, ""
	}
	keys, values, why := elements(d)
	if why != "" {
		return nil, why
	}
	if d.has("a") {
		return append([]string{}, values...), ""
	}
	var b bytes.Buffer // in the order that Bash has them
	b.WriteByte('{')
	for i, key := range keys {
		k, _ := json.Marshal(key)
		v, _ := json.Marshal(values[i])
		fmt.Fprintf(&b, "%s:%s", k, v)
		if i+1 < len(keys) {
			b.WriteByte(',')
		}
	}
	b.WriteByte('}')
	return json.RawMessage(b.Bytes()), ""
}

// take_ binds the names of a document.
func (sh *shell) take_(n kernel.Node) (seen kernel.Observation, err error) {
	var document struct {
		Names map[string]json.RawMessage `json:"names"`
	}
	if err := json.Unmarshal(n.Text, &document); err != nil {
		return seen, err
	}
	var script strings.Builder
	for name, text := range document.Names {
		line, what := assignmentOf(name, text)
		if what != "" {
			return sh.fail(seen, &kernel.Failure{Type: typeNoPlainForm, Message: what})
		}
		script.WriteString(line + "\n")
	}
	if err := sh.flush(); err != nil {
		return seen, err
	}
	sh.clearOutputs()
	before := sh.live
	after, err := sh.execute("__xs_n=; ", script.String()+`__xs_x=(0 "" 0)`, 1, view{})
	if err != nil {
		return seen, err
	}
	after.keepAttributes(before)
	sh.live = after
	u := &uses{assigned: map[string]bool{}}
	sh.writes(&seen, u, n, before, after)
	return seen, sh.peer.Send("result", struct{}{}, nil)
}

// assignmentOf returns the declaration of a name with a plain value; what says which part has no form in Bash.
func assignmentOf(name string, text json.RawMessage) (line, what string) {
	if !isPlain(name) || ignored(name) {
		return "", name + ": no name of a variable"
	}
	head := "builtin unset -v " + name + "; declare "
	if word, ok := scalarOf(text); ok {
		return head + "-- " + name + word, ""
	}
	var list []json.RawMessage
	if json.Unmarshal(text, &list) == nil {
		var words []string
		for i, v := range list {
			word, ok := scalarOf(v)
			if !ok {
				return "", fmt.Sprintf("%s[%d]: it is no text or number", name, i)
			}
			words = append(words, fmt.Sprintf("[%d]=%s", i, strings.TrimPrefix(word, "=")+empty(word)))
		}
		return head + "-a " + name + "=(" + strings.Join(words, " ") + ")", ""
	}
	object, ok := mapOf(text)
	if !ok {
		return "", name + ": it has no form in Bash"
	}
	var words []string
	for key, v := range object {
		word, ok := scalarOf(v)
		if !ok || key == "" {
			return "", fmt.Sprintf("%s.%s: it is no text or number", name, key)
		}
		words = append(words, "["+quote(key)+"]="+strings.TrimPrefix(word, "=")+empty(word))
	}
	slices.Sort(words)
	return head + "-A " + name + "=(" + strings.Join(words, " ") + ")", ""
}

// mapOf reads a map whose keys are text.
func mapOf(text json.RawMessage) (map[string]json.RawMessage, bool) {
	var object map[string]json.RawMessage
	if json.Unmarshal(text, &object) != nil {
		return nil, false
	}
	for tag := range object {
		if !strings.HasPrefix(tag, "$") {
			continue
		}
		var pairs [][2]json.RawMessage
		if tag != "$map" || json.Unmarshal(object[tag], &pairs) != nil {
			return nil, false
		}
		object = map[string]json.RawMessage{}
		for _, p := range pairs {
			var key string
			if json.Unmarshal(p[0], &key) != nil {
				return nil, false
			}
			object[key] = p[1]
		}
		return object, true
	}
	return object, true
}

func empty(word string) string {
	if word == "" {
		return "''"
	}
	return ""
}

// scalarOf returns the text after the name of a variable with a plain value.
func scalarOf(text json.RawMessage) (string, bool) {
	var value any
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if d.Decode(&value) != nil {
		return "", false
	}
	switch v := value.(type) {
	case nil:
		return "", true
	case bool:
		return fmt.Sprintf("=%v", v), true
	case string:
		return "=" + quote(v), !strings.Contains(v, "\x00")
	case json.Number:
		return "=" + v.String(), true
	case map[string]any:
		for _, tag := range []string{"$int", "$number"} {
			if s, is := v[tag].(string); is && len(v) == 1 {
				return "=" + quote(s), true
			}
		}
	}
	return "", false
}
