package wording

import (
	"regexp"
	"strings"
)

// Door is how a reader came to the engine.
type Door int

// The doors. The zero value is the command line.
const (
	CommandLine Door = iota
	Tools            // of an agent, over MCP
	API              // and the clients that are made of it
	Program          // a program that handles an exception; what is recorded has these words
)

// way finds the ways of a text. Other backticks, such as fences, are left alone.
var way = regexp.MustCompile("`((?:xstate |--)[^`]*)`")

// between are the ends of clauses. What comes after them can be done instead, or too.
var between = regexp.MustCompile(`; |, or `)

// Hint words a hint for a door. Clauses with ways that the door does not have are left out, if others are left.
func (d Door) Hint(hint string) string {
	if d == CommandLine || !way.MatchString(hint) {
		return d.Text(hint)
	}
	var kept, all string
	ends := append(between.FindAllStringIndex(hint, -1), []int{len(hint), len(hint)})
	begin, joint := 0, ""
	for _, end := range ends {
		text, known := d.clause(hint[begin:end[0]])
		all += joint + text
		if known && kept == "" {
			kept = strings.TrimPrefix(text, "or ")
		} else if known {
			kept += joint + text
		}
		begin, joint = end[1], hint[end[0]:end[1]]
	}
	if kept == "" {
		return all
	}
	return kept
}

// Text words the ways of any text for a door, and leaves nothing out.
func (d Door) Text(text string) string {
	worded, _ := d.clause(text)
	return worded
}

// clause words the ways of a text, and reports whether the door has them all.
func (d Door) clause(text string) (worded string, known bool) {
	known = true
	worded = way.ReplaceAllStringFunc(text, func(marked string) string {
		command := strings.Trim(marked, "`")
		if d == CommandLine {
			return command
		}
		own, has := parse(command).in(d)
		known = known && has
		return own
	})
	return worded, known
}

// flag and verbName find flags and verbs in sentences of others.
var (
	flag     = regexp.MustCompile(`--([a-z][a-z-]*)`)
	verbName = regexp.MustCompile(`\bxstate ([a-z]+)`)
)

// Misuse words the message of an error about flags or arguments. Some are made by the library that reads flags, which
// knows of no door.
func (d Door) Misuse(message string) string {
	message = d.Text(message)
	if d == CommandLine {
		return message
	}
	message = verbName.ReplaceAllString(message, "$1")
	return flag.ReplaceAllStringFunc(message, func(f string) string { return underscored(f[2:]) })
}

func underscored(flag string) string { return strings.ReplaceAll(flag, "-", "_") }
