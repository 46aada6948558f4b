package bash

import (
	"fmt"
	"strconv"
	"strings"

	source "github.com/xstate-engine/xstate/depgraph/bash"
	"github.com/xstate-engine/xstate/state"
)

// snapshot is the state of a shell.
type snapshot struct {
	vars   map[string]declaration // by name; functions by name with "()"
	hidden map[string]string      // key → what restores it, as far as it is unlike a new shell
	raw    [3]string              // the texts that vars was read from

	partial bool     // the rest is as before
	shown   []string // in a partial one: the names that may have other values

	status    []string // $?, $_ and PIPESTATUS
	arguments []string
	flags     string // $-
	aliases   bool   // they are expanded
	jobs      bool   // some run
	draws     []string
	dirs      string
	job       string   // the last process in the background
	process   string   // limits, and builtins that are switched off
	signals   []string // that have a handler
}

// declaration is a variable or function as Bash writes it.
type declaration struct {
	name  string
	attrs string // letters, without "-"
	value string // the text after the name: "=…" or nothing; for a function its text
}

// kindOf names the type of a variable for people.
func kindOf(d declaration) string {
	switch {
	case strings.HasSuffix(d.name, "()"):
		return "function"
	case d.has("A"):
		return "associative array"
	case d.has("a"):
		return "array"
	case d.has("n"):
		return "nameref"
	case d.has("i"):
		return "integer"
	}
	return "text"
}

// text is what declares it in a shell that has nothing of this name.
func (d declaration) text() string {
	if f, is := source.IsFunction(d.name); is {
		text := d.value
		if d.attrs != "" {
			text += "\nbuiltin declare -f" + d.attrs + " " + quote(f)
		}
		return text
	}
	attrs := "--"
	if d.attrs != "" {
		attrs = "-" + d.attrs
	}
	return "declare " + attrs + " " + d.name + d.value
}

// digest names the value, whatever its name.
func (d declaration) digest() state.Digest {
	return state.DigestOf(fmt.Appendf(nil, "bash %s %s", d.attrs, d.value))
}

func (d declaration) has(attr string) bool { return strings.Contains(d.attrs, attr) }

// target returns what a nameref points to.
func (d declaration) target() (name, index string, is bool) {
	if !d.has("n") || len(d.value) < 3 {
		return "", "", false
	}
	name, index, _ = strings.Cut(strings.Trim(d.value[1:], `"`), "[")
	return name, index, true
}

// scalar returns the text of a variable that is not an array.
func (d declaration) scalar() (string, bool) {
	if d.has("a") || d.has("A") || len(d.value) < 2 {
		return "", false
	}
	return unquote(d.value[1:])
}

// ignored are variables that Bash sets by itself, or that the driver has.
func ignored(name string) bool {
	switch name {
	case "BASH_REMATCH", "BASH_ENV", "BASH_COMPAT", "BASH_XTRACEFD", "BASH_LOADABLES_PATH":
		return false
	case "EUID", "UID", "PPID", "GROUPS", "HOSTNAME", "HOSTTYPE", "MACHTYPE", "OSTYPE", "SHELLOPTS", "SHLVL",
		"COMP_WORDBREAKS", "XSTATE_KERNEL_FDS":
		return true
	}
	return strings.HasPrefix(name, "BASH") || strings.HasPrefix(name, "__xs_") || source.IsVolatile(name)
}

// parseVars reads what declare -p shows.
func parseVars(text string, into map[string]declaration) {
	for text != "" {
		rest, is := strings.CutPrefix(text, "declare ")
		if !is {
			_, text, _ = strings.Cut(text, "\n")
			continue
		}
		attrs, rest, _ := strings.Cut(rest, " ")
		end := strings.IndexAny(rest, "=\n")
		if end < 0 {
			return
		}
		d := declaration{name: rest[:end], attrs: strings.Trim(attrs, "-")}
		length := valueLength(rest[end:])
		d.value, text = rest[end:end+length], strings.TrimPrefix(rest[end+length:], "\n")
		if !ignored(d.name) {
			into[d.name] = d
		}
	}
}

// valueLength returns where a value ends: at the first line end that no quotes hold.
func valueLength(text string) int {
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\n':
			return i
		case '\\':
			i++
		case '"':
			for i++; i < len(text) && text[i] != '"'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
		case '\'':
			dollar := i > 0 && text[i-1] == '$'
			for i++; i < len(text) && text[i] != '\''; i++ {
				if text[i] == '\\' && dollar {
					i++
				}
			}
		}
	}
	return len(text)
}

