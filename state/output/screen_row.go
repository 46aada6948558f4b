package output

import (
	"bytes"
	"unicode/utf8"
)

// piece is an output in the making.
type piece struct {
	kind string
	text []byte
	data map[string]string
	meta map[string]string
	id   string // of the display
	lost int64
	open bool // it belongs to a row that can be overwritten
}

// row is one row of a stream.
type row struct {
	pieces []*piece // its text, unless edited
	edited bool     // its text is in cells
	cells  []cell
	end    string // the end of an edited row
	size   int    // what it counts
}

// cell is one character of a row.
type cell struct {
	char  rune
	style string
}

// settle makes the text of a row final, and returns by how much that differs from what it counted.
func (r *row) settle() int {
	for _, p := range r.pieces {
		p.open = false
	}
	if !r.edited {
		return 0
	}
	var b bytes.Buffer
	style := ""
	for _, c := range trimmedCells(r.cells) {
		if c.style != style {
			if style != "" {
				b.WriteString("\x1b[0m")
			}
			style = c.style
			b.WriteString(style)
		}
		b.WriteRune(c.char)
	}
	if style != "" {
		b.WriteString("\x1b[0m")
	}
	b.WriteString(r.end)
	r.pieces[0].text = b.Bytes()
	return b.Len() - r.size
}

// trimmedCells leaves out the blanks at the end of a row, with which programs overwrite what was longer.
func trimmedCells(cells []cell) []cell {
	n := len(cells)
	for n > 0 && cells[n-1] == (cell{char: ' '}) {
		n--
	}
	return cells[:n]
}

func (r *row) text() []byte {
	var parts [][]byte
	for _, p := range r.pieces {
		parts = append(parts, p.text)
	}
	return bytes.Join(parts, nil)
}

// width is the number of characters of a row.
func (r *row) width() int {
	if r.edited {
		return len(r.cells)
	}
	text, _ := cutEnd(r.text())
	return len(cellsOf(text))
}

func cutEnd(text []byte) ([]byte, string) {
	for _, end := range []string{"\r\n", "\n"} {
		if bytes.HasSuffix(text, []byte(end)) {
			return text[:len(text)-len(end)], end
		}
	}
	return text, ""
}

// cellsOf returns the characters of a text of one row.
func cellsOf(text []byte) []cell {
	var cells []cell
	style := ""
	for len(text) > 0 {
		if text[0] == 0x1b {
			if n, params, final := sequence(text); n > 0 {
				if final == 'm' {
					style += string(text[:n])
					if params == "" || params == "0" {
						style = ""
					}
				}
				text = text[n:]
				continue
			}
		}
		c, n := utf8.DecodeRune(text)
		cells = append(cells, cell{char: c, style: style})
		text = text[n:]
	}
	return cells
}

// maxSequence is the length beyond which a sequence is taken for text.
const maxSequence = 4096

// sequence returns the length of the sequence at the begin of a text, and its parts if it is a control sequence of
// ECMA-48. The length is 0 when the end is missing.
func sequence(text []byte) (n int, params string, final byte) {
	if len(text) < 2 {
		return 0, "", 0
	}
	switch text[1] {
	case '[':
		for i := 2; i < len(text); i++ {
			if text[i] >= 0x40 && text[i] <= 0x7e {
				return i + 1, string(text[2:i]), text[i]
			}
		}
	case ']': // a title or a link; it ends with BEL, or with ESC and a backslash
		for i := 2; i < len(text); i++ {
			if text[i] == '\a' {
				return i + 1, "", 0
			}
			if text[i] == '\\' && text[i-1] == 0x1b {
				return i + 1, "", 0
			}
		}
	default:
		return 2, "", 0
	}
	if len(text) > maxSequence {
		return 1, "", 0
	}
	return 0, "", 0
}
