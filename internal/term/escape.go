package term

import (
	"crypto/rand"
	"fmt"
	"io"
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"
)

// Titles, names, paths, agents, reasons, source and messages of errors are text of others. A terminal acts on some
// characters: it could be made to change its title, to answer as if the user typed, or to show a false text. So all
// that is written passes Escape, which writes such characters as they are written in source. The output of a program is
// the exception, because programs colour: Verbatim alone writes it.

// Escape returns a text in which nothing is left that a terminal would act on, except the ends of lines and tabs: C0
// and C1 controls, DEL, characters that change the direction of text, and bytes that are not UTF-8.
func Escape(text string) string {
	if strings.IndexFunc(text, IsControl) < 0 && utf8.ValidString(text) {
		return text
	}
	var b strings.Builder
	for i, n := 0, 0; i < len(text); i += n {
		var r rune
		switch r, n = utf8.DecodeRuneInString(text[i:]); {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, text[i])
		case r == '\r' && strings.HasPrefix(text[i:], "\r\n"): // the end of a line elsewhere
		case !IsControl(r):
			b.WriteRune(r)
		case r < 0x100:
			fmt.Fprintf(&b, `\x%02x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// IsControl reports whether a terminal acts on a character.
func IsControl(r rune) bool {
	switch {
	case r == '\n' || r == '\t':
		return false
	case r < 0x20, r >= 0x7f && r < 0xa0:
		return true
	case r == 0x61c, r == 0x200e, r == 0x200f, r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069:
		return true
	}
	return false
}

// ownMark is in the styles that this process writes, so that no text of others has them.
var ownMark = sync.OnceValue(func() string {
	var b [6]byte
	_, _ = rand.Read(b[:]) // it does not fail
	return fmt.Sprintf("9%d%d%d%d%d%d", b[0], b[1], b[2], b[3], b[4], b[5])
})

var ownStyles = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile("\x1b\\[([0-9]+);" + ownMark() + "m")
})

// styled begins a style, or ends all (0), until a text passes EscapeUnstyled.
func styled(code string) string { return "\x1b[" + code + ";" + ownMark() + "m" }

// EscapeUnstyled is Escape for a text that has styles of this process, which stay.
func EscapeUnstyled(text string) string {
	if !strings.Contains(text, "\x1b") {
		return Escape(text)
	}
	var b strings.Builder
	last := 0
	for _, at := range ownStyles().FindAllStringSubmatchIndex(text, -1) {
		b.WriteString(Escape(text[last:at[0]]) + "\x1b[" + text[at[2]:at[3]] + "m")
		last = at[1]
	}
	b.WriteString(Escape(text[last:]))
	return b.String()
}

// Escaper passes on what is written to it, escaped. A write must not end within a character.
type Escaper struct{ io.Writer }

func (w Escaper) Write(p []byte) (int, error) {
	if _, err := io.WriteString(w.Writer, Escape(string(p))); err != nil {
		return 0, err
	}
	return len(p), nil
}
