package term

import (
	"encoding/json"
	"fmt"
	"io"
	"sync"
	"unicode/utf8"

	"golang.org/x/term"

	"github.com/xstate-engine/xstate/internal/api"
	"github.com/xstate-engine/xstate/internal/wording"
)

// UI writes what a verb has to say. Its methods may be called by several goroutines.
type UI struct {
	JSON        bool // results are documents, and remarks are silent
	Lines       bool // so are events, a document a line
	Quiet       bool // remarks are silent
	OutTerminal bool // Out is a terminal
	ErrTerminal bool // so is where remarks go
	colour      bool
	Pictures    pictureProtocol // the way in which Out takes pictures
	Door        wording.Door    // the door of the call; hints have its words

	// Answer and Follow take the document and the events as values, in place of Out; nil: they are printed.
	Answer func(doc any)
	Follow func(e api.Event)

	mu       sync.Mutex // guards both writers and the progress line
	Out, err io.Writer
	line     string // the progress line on display, "" when there is none
}

// New returns a UI for a caller at a door. env looks up a variable of the caller's environment.
func New(env func(string) string, door wording.Door, out, errOut io.Writer) *UI {
	u := &UI{Out: out, err: errOut, OutTerminal: isTerminal(out), ErrTerminal: isTerminal(errOut), Door: door}
	u.colour = u.OutTerminal && env("NO_COLOR") == "" && env("TERM") != "dumb"
	if u.OutTerminal {
		u.Pictures = protocolOf(env)
	}
	return u
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(Descriptor)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Talk prints a remark in passing.
func (u *UI) Talk(format string, args ...any) {
	if u.Quiet || u.JSON {
		return
	}
	u.Say("xstate: " + fmt.Sprintf(format, args...) + "\n")
}

// Say prints a remark that --quiet and --json leave: an error, a question.
func (u *UI) Say(text string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.clearLocked()
	io.WriteString(u.err, EscapeUnstyled(text))
}

// Print prints a result.
func (u *UI) Print(format string, args ...any) { u.Write(fmt.Sprintf(format, args...)) }

// Write prints a result as it is, but for what a terminal would act on.
func (u *UI) Write(text string) { u.Verbatim(EscapeUnstyled(text)) }

// Text prints a result, with the line ended.
func (u *UI) Text(text string) { u.Write(LineEnded(text)) }

// Verbatim prints what a program put out, as it is.
func (u *UI) Verbatim(text string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.clearLocked()
	io.WriteString(u.Out, text)
}

// File prints what is a file for other programs. It is exact unless a terminal shows it.
func (u *UI) File(text string) {
	if u.OutTerminal {
		text = Escape(text)
	}
	u.Verbatim(text)
}

// Document prints the one document.
func (u *UI) Document(doc any) error {
	if u.Answer != nil {
		u.Answer(doc)
		return nil
	}
	if u.Lines {
		doc = api.LastEvent(doc)
	}
	return u.encode(doc)
}

func (u *UI) encode(doc any) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	e := json.NewEncoder(u.Out)
	e.SetEscapeHTML(false)
	if err := e.Encode(doc); err != nil {
		return fmt.Errorf("print document: %w", err)
	}
	return nil
}

// Event prints an event, if events are asked for.
func (u *UI) Event(e api.Event) {
	if u.Lines && e.Event != "failed" { // the last document has the errors
		e.Version = api.Version
		if u.Follow != nil {
			u.mu.Lock()
			defer u.mu.Unlock()
			u.Follow(e)
			return
		}
		_ = u.encode(e) // the last document reports a reader that is gone
	}
}

// Progress replaces the progress line; "" takes it away.
func (u *UI) Progress(line string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if line == u.line {
		return
	}
	u.clearLocked()
	if width := WidthOf(u.err); utf8.RuneCountInString(line) >= width {
		line = string([]rune(line)[:width-1])
	}
	u.line = line
	io.WriteString(u.err, Escape(line))
}

func (u *UI) clearLocked() {
	if u.line != "" {
		io.WriteString(u.err, "\r\x1b[K")
		u.line = ""
	}
}

// Bold, Faint and Red style a text where results are coloured.
func (u *UI) Bold(text string) string  { return u.style("1", text) }
func (u *UI) Faint(text string) string { return u.style("2", text) }
func (u *UI) Red(text string) string   { return u.style("31", text) }

func (u *UI) style(code, text string) string {
	if !u.colour || text == "" {
		return text
	}
	return styled(code) + text + styled("0")
}
