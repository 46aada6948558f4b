package term

import "testing"

func TestEscape(t *testing.T) {
	for text, want := range map[string]string{
		"plain ä→🙂\n\t":      "plain ä→🙂\n\t",
		"\x1b]0;x\x07":       `\x1b]0;x\x07`,
		"a\rb\r\nc\x00":      `a\x0db` + "\n" + `c\x00`,
		"\u009b31m\x7f":      `\x9b31m\x7f`,
		"\x9b\xff\ufffd":     `\x9b\xff` + "\ufffd",
		"\u202eevil\u2066":   `\u202eevil\u2066`,
		"\x1b[31m" + "red":   `\x1b[31mred`,
		"\x1b[31;9000000mr ": `\x1b[31;9000000mr `,
	} {
		if got := EscapeUnstyled(text); got != want {
			t.Errorf("EscapeUnstyled(%q) = %q, want %q", text, got, want)
		}
	}
	u := &UI{colour: true}
	want := "\x1b[1ma\\x1b[2m\x1b[0m\x1b[31mb\x1b[0m"
	if got := EscapeUnstyled(u.Bold("a\x1b[2m") + u.Red("b")); got != want {
		t.Errorf("styles of this process = %q, want %q", got, want)
	}
	if got, want := EscapeUnstyled(Cut(u.Bold("long text"), 5)), "\x1b[1mlong…\x1b[0m"; got != want {
		t.Errorf("a style that is cut = %q, want %q", got, want)
	}
}
