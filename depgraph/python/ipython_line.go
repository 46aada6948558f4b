package python

import "strings"

// logicalLine is one statement line of a cell, with all lines that a bracket, a string or a backslash joins to it.
type logicalLine struct {
	text   string // without the newline at its end
	indent string // blanks at its beginning
	code   int    // length of text without a comment and blanks at its end
}

// logicalLines cuts a text at the newlines that end a statement. A magic or a shell escape is one physical line, which
// only a backslash joins to the next: quotes and brackets in it are not Python's.
func logicalLines(text string) []logicalLine {
	var lines []logicalLine
	for len(text) > 0 {
		n, code := lineEnd(text)
		line := text[:n]
		lines = append(lines, logicalLine{line, line[:len(line)-len(strings.TrimLeft(line, " \t\f"))], code})
		if n == len(text) {
			break
		}
		text = text[n+1:]
		if text == "" {
			lines = append(lines, logicalLine{})
		}
	}
	return lines
}

// lineEnd returns the length of the first logical line of text, and of the code in it.
func lineEnd(text string) (n, code int) {
	if isEscape(text) {
		for {
			end := strings.IndexByte(text[n:], '\n')
			if end < 0 {
				return len(text), len(strings.TrimRight(text, " \t\r"))
			}
			n += end
			if !strings.HasSuffix(strings.TrimSuffix(text[:n], "\r"), "\\") {
				return n, len(strings.TrimRight(text[:n], " \t\r"))
			}
			n++
		}
	}
	depth := 0
	for n < len(text) {
		switch c := text[n]; c {
		case '\n':
			if depth == 0 {
				return n, code
			}
		case '(', '[', '{':
			depth++
			code = n + 1
		case ')', ']', '}':
			depth = max(depth-1, 0)
			code = n + 1
		case '#':
			for n < len(text) && text[n] != '\n' {
				n++
			}
			continue
		case '\\':
			if n+1 < len(text) && text[n+1] == '\r' {
				n++
			}
			n++ // the escaped character, usually a newline
			code = n
		case '\'', '"':
			n += stringEnd(text[n:])
			code = n
			continue
		case ' ', '\t', '\r', '\f':
		default:
			code = n + 1
		}
		n++
	}
	return len(text), min(code, len(text))
}

// isEscape reports whether a line is IPython's and not Python's: a magic or a shell command, alone or assigned.
func isEscape(text string) bool {
	text = strings.TrimLeft(text, " \t\f")
	if text == "" {
		return false
	}
	if text[0] == '%' || text[0] == '!' {
		return true
	}
	line, _, _ := strings.Cut(text, "\n")
	_, _, ok := cutAssigned(line)
	return ok
}

// stringEnd returns the length of the string literal at the beginning of text. It ends with the closing quotes or,
// without them, with the line or text.
func stringEnd(text string) int {
	quote := text[:1]
	if strings.HasPrefix(text, strings.Repeat(quote, 3)) {
		quote = text[:3]
	}
	for n := len(quote); n < len(text); n++ {
		switch {
		case text[n] == '\\':
			n++
		case strings.HasPrefix(text[n:], quote):
			return n + len(quote)
		case text[n] == '\n' && len(quote) == 1:
			return n
		}
	}
	return len(text)
}

// cutAssigned splits "targets = %magic" and "targets = !command".
func cutAssigned(line string) (targets, escape string, ok bool) {
	eq := strings.IndexByte(line, '=')
	if eq <= 0 {
		return "", "", false
	}
	targets, escape = line[:eq+1], strings.TrimLeft(line[eq+1:], " \t")
	for _, r := range line[:eq] {
		if !isNameRune(r) && !strings.ContainsRune(" \t.,", r) {
			return "", "", false
		}
	}
	switch {
	case strings.TrimSpace(line[:eq]) == "" || len(escape) < 2:
		return "", "", false
	case escape[0] == '!' && escape[1] != '=':
	case escape[0] == '%' && isNameRune(rune(escape[1])):
	default:
		return "", "", false
	}
	return targets, escape, true
}

func isNameRune(r rune) bool {
	return r == '_' || r >= '0' && r <= '9' || r|0x20 >= 'a' && r|0x20 <= 'z' || r >= 0x80
}
