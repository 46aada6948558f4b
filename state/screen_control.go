package state

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf8"
)

// control takes what a text begins with that is no plain text, and returns its length; 0: its end has not come yet.
func (t *stream) control(text []byte) int {
	switch text[0] {
	case '\r':
		if t.head {
			t.led = true
		}
		t.col, t.returned = 0, true
		return 1
	case '\b':
		t.place(t.column() - 1)
		return 1
	}
	n, params, final := sequence(text)
	if n == 0 {
		return 0
	}
	t.interpret(text[:n], params, final)
	return n
}

// maxSequence is the length beyond which a sequence is taken for text.
const maxSequence = 4096

// sequence returns the length of the sequence at the begin of a text, and what it says if it is a control sequence as
// of ECMA-48. The length is 0 when the end is missing.
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

// interpret follows a sequence. What moves or erases within the last rows is done. Colours stay with the text. Whether
// the cursor is visible is forgotten. All else stands as it is in a row that is not overwritten.
func (t *stream) interpret(text []byte, params string, final byte) {
	n := max(1, number(params))
	switch final {
	case 'm':
		if params == "" || params == "0" {
			t.style = ""
		} else if len(t.style) < 100 {
			t.style += string(text)
		}
		if t.appends() {
			t.raw(text)
		}
	case 'K':
		t.eraseLine(number(params))
	case 'J':
		t.eraseBelow(number(params), text)
	case 'A':
		t.move(t.at-n, t.column())
	case 'B':
		t.move(t.at+n, t.column())
	case 'C':
		t.place(t.column() + n)
	case 'D':
		t.place(t.column() - n)
	case 'E':
		t.move(t.at+n, 0)
	case 'F':
		t.move(t.at-n, 0)
	case 'G':
		t.place(n - 1)
	case 'h', 'l':
		if !strings.HasPrefix(params, "?") && t.appends() {
			t.raw(text)
		}
	default:
		if t.appends() {
			t.raw(text)
		}
	}
}

// number is the first parameter of a sequence, or 0.
func number(params string) int {
	first, _, _ := strings.Cut(params, ";")
	n, _ := strconv.Atoi(first)
	return min(max(n, 0), 10000)
}

// column returns the column of the cursor.
func (t *stream) column() int {
	if t.col == atEnd {
		t.col = t.rows[t.at].width()
	}
	return t.col
}

// place moves the cursor within its row.
func (t *stream) place(col int) { t.move(t.at, col) }

func (t *stream) move(at, col int) {
	t.at, t.col, t.returned = min(max(at, 0), len(t.rows)-1), max(col, 0), false
}

// eraseLine erases from the cursor to the end of its row (0), from the begin to the cursor (1) or the whole row (2).
func (t *stream) eraseLine(how int) {
	if r := t.rows[t.at]; len(r.pieces) == 0 && !r.edited {
		return
	}
	col, r := t.column(), t.lift()
	switch {
	case how == 2:
		r.cells = r.cells[:0]
	case how == 1:
		for i := range min(col+1, len(r.cells)) {
			r.cells[i] = cell{char: ' '}
		}
	case col < len(r.cells):
		r.cells = r.cells[:col]
	}
}

// eraseBelow erases from the cursor to the last row. To erase a whole screen is no concern of what was printed.
func (t *stream) eraseBelow(how int, text []byte) {
	if how != 0 {
		if t.appends() {
			t.raw(text)
		}
		return
	}
	t.eraseLine(0)
	at, col := t.at, t.col
	for t.at = at + 1; t.at < len(t.rows); t.at++ {
		t.col = 0
		t.eraseLine(2)
	}
	t.at, t.col = at, col
}

// lift makes the row of the cursor one that can be overwritten: its text goes into cells.
func (t *stream) lift() *row {
	r := t.rows[t.at]
	if r.edited {
		return r
	}
	t.column()
	text := r.text()
	if len(r.pieces) == 0 {
		p := &piece{kind: t.kind, open: true}
		t.screen.pieces = append(t.screen.pieces, p)
		r.pieces = append(r.pieces, p)
	}
	for _, p := range r.pieces {
		p.text = nil
	}
	text, r.end = cutEnd(text)
	r.edited, r.cells = true, cellsOf(text)
	return r
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
