package main

// The output rules.
//
//   - Results go to stdout, talk goes to stderr, in lower case and prefixed "xstate: ". A hint is a line of its own,
//     prefixed "hint: ".
//   - With --json exactly one document goes to stdout, versioned, and talk is silent: notices are in the document.
//     An error is {"version":1,"error":{"code","message","hint"}}, and is told on stderr, too.
//   - Colour, progress, pictures and the streaming of output and errors are for terminals only. NO_COLOR is heeded.
//   - Tables fit the terminal: what is long is cut. Elsewhere nothing is cut.
//   - --quiet silences all talk but errors.
//   - Text of others is written so that a terminal does not act on it (shown.go).
//   - What a program printed is shown as it is: nothing is cut, wrapped or coloured. Only the places in blocks that
//     tracebacks and warnings cite become places in the file. And a data frame that is wider than the terminal is cut
//     there, because a table that the terminal wraps cannot be read.
//   - Blocks are counted from 1 for people and from 0 in documents.
//   - Numbers of seconds are for people; documents carry seconds as numbers.

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"golang.org/x/term"

	"github.com/xstate-engine/xstate/internal/api"
	"github.com/xstate-engine/xstate/internal/wording"
)

type ui struct {
	json, quiet bool
	lines       bool // --json-lines
	outTerminal bool
	errTerminal bool
	colour      bool
	pictures    protocol
	door        wording.Door

	mu       sync.Mutex // guards both writers and the progress line
	out, err io.Writer
	line     string // the progress line on display, "" when there is none
}

// newUI returns what writes for a caller at a door, who has the variables of env.
func newUI(env func(string) string, door wording.Door, out, errOut io.Writer) *ui {
	u := &ui{out: out, err: errOut, outTerminal: isTerminal(out), errTerminal: isTerminal(errOut), door: door}
	u.colour = u.outTerminal && env("NO_COLOR") == "" && env("TERM") != "dumb"
	if u.outTerminal {
		u.pictures = protocolOf(env)
	}
	return u
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(descriptor)
	return ok && term.IsTerminal(int(f.Fd()))
}

// talk prints a remark in passing.
func (u *ui) talk(format string, args ...any) {
	if u.quiet || u.json {
		return
	}
	u.say("xstate: " + fmt.Sprintf(format, args...) + "\n")
}

func (u *ui) say(text string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.clearLocked()
	io.WriteString(u.err, shownStyled(text))
}

// print prints a result.
func (u *ui) print(format string, args ...any) { u.write(fmt.Sprintf(format, args...)) }

func (u *ui) write(text string) { u.verbatim(shownStyled(text)) }

// text prints a result, with the line ended.
func (u *ui) text(text string) { u.write(lineEnded(text)) }

// verbatim prints what a program put out, as it is.
func (u *ui) verbatim(text string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.clearLocked()
	io.WriteString(u.out, text)
}

// file prints what is a file for other programs. It is exact unless a terminal shows it.
func (u *ui) file(text string) {
	if u.outTerminal {
		text = shown(text)
	}
	u.verbatim(text)
}

func lineEnded(text string) string {
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return text
}

// document prints the one document.
func (u *ui) document(doc any) error {
	if u.lines {
		doc = lastEvent(doc)
	}
	return u.encode(doc)
}

func (u *ui) encode(doc any) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	e := json.NewEncoder(u.out)
	e.SetEscapeHTML(false)
	if err := e.Encode(doc); err != nil {
		return fmt.Errorf("print document: %w", err)
	}
	return nil
}

// event prints an event, if events are asked for.
func (u *ui) event(e api.Event) {
	if u.lines && e.Event != "failed" { // the last document has the errors
		e.Version = api.Version
		_ = u.encode(e) // of a reader that is gone the last document tells
	}
}

// lastEvent returns a verb's document as the last event.
func lastEvent(doc any) any {
	e := api.Event{Version: api.Version, Event: "done"}
	switch doc := doc.(type) {
	case *api.Exec:
		e.Exec = doc
	case *api.Run:
		e.Result = doc
	case api.Failure:
		e.Event, e.Error = "error", &doc.Error
	default:
		return doc
	}
	return e
}

// progress replaces the progress line; "" takes it away.
func (u *ui) progress(line string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if line == u.line {
		return
	}
	u.clearLocked()
	if width := widthOf(u.err); utf8.RuneCountInString(line) >= width {
		line = string([]rune(line)[:width-1])
	}
	u.line = line
	io.WriteString(u.err, shown(line))
}

func (u *ui) clearLocked() {
	if u.line != "" {
		io.WriteString(u.err, "\r\x1b[K")
		u.line = ""
	}
}

func (u *ui) bold(text string) string  { return u.style("1", text) }
func (u *ui) faint(text string) string { return u.style("2", text) }
func (u *ui) red(text string) string   { return u.style("31", text) }

func (u *ui) style(code, text string) string {
	if !u.colour || text == "" {
		return text
	}
	return styled(code) + text + styled("0")
}

// seconds renders a duration for people, in two or three digits.
func seconds(s float64) string {
	switch {
	case s < 0.0005:
		return "<1 ms"
	case s < 0.0995:
		return fmt.Sprintf("%.0f ms", s*1000)
	case s < 9.995:
		return fmt.Sprintf("%.2f s", s)
	case s < 60:
		return fmt.Sprintf("%.1f s", s)
	}
	return (time.Duration(math.Round(s)) * time.Second).String()
}

// size renders a number of bytes for people.
func size(n int64) string {
	switch {
	case n < 1000:
		return fmt.Sprintf("%d B", n)
	case n < 1e6:
		return fmt.Sprintf("%d kB", (n+500)/1000)
	}
	return fmt.Sprintf("%.1f MB", float64(n)/1e6)
}

// plural renders a number of things.
func plural(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %ss", n, one)
}

// indent puts a margin before every line.
func indent(text, margin string) string {
	text = strings.TrimRight(text, "\n")
	if text == "" {
		return ""
	}
	return margin + strings.ReplaceAll(text, "\n", "\n"+margin) + "\n"
}

// short cuts a digest for people.
func short(digest string) string {
	if len(digest) > 12 && !strings.HasPrefix(digest, "!") {
		return digest[:12]
	}
	return digest
}

// quoted writes an argument as a shell reads it.
func quoted(arg string) string {
	if arg != "" && !strings.ContainsAny(arg, " \t\n\"'\\$`&|;<>()*?[]{}#~!") {
		return arg
	}
	return "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
}
