package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/xstate-engine/xstate/internal/term"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/query"
)

// tracebackPart is a frame of a library with its lines of source, or any other line of a traceback.
type tracebackPart struct {
	lines   []string
	library string // "" for any other line
}

// tracebackParts splits a traceback.
func tracebackParts(lines []string) []tracebackPart {
	var parts []tracebackPart
	for i := 0; i < len(lines); {
		part, end := tracebackPart{}, i+1
		if m := query.CitedLine.FindStringSubmatch(lines[i]); m != nil && m[5] != "" {
			part.library = libraryOf(m[2])
			for part.library != "" && end < len(lines) && strings.HasPrefix(lines[end], m[1]+"  ") {
				end++
			}
		}
		part.lines = lines[i:end]
		parts, i = append(parts, part), end
	}
	return parts
}

// libraryOf names the package that a file of the interpreter or of an installed package belongs to; "" for other files.
func libraryOf(path string) string {
	for _, folder := range []string{"/site-packages/", "/dist-packages/", "/lib/python3"} {
		_, rest, found := strings.Cut(path, folder)
		if found && folder == "/lib/python3" {
			_, rest, found = strings.Cut(rest, "/") // the rest of the version
		}
		if found {
			name, _, _ := strings.Cut(rest, "/")
			return strings.TrimSuffix(name, ".py")
		}
	}
	return ""
}

// shortTraceback shortens a traceback. Of frames of libraries in a row it keeps the last, without source.
func shortTraceback(lines []string) []string {
	parts := tracebackParts(lines)
	var out, left []string // left: the libraries of frames left out, each once for a frame
	for i, part := range parts {
		switch {
		case part.library == "":
			for _, line := range part.lines {
				out = append(out, strings.TrimRight(line, "\n"))
			}
		case i+1 < len(parts) && parts[i+1].library != "":
			left = append(left, part.library)
		default:
			if len(left) > 0 {
				margin := part.lines[0][:strings.Index(part.lines[0], "File ")]
				text := term.Plural(len(left), "frame")
				slices.Sort(left)
				out = append(out, fmt.Sprintf("%s… %s of %s", margin, text, strings.Join(slices.Compact(left), ", ")))
				left = nil
			}
			out = append(out, part.lines[0])
		}
	}
	return out
}

// frames returns the places that a traceback cites, the outermost first.
func (p *places) frames(lines []string) []state.Frame {
	var found []state.Frame
	for _, line := range lines {
		if f, ok := p.frame(line); ok {
			found = append(found, f)
		}
	}
	return found
}

// explain returns an error with the places of its frames, and a hint at what to do about it.
func (p *places) explain(e *state.ExecError) *state.ExecError {
	if e == nil || p == nil {
		return e
	}
	explained := *e
	explained.Frames, explained.Hint = p.frames(e.Traceback), p.hint(e)
	return &explained
}

// errorText renders an error: its traceback, or without one the error itself; and the hint.
func (p *places) errorText(e *state.ExecError) string {
	text := e.Type + ": " + e.Message
	if len(e.Traceback) > 0 {
		lines := shortTraceback(query.Traceback(p.explain(e)))
		text = strings.TrimRight(strings.Join(lines, "\n"), "\n")
	}
	if hint := p.hint(e); hint != "" {
		text += "\nhint: " + hint
	}
	return text + "\n"
}

// oneLine is the beginning of a text, without its ends of lines.
func oneLine(text string) string {
	text = strings.ReplaceAll(strings.TrimSpace(text), "\n", "⏎")
	if r := []rune(text); len(r) > 160 {
		text = string(r[:160]) + "…"
	}
	if text == "" {
		return "nothing"
	}
	return text
}
