package patch

import "strings"

// replacement replaces bytes of a text. It is the result of finding a hunk.
type replacement struct {
	start, end int
	text       string
	how        Strictness
	loose      bool // a piece of text was found as whole lines
	line       int  // the line of start, from 0
	hunk       int  // the hunk of the section, from 0
}

// locator finds the hunks of one section in one text.
type locator struct {
	*lineIndex
	name    string
	ordered bool // hunks come in the order of the text
	more    bool // text written by earlier hunks is searched next, so similarity does not count yet
	after   int  // the line after the last hunk found; the search for a hunk in file order starts here
	shift   int  // how many lines below its stated line that hunk was
}

// lastEnd gives the last line of the text a line end if the hunk says so or if it had one before.
func (l *locator) lastEnd(h *Hunk, text, end string) string {
	ended := l.ended()
	if h.Manner == ByLines && (!strings.HasSuffix(h.Old, "\n") || h.New != "" && !strings.HasSuffix(h.New, "\n")) {
		ended = strings.HasSuffix(h.New, "\n")
	}
	if text == "" {
		return ""
	}
	text = strings.TrimSuffix(strings.TrimSuffix(text, "\n"), "\r")
	if ended {
		text += end
	}
	return text
}

func bares(lines []string) []string {
	out := make([]string, len(lines))
	for i, line := range lines {
		out[i] = bare(line)
	}
	return out
}
