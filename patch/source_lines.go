package patch

import "bytes"

const bom = "\ufeff"

// text is a file as lines. As in Python, a line ends with \n, \r\n or \r.
type text struct {
	data    []byte // the file
	code    []byte // as long as data, with each lone \r replaced by \n: the input of parsers
	from    []int  // the offset of each line, the first after a byte order mark, and the length of data at the end
	*syntax        // the syntax of its language
}

func newText(data []byte, s *syntax) *text {
	t := &text{data: data, code: bytes.Clone(data), from: []int{0}, syntax: s}
	if bytes.HasPrefix(data, []byte(bom)) {
		t.from[0] = len(bom)
	}
	for i, c := range t.code {
		if c == '\r' && (i+1 == len(t.code) || t.code[i+1] != '\n') {
			t.code[i], c = '\n', '\n'
		}
		if c == '\n' && i+1 < len(t.code) {
			t.from = append(t.from, i+1)
		}
	}
	t.from = append(t.from, len(data))
	return t
}

// lines returns the number of lines.
func (t *text) lines() int { return len(t.from) - 1 }

// begin returns the offset where a line starts.
func (t *text) begin(line int) int { return t.from[line] }

// finish returns the offset where a line ends, without its line end.
func (t *text) finish(line int) int { return t.from[line] + len(t.line(line)) }

// line returns a line without its line end.
func (t *text) line(i int) []byte {
	l := bytes.TrimSuffix(t.code[t.from[i]:t.from[i+1]], []byte("\n"))
	return bytes.TrimSuffix(l, []byte("\r"))
}

// lineAt returns the line that holds an offset.
func (t *text) lineAt(offset int) int {
	lo, hi := 0, t.lines()-1
	for lo < hi {
		if mid := (lo + hi + 1) / 2; t.from[mid] <= offset {
			lo = mid
		} else {
			hi = mid - 1
		}
	}
	return lo
}

// blank reports whether a line holds only characters that Python skips.
func (t *text) blank(i int) bool { return len(bytes.TrimLeft(t.line(i), " \t\f")) == 0 }

// isComment reports whether a line is a comment, provided that it is not inside a string.
func (t *text) isComment(i int) bool {
	return bytes.HasPrefix(bytes.TrimLeft(t.line(i), " \t\f"), []byte(t.comment))
}

// indented reports whether a line starts with white space.
func (t *text) indented(i int) bool {
	l := t.line(i)
	return len(l) > 0 && (l[0] == ' ' || l[0] == '\t')
}

// trim narrows a range of lines so that it starts and ends with a line that is not blank. ok is false if no line
// remains.
func (t *text) trim(first, last int) (int, int, bool) {
	for first <= last && t.blank(first) {
		first++
	}
	for first <= last && t.blank(last) {
		last--
	}
	return first, last, first <= last
}

// holdsCode reports whether a range of lines holds more than comments.
func (t *text) holdsCode(first, last int) bool {
	for i := first; i <= last; i++ {
		if !t.blank(i) && !t.isComment(i) {
			return true
		}
	}
	return false
}

// lineCounter returns the 1-based lines of offsets. The offsets must come in rising order.
type lineCounter struct {
	data         []byte
	counted, sum int
}

func (c *lineCounter) at(offset int) int {
	c.sum += bytes.Count(c.data[c.counted:offset], []byte("\n"))
	c.counted = offset
	return c.sum + 1
}

// hashBang returns 1 if the first line of a file names its interpreter and belongs to no block, else 0. In Python it is
// a comment of the first block.
func (t *text) hashBang() int {
	if !t.python && bytes.HasPrefix(t.line(0), []byte("#!")) {
		return 1
	}
	return 0
}