// parseFunctions reads what declare -F and declare -f show, in the same order.
func parseFunctions(names, text string, into map[string]declaration) {
	var list []declaration
	for line := range strings.Lines(names) {
		attrs, name, _ := strings.Cut(strings.TrimSpace(strings.TrimPrefix(line, "declare ")), " ")
		list = append(list, declaration{name: name, attrs: strings.Trim(attrs, "-f")})
	}
	at := 0
	for i, d := range list {
		end := len(text)
		if i+1 < len(list) {
			next := list[i+1].name
			for _, head := range []string{"\n" + next + " () \n", "\nfunction " + next + " () \n"} {
				if n := strings.Index(text[at:], head); n >= 0 {
					end = min(end, at+n+1)
				}
			}
		}
		d.value, at = strings.TrimSuffix(text[at:end], "\n"), end
		if !strings.HasPrefix(d.name, "__xs_") {
			d.name = source.Function(d.name)
			into[d.name] = d
		}
	}
}

// newSnapshot reads the fields of a snapshot. Fields that are as in the one before are not read again.
func newSnapshot(fields []string, before, first *snapshot) (*snapshot, error) {
	s := &snapshot{}
	at := 0
	next := func() string {
		if at++; at > len(fields) {
			return ""
		}
		return fields[at-1]
	}
	list := func() []string {
		n, err := strconv.Atoi(next())
		if err != nil || n < 0 || at+n > len(fields) {
			at = len(fields)
			return nil
		}
		at += n
		return fields[at-n : at]
	}
	traps, options := next(), next()
	s.flags, s.status, s.arguments = next(), list(), list()
	s.raw = [3]string{next(), next(), next()}
	shopts, aliases, umask, dirs, cwd, jobs, process, draws := next(), next(), next(), next(), next(), next(), next(),
		next()
	if at != len(fields) {
		return nil, fmt.Errorf("a snapshot has %d fields", len(fields))
	}
	if before != nil && s.raw == before.raw {
		s.vars = before.vars
	} else {
		s.vars = map[string]declaration{}
		parseVars(s.raw[0], s.vars)
		parseFunctions(s.raw[1], s.raw[2], s.vars)
	}
	s.job, s.process, _ = strings.Cut(process, "\n")
	s.jobs, s.draws, s.dirs = strings.TrimSpace(jobs) != "", strings.Fields(draws), dirs
	base := s.vars
	if first != nil {
		base = first.vars
	}
	s.readHidden(base, traps, options, shopts, aliases, umask, cwd)
	return s, nil
}

// quote returns a text as a word of one line.
func quote(text string) string {
	if text == "" {
		return "''"
	}
	plain := true
	for _, c := range []byte(text) {
		if c < ' ' || c == '\'' || c == '\\' {
			plain = false
		}
	}
	if plain {
		return "'" + text + "'"
	}
	var b strings.Builder
	b.WriteString("$'")
	for _, c := range []byte(text) {
		switch {
		case c == '\'' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c < ' ':
			fmt.Fprintf(&b, "\\%03o", c)
		default:
			b.WriteByte(c)
		}
	}
	return b.String() + "'"
}

// unquote reads a word as declare -p writes it.
func unquote(word string) (string, bool) {
	switch {
	case len(word) >= 2 && word[0] == '"' && word[len(word)-1] == '"':
		return unescape(word[1:len(word)-1], false), true
	case len(word) >= 3 && strings.HasPrefix(word, "$'") && word[len(word)-1] == '\'':
		return unescape(word[2:len(word)-1], true), true
	}
	return word, !strings.ContainsAny(word, "\"'\\$ ")
}

var escapes = map[byte]byte{'n': '\n', 't': '\t', 'a': 7, 'b': 8, 'e': 27, 'E': 27, 'f': 12, 'r': 13, 'v': 11}

func unescape(text string, dollar bool) string {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' || i+1 == len(text) {
			b.WriteByte(text[i])
			continue
		}
		i++
		c := text[i]
		code, known := escapes[c]
		switch {
		case !dollar:
			b.WriteByte(c)
		case c >= '0' && c <= '7':
			n := 0
			end := i
			for end < len(text) && end < i+3 && text[end] >= '0' && text[end] <= '7' {
				n = n*8 + int(text[end]-'0')
				end++
			}
			i = end - 1
			b.WriteByte(byte(n))
		case known:
			b.WriteByte(code)
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}
