package patch

import "bytes"

// scanner scans Python text that need not parse. It knows only strings, comments and brackets.
type scanner struct {
	code  []byte
	at    int
	quote string // the delimiter of the long string around at, or ""
	depth int    // brackets opened and not yet closed
}

// to scans on to an offset, which must be the start of a line.
func (s *scanner) to(offset int) {
	for s.at < offset && s.at < len(s.code) {
		if s.quote != "" {
			s.at = s.endOfLong(offset)
			continue
		}
		s.step()
	}
}

// step passes one token outside of long strings: a comment, a string, or any byte.
func (s *scanner) step() {
	switch c := s.code[s.at]; c {
	case '#':
		s.at = s.endOfLine()
	case '"', '\'':
		if long := bytes.Repeat([]byte{c}, 3); bytes.HasPrefix(s.code[s.at:], long) {
			s.quote = string(long)
			s.at += 3
			return
		}
		s.at = s.endOfShort(c)
	case '(', '[', '{':
		s.depth++
		s.at++
	case ')', ']', '}':
		s.depth--
		s.at++
	case '\\':
		s.at += 2
	default:
		s.at++
	}
}

// endOfLong returns where the long string ends, or the limit if it continues.
func (s *scanner) endOfLong(limit int) int {
	for i := s.at; i < limit && i < len(s.code); i++ {
		if s.code[i] == '\\' {
			i++
			continue
		}
		if bytes.HasPrefix(s.code[i:], []byte(s.quote)) {
			s.quote = ""
			return i + 3
		}
	}
	return limit
}

// endOfShort returns where a string with single delimiters ends: at its quote, or with the line.
func (s *scanner) endOfShort(quote byte) int {
	for i := s.at + 1; i < len(s.code); i++ {
		switch s.code[i] {
		case '\\':
			i++
		case quote:
			return i + 1
		case '\n':
			return i
		}
	}
	return len(s.code)
}

func (s *scanner) endOfLine() int {
	if n := bytes.IndexByte(s.code[s.at:], '\n'); n >= 0 {
		return s.at + n
	}
	return len(s.code)
}
