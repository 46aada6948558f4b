package source

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/xstate-engine/xstate/runner/journal"
	"github.com/xstate-engine/xstate/state"
)

// line is one line of a script: what a model that is none answers. The first line that fits the last message counts.
type line struct {
	Match   string          `json:"match"`  // a part of the message; "": each one
	Regexp  string          `json:"regexp"` // that the message fits
	Reply   json.RawMessage `json:"reply"`  // a text, or JSON where a schema asks for it
	Error   string          `json:"error"`  // why no answer comes
	Refusal string          `json:"refusal"`
	Delay   string          `json:"delay"` // before the answer, such as "100ms"
	Usage   *state.Usage    `json:"usage"` // nil: a token for each four bytes

	pattern *regexp.Regexp
	delay   time.Duration
}

// scriptVersion names a script by what it says.
func scriptVersion(name string) string {
	data, err := os.ReadFile(name)
	if err != nil {
		return "script"
	}
	return "script " + string(state.DigestOf(data))
}

// readScript reads the lines of a script.
func readScript(name string) (lines []line, err error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	scanner := bufio.NewScanner(bytes.NewReader(data))
	scanner.Buffer(nil, len(data)+1)
	for n := 1; scanner.Scan(); n++ {
		if len(bytes.TrimSpace(scanner.Bytes())) == 0 {
			continue
		}
		l, err := readLine(scanner.Bytes())
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, n, err)
		}
		lines = append(lines, l)
	}
	return lines, scanner.Err()
}

func readLine(text []byte) (l line, err error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&l); err != nil {
		return l, err
	}
	said := 0
	for _, is := range []bool{len(l.Reply) > 0, l.Error != "", l.Refusal != ""} {
		if is {
			said++
		}
	}
	if said != 1 {
		return l, errors.New("a line has one of reply, error and refusal")
	}
	if l.Regexp != "" {
		if l.pattern, err = regexp.Compile(l.Regexp); err != nil {
			return l, err
		}
	}
	if l.Delay != "" {
		l.delay, err = time.ParseDuration(l.Delay)
	}
	return l, err
}

// fits reports whether a line answers a message.
func (l *line) fits(message string) bool {
	return strings.Contains(message, l.Match) && (l.pattern == nil || l.pattern.MatchString(message))
}

// recite answers a prompt from a script.
func recite(ctx context.Context, o *Options, script string, p prompt, onPiece func(string)) (r reply, err error) {
	lines, err := readScript(script)
	if err != nil {
		return r, notSent{&state.Error{Code: journal.CodeLost, Message: "the script cannot be read: " + err.Error(),
			Hint: "docs/calls.md says what stands in a line"}}
	}
	last := p.Messages[len(p.Messages)-1].text()
	for _, l := range lines {
		if l.fits(last) {
			return l.perform(ctx, o, p, onPiece)
		}
	}
	return r, notSent{fmt.Errorf("no line of the script fits %.200q", last)}
}

// perform does what a line says.
func (l *line) perform(ctx context.Context, o *Options, p prompt, onPiece func(string)) (r reply, err error) {
	if l.delay > 0 {
		if err := o.Wait(ctx, l.delay); err != nil {
			return r, err
		}
	}
	for _, x := range p.Messages {
		r.input += int64(len(x.text())+3) / 4
	}
	switch {
	case l.Error != "":
		return reply{}, errors.New(l.Error)
	case l.Refusal != "":
		r.text, r.refused = l.Refusal, true
	case json.Unmarshal(l.Reply, &r.text) != nil || p.Schema != nil && json.Valid([]byte(r.text)):
		if r.value = l.Reply; r.text != "" {
			r.value = json.RawMessage(r.text)
		}
		r.text = string(r.value)
	}
	r.output = int64(len(r.text)+3) / 4
	if l.Usage != nil {
		r.input, r.output = l.Usage.InputTokens, l.Usage.OutputTokens
	}
	if onPiece != nil {
		for _, word := range strings.SplitAfter(r.text, " ") {
			onPiece(word)
		}
	}
	return r, nil
}
