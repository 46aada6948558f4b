package node

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/evanw/esbuild/pkg/api"

	"github.com/xstate-engine/xstate/depgraph"
	source "github.com/xstate-engine/xstate/depgraph/javascript"
)

// withoutTypes returns a text as JavaScript, with each line in its place. Types become blanks. esbuild translates other
// syntax, such as an enum or an element of TSX.
func withoutTypes(text []byte, dialect depgraph.Dialect) (string, error) {
	typed := dialect == source.TypeScript || dialect == source.TSX
	if !typed && !mayHaveElements(text) {
		return string(text), nil
	}
	if typed {
		plain, err := source.Blank(text, dialect)
		var more *source.NotErasable
		if !errors.As(err, &more) {
			return string(plain), err
		}
	} else if _, err := source.Blank(text, source.TSX); !isElement(err) {
		return string(text), nil
	}
	return translated(text, dialect)
}

// mayHaveElements reports whether a text in JavaScript may have elements of JSX.
func mayHaveElements(text []byte) bool {
	return strings.Contains(string(text), "</") || strings.Contains(string(text), "/>")
}

func isElement(err error) bool {
	var more *source.NotErasable
	return errors.As(err, &more) && more.What == "JSX"
}

// translated returns esbuild's translation of a text, with each line in its place.
func translated(text []byte, dialect depgraph.Dialect) (string, error) {
	loader := api.LoaderTSX
	if dialect == source.TypeScript {
		loader = api.LoaderTS
	}
	r := api.Transform(string(text), api.TransformOptions{
		Loader: loader, Target: api.ESNext, Sourcemap: api.SourceMapExternal, LogLevel: api.LogLevelSilent,
		TsconfigRaw: `{"compilerOptions":{"verbatimModuleSyntax":true,"experimentalDecorators":true}}`,
		Supported:   map[string]bool{"decorators": false},
	})
	if len(r.Errors) > 0 {
		e := &depgraph.SyntaxError{Line: 1, Column: 1, Msg: r.Errors[0].Text}
		if l := r.Errors[0].Location; l != nil {
			e.Line, e.Column = l.Line, l.Column+1
		}
		return "", e
	}
	lines, err := mappedLines(r.Map)
	if err != nil {
		return "", err
	}
	return relaid(string(r.Code), lines), nil
}

// relaid puts each line of a text on the line that it came from. A line that came from none stays below the one before:
// it may be within a template.
func relaid(text string, from []int) string {
	var b strings.Builder
	at := 0
	for i, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		want := -1
		if i < len(from) {
			want = from[i]
		}
		switch {
		case i == 0 && want < 0, i == 0 && want == 0:
		case want < 0:
			b.WriteByte('\n')
			at++
		case want <= at:
			b.WriteByte(' ')
		}
		for at < want {
			b.WriteByte('\n')
			at++
		}
		b.WriteString(line)
	}
	return b.String()
}

// mappedLines returns, for each line of a translation, the 0-based line of its first mapping, or -1.
func mappedLines(data []byte) ([]int, error) {
	var m struct {
		Mappings string `json:"mappings"`
	}
	if err := json.Unmarshal(data, &m); err != nil {
		return nil, fmt.Errorf("source map: %w", err)
	}
	var lines []int
	line := 0
	for _, group := range strings.Split(m.Mappings, ";") {
		first := -1
		for _, segment := range strings.Split(group, ",") {
			fields := decodeVLQ(segment)
			if len(fields) < 4 {
				continue
			}
			line += fields[2]
			if first < 0 {
				first = line
			}
		}
		lines = append(lines, first)
	}
	return lines, nil
}

const base64Digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

// decodeVLQ returns the numbers of a segment of a source map.
func decodeVLQ(segment string) []int {
	var found []int
	value, shift := 0, 0
	for i := range len(segment) {
		digit := strings.IndexByte(base64Digits, segment[i])
		value |= (digit & 31) << shift
		if shift += 5; digit&32 != 0 {
			continue
		}
		if value&1 != 0 {
			value = -value
		}
		found = append(found, value/2)
		value, shift = 0, 0
	}
	return found
}
