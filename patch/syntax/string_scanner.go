package syntax

import "bytes"

// Scanner scans Python text that need not parse. It knows only strings, comments and brackets.
type Scanner struct {
	Code  []byte
	At    int    // the offset up to which it has scanned
	Quote string // the delimiter of the long string around At, or ""
	Depth int    // brackets opened and not yet closed
}

// To scans on to an offset, which must be the start of a line.
func (s *Scanner) To(offset int) {
	for s.At < offset && s.At < len(s.Code) {
		if s.Quote != "" {
			s.At = s.endOfLong(offset)
			continue
		}
		s.step()
	}
}

// step passes one token outside of long strings: a comment, a string, or any byte.
func (s *Scanner) step() {
	switch c := s.Code[s.At]; c {
	case '#':
		s.At = s.endOfLine()
	case '"', '\'':
		if long := bytes.Repeat([]byte{c}, 3); bytes.HasPrefix(s.Code[s.At:], long) {
			s.Quote = string(long)
			s.At += 3
			return
		}
		s.At = s.endOfShort(c)
	case '(', '[', '{':
		s.Depth++
		s.At++
	case ')', ']', '}':
		s.Depth--
		s.At++
	case '\\':
		s.At += 2
	default:
		s.At++
	}
}

// endOfLong returns where the long string ends, or the limit if it continues.
func (s *Scanner) endOfLong(limit int) int {
	for i := s.At; i < limit && i < len(s.Code); i++ {
		if s.Code[i] == '\\' {
			i++
			continue
		}
		if bytes.HasPrefix(s.Code[i:], []byte(s.Quote)) {
			s.Quote = ""
			return i + 3
		}
	}
	return limit
}

// endOfShort returns where a string with single delimiters ends: at its quote, or with the line.
func (s *Scanner) endOfShort(quote byte) int {
	for i := s.At + 1; i < len(s.Code); i++ {
		switch s.Code[i] {
		case '\\':
			i++
		case quote:
			return i + 1
		case '\n':
			return i
		}
	}
	return len(s.Code)
}

func (s *Scanner) endOfLine() int {
	if n := bytes.IndexByte(s.Code[s.At:], '\n'); n >= 0 {
		return s.At + n
	}
	return len(s.Code)
}
