package term

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// A text that is longer than its budget keeps its head and its tail. A line between them says how much is left out. So
// a reader sees how an output begins, and the error that mostly ends it.

// Clip returns a text of at most budget bytes, the line between head and tail aside. missing describes that line for a
// number of bytes that are left out.
func Clip(text string, budget int, missing func(bytes int) string) (short string, clipped bool) {
	if len(text) <= budget {
		return text, false
	}
	head := headEnd(text, budget/2)
	tail := tailStart(text, len(text)-(budget-budget/2))
	return text[:head] + gap(text[:head], missing(tail-head)) + text[tail:], true
}

// gap returns the line between head and tail, on a separate line and in no colour of the head's.
func gap(head, line string) string {
	text := line + "\n"
	if strings.Contains(head, "\x1b[") {
		text = "\x1b[0m" + text
	}
	if head != "" && !strings.HasSuffix(head, "\n") {
		text = "\n" + text
	}
	return text
}

// headEnd returns where the head of a text ends: at the last line end before most, or where the line is longer than
// half of that, where no character and no escape sequence is torn.
func headEnd(text string, most int) int {
	if line := strings.LastIndexByte(text[:most], '\n') + 1; line > most/2 {
		return line
	}
	return wholeBefore(text, most)
}

// tailStart returns where the tail of a text begins, by the same rule.
func tailStart(text string, least int) int {
	if line := strings.IndexByte(text[least:], '\n') + 1; line > 0 && line <= (len(text)-least)/2 {
		return least + line
	}
	at := wholeBefore(text, least)
	if at == least {
		return at
	}
	if at += escapeLength(text[at:]); at < least { // a character that least tears
		_, size := utf8.DecodeRuneInString(text[at:])
		at += size
	}
	return at
}

// wholeBefore returns the last place not after at that lies in no character and in no escape sequence.
func wholeBefore(text string, at int) int {
	for at > 0 && at < len(text) && !utf8.RuneStart(text[at]) {
		at--
	}
	if esc := strings.LastIndexByte(text[max(0, at-longestEscape):at], 0x1b); esc >= 0 {
		if esc += max(0, at-longestEscape); esc+escapeLength(text[esc:]) > at {
			return esc
		}
	}
	return at
}

// longestEscape is the length beyond which bytes after an escape character count as text.
const longestEscape = 256

// escapeLength returns the length of the escape sequence that a text begins with; 0 if there is none.
func escapeLength(text string) int {
	if len(text) < 2 || text[0] != 0x1b {
		return 0
	}
	if text[1] != '[' && text[1] != ']' {
		return 2
	}
	for i := 2; i < min(len(text), longestEscape); i++ {
		c := text[i]
		switch {
		case text[1] == '[' && c >= 0x40 && c <= 0x7e, text[1] == ']' && c == 0x07:
			return i + 1
		case text[1] == ']' && c == 0x1b:
			return min(i+2, len(text))
		}
	}
	return 0
}

// Clipper lets a text through while it comes, as clip would show it: the head at once, the rest when the text has
// ended.
type Clipper struct {
	Budget int
	Show   func(text string)
	head   strings.Builder // shown
	rest   strings.Builder
	held   bool
}

func (c *Clipper) Add(text string) {
	if !c.held && c.head.Len()+len(text) <= c.Budget/2 {
		c.head.WriteString(text)
		c.Show(text)
		return
	}
	if !c.held {
		c.held = true
		if room := c.Budget/2 - c.head.Len(); room > 0 {
			end := headEnd(text, room)
			c.head.WriteString(text[:end])
			c.Show(text[:end])
			text = text[end:]
		}
	}
	c.rest.WriteString(text)
}

// Text returns all of it.
func (c *Clipper) Text() string { return c.head.String() + c.rest.String() }

// End shows what was held back, and reports whether some of it was left out.
func (c *Clipper) End(missing func(bytes int) string) (clipped bool) {
	rest := c.rest.String()
	if c.head.Len()+len(rest) <= c.Budget {
		c.Show(rest)
		return false
	}
	tail := tailStart(rest, len(rest)-(c.Budget-c.Budget/2))
	c.Show(gap(c.head.String(), missing(tail)) + rest[tail:])
	return true
}

// LeftOut is the line in the place of what is left out of a text; whole says where all of it is.
func LeftOut(whole string) func(int) string {
	return func(bytes int) string {
		return fmt.Sprintf("[xstate: %s left out here; %s]", Size(int64(bytes)), whole)
	}
}
