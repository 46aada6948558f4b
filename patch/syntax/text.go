package syntax

import "bytes"

// BOM is the byte order mark that a file may begin with. It is part of no line.
const BOM = "\ufeff"

// Text is a file as lines, which count from 0. As in Python, a line ends with \n, \r\n or \r.
type Text struct {
	Data    []byte // the file
	Code    []byte // as long as Data, with each lone \r replaced by \n: the input of parsers
	From    []int  // the offset of each line, the first after a byte order mark, and the length of Data at the end
	*Syntax        // of its language
}

// NewText cuts a file into lines. It keeps data, and does not change it.
func NewText(data []byte, s *Syntax) *Text {
	t := &Text{Data: data, Code: bytes.Clone(data), From: []int{0}, Syntax: s}
	if bytes.HasPrefix(data, []byte(BOM)) {
		t.From[0] = len(BOM)
	}
	for i, c := range t.Code {
		if c == '\r' && (i+1 == len(t.Code) || t.Code[i+1] != '\n') {
			t.Code[i], c = '\n', '\n'
		}
		if c == '\n' && i+1 < len(t.Code) {
			t.From = append(t.From, i+1)
		}
	}
	t.From = append(t.From, len(data))
	return t
}

// Lines returns the number of lines.
func (t *Text) Lines() int { return len(t.From) - 1 }

// Begin returns the offset where a line starts.
func (t *Text) Begin(line int) int { return t.From[line] }

// Finish returns the offset where a line ends, without its line end.
func (t *Text) Finish(line int) int { return t.From[line] + len(t.Line(line)) }

// Line returns a line without its line end.
func (t *Text) Line(i int) []byte {
	l := bytes.TrimSuffix(t.Code[t.From[i]:t.From[i+1]], []byte("\n"))
	return bytes.TrimSuffix(l, []byte("\r"))
}

// LineAt returns the line that holds an offset.
func (t *Text) LineAt(offset int) int {
	lo, hi := 0, t.Lines()-1
	for lo < hi {
		if mid := (lo + hi + 1) / 2; t.From[mid] <= offset {
			lo = mid
		} else {
			hi = mid - 1
		}
	}
	return lo
}

// Blank reports whether a line holds only characters that Python skips.
func (t *Text) Blank(i int) bool { return len(bytes.TrimLeft(t.Line(i), " \t\f")) == 0 }

// IsComment reports whether a line is a comment, provided that it is not inside a string.
func (t *Text) IsComment(i int) bool {
	return bytes.HasPrefix(bytes.TrimLeft(t.Line(i), " \t\f"), []byte(t.Comment))
}

// Indented reports whether a line starts with white space.
func (t *Text) Indented(i int) bool {
	l := t.Line(i)
	return len(l) > 0 && (l[0] == ' ' || l[0] == '\t')
}

// Trim narrows a range of lines so that it starts and ends with a line that is not blank. ok is false if no line
// remains.
func (t *Text) Trim(first, last int) (int, int, bool) {
	for first <= last && t.Blank(first) {
		first++
	}
	for first <= last && t.Blank(last) {
		last--
	}
	return first, last, first <= last
}

// HoldsCode reports whether a range of lines holds more than comments.
func (t *Text) HoldsCode(first, last int) bool {
	for i := first; i <= last; i++ {
		if !t.Blank(i) && !t.IsComment(i) {
			return true
		}
	}
	return false
}

// LineCounter returns the 1-based lines of offsets. The offsets must come in rising order.
type LineCounter struct {
	Data         []byte
	counted, sum int
}

// At returns the 1-based line of an offset.
func (c *LineCounter) At(offset int) int {
	c.sum += bytes.Count(c.Data[c.counted:offset], []byte("\n"))
	c.counted = offset
	return c.sum + 1
}

// HashBang returns 1 if the first line of a file names its interpreter and belongs to no block, else 0. In Python it is
// a comment of the first block.
func (t *Text) HashBang() int {
	if !t.Python && bytes.HasPrefix(t.Line(0), []byte("#!")) {
		return 1
	}
	return 0
}
