package wording

import (
	"regexp"
	"slices"
	"strings"
)

// way finds the ways of a text. Other backticks, such as fences, are left alone.
var way = regexp.MustCompile("`((?:xstate |--)[^`]*)`")

// between are the ends of clauses. The next clause can be done instead, or too.
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

// command is a way as the command line writes it, taken apart.
type command struct {
	verb   string // "": only flags
	values []value
}

// value is a flag or an argument of a command. The name of an argument is "".
type value struct {
	name, text string
}

// parse takes a command apart. The words after a flag, up to the next one, are its value, unless it is a switch.
func parse(text string) command {
	var c command
	words := split(text)
	if words[0] == "xstate" {
		words = words[1:]
		if len(words) > 0 && !strings.HasPrefix(words[0], "--") {
			c.verb, words = words[0], words[1:]
		}
	}
	for _, w := range words {
		last := len(c.values) - 1
		switch name, text, _ := strings.Cut(w, "="); {
		case strings.HasPrefix(name, "--") && name != "--":
			c.values = append(c.values, value{name[2:], text})
		case last >= 0 && c.values[last].name != "" && c.values[last].text == "" &&
			!slices.Contains(switches, c.values[last].name):
			c.values[last].text = w
		default:
			c.values = append(c.values, value{"", w})
		}
	}
	return c
}

// split cuts a command into words, as a shell does. Quotes stay.
func split(text string) (words []string) {
	quoted, begun := false, 0
	for i, r := range text {
		switch {
		case r == '\'':
			quoted = !quoted
		case r == ' ' && !quoted:
			words, begun = append(words, text[begun:i]), i+1
		}
	}
	return slices.DeleteFunc(append(words, text[begun:]), func(w string) bool { return w == "" })
}

// in words a command for a door, and reports whether the door has it.
func (c command) in(d Door) (text string, known bool) {
	v, known := c.known(d)
	if !known {
		v = verb{name: c.verb}
	}
	var with []string
	arguments := v.arguments
	for _, x := range c.values {
		name := x.name
		switch {
		case name != "" && known:
			name = v.flags[name]
		case name != "":
			name = underscored(name)
		case len(arguments) > 0:
			name, arguments = arguments[0], arguments[1:]
		}
		if x.name == "" && (x.text == "FILE" || x.text == "--") {
			continue // the program of the session
		}
		if text := strings.TrimSpace(name + " " + x.text); text != "" {
			with = append(with, text)
		}
	}
	text = v.name
	if text != "" && len(with) > 0 {
		text += " with "
	}
	text += strings.Join(with, " and ")
	if !known && d != Program {
		text += " on the command line"
	}
	return text, known
}

// known returns the verb that a door has for a command, with all its flags and arguments.
func (c command) known(d Door) (verb, bool) {
	for _, v := range verbs[d] {
		if c.verb != "" && c.verb != v.command || c.verb == "" && len(c.values) == 0 {
			continue
		}
		arguments, has := 0, true
		for _, x := range c.values {
			if x.name == "" && x.text != "FILE" {
				arguments++
			} else if _, ok := v.flags[x.name]; x.name != "" && !ok {
				has = false
			}
		}
		if !has || arguments > len(v.arguments) {
			continue
		}
		if c.verb == "" {
			v.name = ""
		}
		return v, true
	}
	return verb{}, false
}
