package term

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/xstate-engine/xstate/state"
)

// Seconds renders a duration for people, in two or three digits.
func Seconds(s float64) string {
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

// Size renders a number of bytes for people.
func Size(n int64) string {
	switch {
	case n < 1000:
		return fmt.Sprintf("%d B", n)
	case n < 1e6:
		return fmt.Sprintf("%d kB", (n+500)/1000)
	}
	return fmt.Sprintf("%.1f MB", float64(n)/1e6)
}

// Plural renders a number of things.
func Plural(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %ss", n, one)
}

// Shown says which of all things are shown: so many, from one on, counted from 0.
func Shown(one string, from, shown, all int64) string {
	if shown == all || shown <= 0 {
		return Plural(int(all), one)
	}
	return fmt.Sprintf("%ss %d to %d of %d", one, from, from+shown-1, all)
}

// Agent renders the agent of a step, and its model.
func Agent(o state.Origin) string {
	if o.Model == "" {
		return o.Agent
	}
	return strings.TrimSpace(o.Agent + " (" + o.Model + ")")
}

// Indent puts a margin before every line.
func Indent(text, margin string) string {
	text = strings.TrimRight(text, "\n")
	if text == "" {
		return ""
	}
	return margin + strings.ReplaceAll(text, "\n", "\n"+margin) + "\n"
}

// Short cuts a digest for people.
func Short(digest string) string {
	if len(digest) > 12 && !strings.HasPrefix(digest, "!") {
		return digest[:12]
	}
	return digest
}

// Quoted writes an argument as a shell reads it.
func Quoted(arg string) string {
	if arg != "" && !strings.ContainsAny(arg, " \t\n\"'\\$`&|;<>()*?[]{}#~!") {
		return arg
	}
	return "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
}

// LineEnded ends the last line of a text.
func LineEnded(text string) string {
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return text
}
