package patch

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// jsonStyle is how a file writes JSON.
type jsonStyle struct {
	end    string // the line end; "" for a file without lines
	unit   string // the indentation of one level
	colon  string // between a name and its value
	comma  string // between items on one line
	ascii  bool   // other characters are escaped
	margin string // the indentation of the value to write
}

// styleOf returns the style of a JSON object in data, which begins at an offset.
func styleOf(data []byte, at int) jsonStyle {
	text := string(data[at:min(len(data), at+512)])
	s := jsonStyle{colon: ":", comma: ","}
	if _, after, ok := strings.Cut(text, `":`); ok && strings.HasPrefix(after, " ") {
		s.colon, s.comma = ": ", ", "
	}
	space := text[1 : len(text)-len(strings.TrimLeft(text[1:], " \t\r\n"))]
	if i := strings.LastIndexByte(space, '\n'); i >= 0 {
		s.end, s.unit = "\n", space[i+1:]
		if i > 0 && space[i-1] == '\r' {
			s.end = "\r\n"
		}
	}
	s.ascii = isASCII(data) && escapedLetter(data)
	return s
}

// in returns the style of a value that is so many levels deep.
func (s jsonStyle) in(levels int) jsonStyle {
	s.margin = strings.Repeat(s.unit, levels)
	return s
}

// text returns a value as JSON, see write.
func (s jsonStyle) text(v any) string {
	var out strings.Builder
	s.write(&out, v)
	return out.String()
}

// escapedLetter reports whether JSON text has an escape of a character beyond ASCII.
func escapedLetter(data []byte) bool {
	for i := 0; i+6 <= len(data); i++ {
		if data[i] != '\\' {
			continue
		}
		if n, err := strconv.ParseUint(string(data[i+2:i+6]), 16, 16); data[i+1] == 'u' && err == nil && n >= 0x80 {
			return true
		}
		i++
	}
	return false
}

// write writes a value of nil, int, string, json.Number, bool, []string, []any or map[string]any, with sorted names.
func (s jsonStyle) write(out *strings.Builder, v any) {
	switch v := v.(type) {
	case nil:
		out.WriteString("null")
	case int:
		out.WriteString(strconv.Itoa(v))
	case bool:
		out.WriteString(strconv.FormatBool(v))
	case json.Number:
		out.WriteString(v.String())
	case string:
		s.quote(out, v)
	case []string:
		s.list(out, '[', ']', len(v), func(in jsonStyle, i int) { in.quote(out, v[i]) })
	case []any:
		s.list(out, '[', ']', len(v), func(in jsonStyle, i int) { in.write(out, v[i]) })
	case map[string]any:
		names := slices.Sorted(maps.Keys(v))
		s.list(out, '{', '}', len(v), func(in jsonStyle, i int) {
			in.quote(out, names[i])
			out.WriteString(in.colon)
			in.write(out, v[names[i]])
		})
	default:
		panic(fmt.Sprintf("patch: internal error: a notebook holds a %T", v))
	}
}

func (s jsonStyle) list(out *strings.Builder, open, shut byte, n int, item func(jsonStyle, int)) {
	out.WriteByte(open)
	in := s
	in.margin += s.unit
	for i := range n {
		switch {
		case s.end != "" && i > 0:
			out.WriteString("," + s.end + in.margin)
		case s.end != "":
			out.WriteString(s.end + in.margin)
		case i > 0:
			out.WriteString(s.comma)
		}
		item(in, i)
	}
	if n > 0 && s.end != "" {
		out.WriteString(s.end + s.margin)
	}
	out.WriteByte(shut)
}

var shortEscapes = map[rune]string{'"': `\"`, '\\': `\\`, '\n': `\n`, '\r': `\r`, '\t': `\t`, '\b': `\b`, '\f': `\f`}

// quote writes a string with the escapes that Python and JavaScript use. (encoding/json escapes more.)
func (s jsonStyle) quote(out *strings.Builder, text string) {
	out.WriteByte('"')
	from := 0 // what is not written yet
	for i, r := range text {
		if r >= ' ' && r != '"' && r != '\\' && (r < utf8.RuneSelf || !s.ascii) {
			continue
		}
		out.WriteString(text[from:i])
		from = i + utf8.RuneLen(r)
		high, low := utf16.EncodeRune(r)
		switch {
		case shortEscapes[r] != "":
			out.WriteString(shortEscapes[r])
		case r > 0xffff:
			fmt.Fprintf(out, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(out, `\u%04x`, r)
		}
	}
	out.WriteString(text[from:])
	out.WriteByte('"')
}
