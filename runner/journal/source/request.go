package source

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/xstate-engine/xstate/runner/journal"
)

// operation is one method of one path.
type operation struct {
	tool       journal.Tool
	method     string
	path       string
	parameters []parameter
	bodyKind   string // content type; "": it takes no body
}

// parameter is an argument that is not a body.
type parameter struct {
	argument string // its name among the arguments
	name     string
	in       string
	explode  bool
	deep     bool // deepObject
}

const formType = "application/x-www-form-urlencoded"

// bodyArgument is the argument that is the body of a request.
const bodyArgument = "body"

// request makes the request of an operation with arguments.
func (op *operation) request(base string, args json.RawMessage) (*http.Request, error) {
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(args, &raw); err != nil {
		return nil, err
	}
	path, query, headers := op.path, url.Values{}, http.Header{}
	for _, p := range op.parameters {
		text, given := raw[p.argument]
		if !given {
			continue
		}
		v, err := decode(text)
		if err != nil {
			return nil, err
		}
		switch p.in {
		case "path":
			parts := texts(v)
			if strings.Trim(strings.Join(parts, ""), ".") == "" { // a server takes "" and dots for another path
				return nil, fmt.Errorf("%q is no value of %s in a path", parts, p.argument)
			}
			for i := range parts {
				parts[i] = url.PathEscape(parts[i])
			}
			path = strings.ReplaceAll(path, "{"+p.name+"}", strings.Join(parts, ","))
		case "query":
			p.addQuery(query, v)
		case "header":
			headers.Set(p.name, strings.Join(texts(v), ","))
		}
	}
	if strings.ContainsAny(path, "{}") {
		return nil, fmt.Errorf("the path %s lacks a parameter", path)
	}
	var body io.Reader
	if text, given := raw[bodyArgument]; given && op.bodyKind != "" {
		var err error
		if body, err = encode(op.bodyKind, text); err != nil {
			return nil, err
		}
		headers.Set("Content-Type", op.bodyKind)
	}
	address := base + path
	if len(query) > 0 {
		address += "?" + query.Encode()
	}
	r, err := http.NewRequest(op.method, address, body)
	if err != nil {
		return nil, err
	}
	r.Header = headers
	r.Header.Set("Accept", "application/json, */*;q=0.5")
	return r, nil
}

func decode(text json.RawMessage) (v any, err error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	err = d.Decode(&v)
	return v, err
}

// addQuery adds a parameter to a query, in the style of the document.
func (p *parameter) addQuery(query url.Values, v any) {
	switch v := v.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			switch key := p.name + "[" + name + "]"; {
			case p.deep:
				query[key] = texts(v[name])
			case p.explode:
				query[name] = texts(v[name])
			default:
				query[p.name] = []string{strings.Join(append(query[p.name], name, strings.Join(texts(v[name]), ",")),
					",")}
			}
		}
	case []any:
		if query[p.name] = texts(v); !p.explode {
			query[p.name] = []string{strings.Join(texts(v), ",")}
		}
	default:
		query[p.name] = texts(v)
	}
}

// texts are the texts of a value: one, or of a list one for each element.
func texts(v any) []string {
	switch v := v.(type) {
	case nil:
		return []string{""}
	case string:
		return []string{v}
	case json.Number, bool, float64:
		return []string{fmt.Sprint(v)}
	case []any:
		all := []string{}
		for _, x := range v {
			all = append(all, strings.Join(texts(x), ","))
		}
		return all
	}
	data, _ := json.Marshal(v) // cannot fail for decoded JSON
	return []string{string(data)}
}

// encode writes the body of a request of a content type.
func encode(kind string, value json.RawMessage) (io.Reader, error) {
	switch {
	case isJSON(kind):
		return bytes.NewReader(value), nil
	case kind == formType:
		v, err := decode(value)
		if err != nil {
			return nil, err
		}
		form := url.Values{}
		(&parameter{explode: true}).addQuery(form, v)
		return strings.NewReader(form.Encode()), nil
	}
	var text string
	if err := json.Unmarshal(value, &text); err != nil {
		return nil, fmt.Errorf("the body is a text: %w", err)
	}
	return strings.NewReader(text), nil
}

func isJSON(kind string) bool { return kind == "application/json" || strings.HasSuffix(kind, "+json") }
