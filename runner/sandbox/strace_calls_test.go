//go:build linux

package sandbox

import (
	"bufio"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
)

// straceCall is one call that strace saw. The calls are in the order in which they were entered: that is when the
// supervisor is asked.
type straceCall struct {
	pid   int
	name  string
	args  []string
	value string // what it returned; "" where it did not return
	errno string // "ENOENT"
	path  string // of the descriptor that it returned
}

// failed says that the call had no effect.
func (c *straceCall) failed() bool { return c.errno != "" }

// arg is an argument; "" where there is none.
func (c *straceCall) arg(i int) string {
	if i >= 0 && i < len(c.args) {
		return c.args[i]
	}
	return ""
}

var (
	straceLine    = regexp.MustCompile(`^(\d+) +(.*)$`)
	straceEntry   = regexp.MustCompile(`^([a-z0-9_]+|\?\?\?)\(`)
	straceResumed = regexp.MustCompile(`^<\.\.\. (?:[a-z0-9_]+|\?\?\?) resumed>`)
	superseded    = regexp.MustCompile(`^\+\+\+ superseded by execve in pid (\d+) \+\+\+`)
	straceResult  = regexp.MustCompile(`^\) += (\?|-?\d+|0x[0-9a-f]+)(<(?:[^>]|->)*>(?:\(deleted\))?)?` +
		`(?: ([A-Z0-9_]+)\b.*| \(.*\)| <unavailable>)?$`)
)

const unfinished = " <unfinished ...>"

// parseStrace reads what strace -f -y -o wrote.
func parseStrace(r io.Reader) ([]*straceCall, error) {
	var calls []*straceCall
	open := map[int]*straceCall{} // entered and not yet returned, by thread
	text := map[int]string{}      // what was printed of it
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		m := straceLine.FindStringSubmatch(lines.Text())
		if m == nil {
			return nil, fmt.Errorf("no process: %s", lines.Text())
		}
		pid, _ := strconv.Atoi(m[1])
		rest := m[2]
		// A thread's execve ends all others and takes their number.
		if s := superseded.FindStringSubmatch(rest); s != nil {
			from, _ := strconv.Atoi(s[1])
			open[pid], text[pid] = open[from], text[from]
			delete(open, from)
			continue
		}
		if strings.HasPrefix(rest, "+++ ") || strings.HasPrefix(rest, "--- ") {
			continue
		}
		if s := straceResumed.FindString(rest); s != "" {
			if open[pid] == nil {
				return nil, fmt.Errorf("resumes nothing: %s", lines.Text())
			}
			rest = text[pid] + rest[len(s):]
		} else if s := straceEntry.FindStringSubmatch(rest); s != nil {
			open[pid] = &straceCall{pid: pid, name: s[1]}
			calls = append(calls, open[pid])
		} else {
			return nil, fmt.Errorf("no call: %s", lines.Text())
		}
		if before, ok := strings.CutSuffix(rest, unfinished); ok {
			text[pid] = before
			if err := open[pid].parse(before, false); err != nil {
				return nil, err
			}
			continue
		}
		if err := open[pid].parse(rest, true); err != nil {
			return nil, err
		}
		delete(open, pid)
	}
	return calls, lines.Err()
}

// parse reads name(arguments) = result. A call that has not returned has neither ) nor result.
func (c *straceCall) parse(line string, returned bool) error {
	rest := line[len(c.name)+1:]
	var end int
	c.args, end = splitArguments(rest)
	if !returned {
		return nil
	}
	m := straceResult.FindStringSubmatch(rest[end:])
	if m == nil {
		return fmt.Errorf("no result: %s", line)
	}
	c.value, c.errno = m[1], m[3]
	if !strings.HasSuffix(m[2], "(deleted)") {
		c.path = annotated(m[2])
	}
	if c.value != "-1" {
		c.errno = "" // flags in words: "0x1 (flags FD_CLOEXEC)"
	}
	if c.value == "?" {
		c.value = ""
	}
	return nil
}

// splitArguments cuts the arguments of a call at commas that are in no quotes, brackets or annotations, and says where
// the closing parenthesis is.
func splitArguments(s string) (args []string, end int) {
	start, depth := 0, 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '"':
			i = quoteEnd(s, i)
		case '<':
			if i > 0 && (s[i-1] >= '0' && s[i-1] <= '9' || s[i-1] == 'D') && !strings.HasPrefix(s[i:], "<<") {
				i = annotationEnd(s, i)
			}
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			if depth == 0 {
				return appendArgument(args, s[start:i]), i
			}
			depth--
		case ',':
			if depth == 0 {
				args = appendArgument(args, s[start:i])
				start = i + 1
			}
		}
	}
	return appendArgument(args, s[start:]), len(s)
}

func appendArgument(args []string, a string) []string {
	if a = strings.TrimSpace(a); a == "" && len(args) == 0 {
		return args
	}
	return append(args, a)
}

// quoteEnd is the place of the quote that closes the one at i.
func quoteEnd(s string, i int) int {
	for i++; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '"':
			return i
		}
	}
	return len(s)
}

// annotationEnd is the place of the > that closes the < at i. In a path strace writes > as an escape; an arrow
// in the name of a socket is no end.
func annotationEnd(s string, i int) int {
	for i++; i < len(s); i++ {
		if s[i] == '"' {
			i = quoteEnd(s, i)
		} else if s[i] == '>' && s[i-1] != '-' {
			return i
		}
	}
	return len(s)
}

// quoted is the text of a string argument; ok is false where it is no string: an address that cannot be read.
func quoted(arg string) (text string, ok bool) {
	if !strings.HasPrefix(arg, `"`) {
		return "", false
	}
	return unescape(arg[1:quoteEnd(arg, 0)]), true
}

// annotated is the path that strace -y wrote after a descriptor, or "".
func annotated(arg string) string {
	arg = strings.TrimSuffix(arg, "(deleted)")
	i := strings.IndexByte(arg, '<')
	if i < 0 || !strings.HasSuffix(arg, ">") {
		return ""
	}
	return unescape(arg[i+1 : len(arg)-1])
}

// unescape reads the escapes of C, with octal numbers of one to three digits.
func unescape(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b.WriteByte(s[i])
			continue
		}
		i++
		if at := strings.IndexByte("abtnvfr", s[i]); at >= 0 {
			b.WriteByte("\a\b\t\n\v\f\r"[at])
			continue
		}
		n := 0
		for n < 3 && i+n < len(s) && s[i+n] >= '0' && s[i+n] <= '7' {
			n++
		}
		if n == 0 {
			b.WriteByte(s[i])
			continue
		}
		v, _ := strconv.ParseUint(s[i:i+n], 8, 16)
		b.WriteByte(byte(v))
		i += n - 1
	}
	return b.String()
}
