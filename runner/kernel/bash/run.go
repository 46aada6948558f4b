package bash

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	source "github.com/xstate-engine/xstate/depgraph/bash"
	"github.com/xstate-engine/xstate/runner/kernel"
	"github.com/xstate-engine/xstate/state"
)

// Dialects of the nodes that hand values over, see package mixed.
const (
	give = "xstate/give"
	take = "xstate/take"
)

// run executes a node. The error errEnded says that the shell died.
func (sh *shell) run(n kernel.Node) (seen kernel.Observation, err error) {
	switch n.Dialect {
	case give:
		return sh.give(n)
	case take:
		return sh.take_(n)
	}
	sh.unbound = map[string]bool{}
	for _, name := range n.Unbound {
		sh.unbound[name] = true
	}
	text := string(n.Text)
	if n.End {
		text = "exit"
	}
	u := sh.usesOf(text)
	if again := sh.lacking(u, n); len(again) > 0 {
		err := sh.peer.Send("result", map[string]any{"unbound": true}, nil)
		return kernel.Observation{Retry: kernel.Retry{Again: again}}, err
	}
	if err := sh.flush(); err != nil {
		return seen, err
	}
	sh.clearOutputs()
	before, v := sh.live, sh.viewAfter(u, text)
	if n.MayOmitMarks && v.partial && !u.outside && !u.files && !u.programs && !u.exported && !u.pipes {
		n.Observed = 0
	}
	files, there := sh.filesBefore(u)
	if !there {
		seen.Files.Used = files.used
		return seen, sh.peer.Send("result", map[string]any{"unbound": true}, nil)
	}
	began := time.Now()
	after, err := sh.execute(sh.prefix(u, n, text), sh.body(u, n, text), n.Line, v)
	r := kernel.Result{Seconds: time.Since(began).Seconds()}
	code := 0
	if err != nil && !errors.Is(err, errEnded) {
		return seen, err
	}
	closed := err != nil && sh.closedDriver()
	if err != nil && !closed {
		by := syscall.Signal(0)
		code, by = sh.peer.Exited()
		if closed = by == syscall.SIGSYS; by != 0 && !closed { // driver.sh sends itself that signal
			return seen, errEnded
		}
	}
	said := sh.endOfErrors()
	sh.sendOutputs()
	switch {
	case closed:
		r.Failure = &kernel.Failure{Type: typeShell, Message: fmt.Sprintf(
			"the block closed the descriptors %d to %d, by which xstate drives Bash", sh.driven, sh.driven+2)}
		sh.gone.Store(true)
	case after == nil:
		r.Failure, r.Ending = sh.ending(u, n, code, said)
		sh.gone.Store(true)
	case len(after.status) > 0 && after.status[0] != "0":
		r.Failure = syntaxFailure(said)
	}
	if err := sh.peer.Send("result", map[string]any{
		"seconds": r.Seconds, "error": r.Failure, "ending": r.Ending, "interrupted": false, "unbound": false,
	}, nil); err != nil {
		return seen, err
	}
	seen.Result = r
	if u.lines || shellError.MatchString(said) {
		seen.Cites = sh.cites(u, n, before)
	}
	if after != nil {
		if u.definition && len(after.status) > 1 && len(before.status) > 1 { // it executes nothing, and so leaves $_
			after.status[1] = before.status[1]
			after.keepStatus()
		}
		sh.define(u, n, after)
		sh.computedUnseen(u, after)
	}
	sh.readsInput(&seen, u, after)
	sh.reads(&seen, u, before)
	sh.marks(&seen, u, n)
	if after != nil {
		after.keepAttributes(before)
	}
	sh.filesAfter(&seen, u, files, after)
	if after != nil {
		if sh.live.handlesDebug() || after.handlesDebug() {
			seen.Marks = append(seen.Marks, "unobserved handler of DEBUG") // the driver's commands call it, too
		}
		sh.live = after
		if r.Failure == nil {
			sh.writes(&seen, u, n, before, after)
		}
	} else if sh.busy {
		seen.Modules = []string{"process"}
	}
	if n.Observed != 0 && after != nil {
		seen.Files.Marked = n.Observed
	}
	return seen, nil
}

// lacking returns names that the node may use, that have a value, and that the shell was not given.
func (sh *shell) lacking(u *uses, n kernel.Node) (again []string) {
	if u.everything {
		return n.Unbound
	}
	ask := func(name string) {
		if sh.unbound[name] && !slices.Contains(again, name) {
			again = append(again, name)
		}
	}
	for name := range u.names {
		ask(name)
	}
	if u.exported {
		ask(source.Exports)
		if sh.owned[source.Exports] {
			for _, name := range exported(sh.exports) {
				ask(name)
			}
		}
	}
	slices.Sort(again)
	return again
}

// hideDriver removes the driver's functions. A node that lists functions would show them, and one that removes all
// functions would end the driver, which defines them again: see showAll.
const hideDriver = "builtin unset -f __xs_b __xs_f __xs_k __xs_m __xs_r __xs_s __xs_v __xs_z; "

// prefix returns what is executed before a node, on its first line: the options and handlers that the driver took, and
// the exit codes that the node may ask for.
func (sh *shell) prefix(u *uses, n kernel.Node, text string) string {
	var b strings.Builder
	if n.Observed != 0 {
		fmt.Fprintf(&b, "__xs_b %d; ", n.Observed)
	} else {
		b.WriteString("__xs_n=; ")
	}
	if u.draws {
		b.WriteString("__xs_d=1; ")
	} else {
		b.WriteString("__xs_d=; ")
	}
	if u.everything {
		b.WriteString(hideDriver)
	}
	debug := ""
	for line := range strings.Lines(oneLine(sh.live.hidden[keyTraps])) {
		if line = strings.TrimSpace(line); strings.HasSuffix(line, " DEBUG") {
			debug = line + "; "
		} else {
			b.WriteString(line + "; ")
		}
	}
	options := sh.live.onOptions()
	if options != "" {
		b.WriteString("builtin set -" + options + "; ")
	}
	status := ""
	if u.status || u.everything || u.last {
		status = sh.statusText(u)
	}
	trace := ""
	for _, letter := range []string{"x", "v"} {
		if sh.live.flag(letter) {
			trace += letter
		}
	}
	if trace != "" {
		fmt.Fprintf(&b, "{ builtin set -%s; %s } 2>/dev/null; ", trace, status)
	} else {
		b.WriteString(status)
	}
	b.WriteString(debug)
	return b.String()
}

// oneLine returns handlers with each on one line.
func oneLine(text string) string {
	var b strings.Builder
	for text != "" {
		n := valueLength(text)
		line := text[:n]
		if strings.Contains(line, "\n") {
			at := strings.LastIndexByte(line, ' ')
			word := strings.TrimSuffix(strings.TrimPrefix(line[:at], "builtin trap -- '"), "'")
			line = "builtin trap -- " + quote(strings.ReplaceAll(word, `'\''`, "'")) + line[at:]
		}
		b.WriteString(line + "\n")
		text = strings.TrimPrefix(text[n:], "\n")
	}
	return b.String()
}

// statusText returns what leaves the exit codes, and the last argument, that the node before left. A failure in a list
// or a condition ends no shell under set -e.
func (sh *shell) statusText(u *uses) string {
	s := sh.live.status
	if len(s) < 3 {
		return ""
	}
	if u.last {
		return ": " + quote(s[1]) + "; "
	}
	code, codes := s[0], s[2:]
	last := codes[len(codes)-1]
	if len(codes) == 1 && code == "0" && last == "0" {
		return ""
	}
	if len(codes) == 1 && code != "0" {
		codes = []string{code}
	}
	pipeline := "__xs_s " + strings.Join(codes, " | __xs_s ")
	if u.everything { // hideDriver has removed the function
		pipeline = "(builtin exit " + strings.Join(codes, ") | (builtin exit ") + ")"
	}
	if code == "0" && last == "0" {
		return pipeline + "; "
	}
	if code == "0" { // as after a loop: the codes are of its condition
		return "if " + pipeline + "; then :; fi; "
	}
	return pipeline + " && :; "
}

// body returns the text of a node, followed by what notes the exit codes. Between commands that write to both streams
// there are marks, see ordered.
func (sh *shell) body(u *uses, n kernel.Node, text string) string {
	if u.both && !u.everything && !sh.live.flag("x") && !sh.live.flag("v") && !sh.live.handlesDebug() {
		text = ordered(text)
	}
	if sh.live.flag("v") {
		return text
	}
	if strings.HasSuffix(text, "\\") {
		text += "\n"
	}
	note := `__xs_x=("$?" "$_" "${PIPESTATUS[@]}")`
	if sh.live.flag("x") || strings.Contains(text, "set") || u.everything {
		note = "{ " + note + "; } 2>/dev/null"
	}
	if sh.live.handlesDebug() || strings.Contains(strings.ToUpper(text), "DEBUG") { // after the text, it may
		note = "{ " + note + "; } >/dev/null 2>&1"
	}
	return text + "\n" + note
}

// handlesDebug reports whether the program has a handler of DEBUG.
func (s *snapshot) handlesDebug() bool { return strings.Contains(s.hidden[keyTraps], " DEBUG") }

var (
	shellError  = regexp.MustCompile(`(?m)^[^\n]*?: line (\d+): ([^\n]*)$`)
	syntaxError = regexp.MustCompile(`(?m)^[^\n]*?: eval: line (\d+): ((?:syntax error|unexpected EOF)[^\n]*)$`)
)

// endOfErrors returns the end of what the node wrote to its standard error.
func (sh *shell) endOfErrors() string {
	o := sh.outputs[1]
	info, err := o.file.Stat()
	if err != nil {
		return ""
	}
	from := max(0, info.Size()-8192)
	data := make([]byte, info.Size()-from)
	got, _ := o.file.ReadAt(data, from)
	return string(data[:got])
}

// syntaxFailure returns the failure of a text that Bash refused; nil when it executed it.
func syntaxFailure(said string) *kernel.Failure {
	m := syntaxError.FindStringSubmatch(said)
	if m == nil {
		return nil
	}
	line, _ := strconv.Atoi(m[1])
	return &kernel.Failure{Type: typeSyntax, Message: m[2], Line: line, Traceback: strings.Split(m[0], "\n")}
}

// ending says how a node ended the shell: by a failure, if its last words say so, or with a code.
func (sh *shell) ending(u *uses, n kernel.Node, code int, said string) (*kernel.Failure, *kernel.Ending) {
	if n.End {
		return nil, &kernel.Ending{Code: code, Type: "exit", Message: strconv.Itoa(code)}
	}
	all := shellError.FindAllStringSubmatch(said, -1)
	if code != 0 && len(all) > 0 && strings.HasSuffix(strings.TrimSpace(said), strings.TrimSpace(all[len(all)-1][0])) {
		m := all[len(all)-1]
		if name := missing(m[2]); name != "" || u.fails && strings.Contains(m[2], ": ") {
			line, _ := strconv.Atoi(m[1])
			return &kernel.Failure{
				Type:      typeShell,
				Message:   m[2],
				Line:      line,
				Name:      name,
				Traceback: []string{m[0]},
				Printed:   true,
			}, nil
		}
	}
	return nil, &kernel.Ending{Code: code, Type: "exit", Message: strconv.Itoa(code)}
}

// reads fills in what the node may have read.
func (sh *shell) reads(seen *kernel.Observation, u *uses, before *snapshot) {
	names, absent, environ := map[string]bool{}, map[string]bool{}, map[string]bool{}
	read := func(name string) {
		if sh.owned[name] {
			names[name] = true
			return
		}
		absent[name] = true
		if f, is := source.IsFunction(name); !is && isPlain(name) {
			environ[name] = true
		} else if _, from := sh.base.vars[name]; is && from {
			environ["BASH_FUNC_"+f+"%%"] = true
		}
	}
	for name := range u.names {
		if name == source.Exports || !strings.HasSuffix(name, ")") && !isPlain(name) || isMade(name) {
			continue
		}
		read(name)
	}
	if u.exported {
		if sh.owned[source.Exports] {
			names[source.Exports] = true
		} else {
			absent[source.Exports] = true
		}
		environ["*"] = true
	}
	seen.Everything = u.everything
	if u.everything {
		for name := range before.vars {
			if sh.owned[name] {
				names[name] = true
			}
		}
	}
	if u.names["PWD"] || u.exported {
		u.keys["conf:folder"] = true
	}
	if f := seen.Failure; f != nil && f.Name != "" && !names[f.Name] {
		absent[f.Name] = true
	}
	seen.Names, seen.Absent = sorted(names), sorted(absent)
	seen.EnvironReads, seen.HiddenReads = sorted(environ), sorted(u.keys)
}

// isMade reports whether Bash makes the value of a variable up.
func isMade(name string) bool { return ignored(name) || name == "_" }

// computedUnseen adds the names that values after the node name. Where the shell was not given one, the result is
// wrong.
func (sh *shell) computedUnseen(u *uses, after *snapshot) {
	before := maps.Clone(u.names)
	u.computed(sh.session, after.vars)
	for name := range u.names {
		if !before[name] && sh.unbound[name] {
			u.features.marks["unobserved arithmetic"] = true
		}
	}
}

// marks adds why the result may vary.
func (sh *shell) marks(seen *kernel.Observation, u *uses, n kernel.Node) {
	if n.Observed == 0 && (u.files || u.programs || u.exported) {
		u.features.marks["subprocess"] = true
	}
	if u.inner {
		u.features.marks["entropy"] = true
	}
	seen.Marks = append(seen.Marks, sorted(u.features.marks)...)
}

// writes fills in what the node wrote: the difference of two snapshots.
func (sh *shell) writes(seen *kernel.Observation, u *uses, n kernel.Node, before, after *snapshot) {
	was, is := aliasesOf(before), aliasesOf(after)
	names := after.shown
	if !after.partial {
		names = allNames(before, after)
	}
	var changed []string
	write := func(w kernel.Write) {
		seen.Writes = append(seen.Writes, w)
		changed = append(changed, w.Name)
	}
	exported := false
	for _, name := range names {
		old, there := before.vars[name]
		d, still := after.vars[name]
		if there == still && old == d && (!d.has("n") || was.digest(old) == is.digest(d)) {
			continue
		}
		exported = exported || old != d && (old.has("x") || d.has("x"))
		_, from := sh.base.vars[name]
		switch {
		case still:
			sh.owned[name] = true
			write(sh.written(d, is.digest(d)))
		case from:
			d := declaration{name: name, attrs: unset}
			sh.owned[name] = true
			write(kernel.Write{Name: name, Digest: d.digest(), Info: state.ValueInfo{Type: unset}})
		default:
			delete(sh.owned, name)
			write(kernel.Write{Name: name, Deleted: true})
		}
	}
	if exported && u.exported {
		now := after.exports()
		sh.owned[source.Exports], sh.exports = true, now
		d := declaration{name: source.Exports, value: now}
		write(kernel.Write{Name: source.Exports, Digest: d.digest(), Size: int64(len(now)),
			Info: state.ValueInfo{Type: "environment"}})
	}
	sh.unchanged(seen, u, n, before, after)
	slices.SortFunc(seen.Writes, func(a, b kernel.Write) int { return cmp.Compare(a.Name, b.Name) })
	seen.AliasSensitive = slices.Compact(
		slices.Sorted(slices.Values(append(was.touched(changed), is.touched(changed)...))),
	)
	if len(seen.AliasSensitive) > 0 {
		seen.AliasesAfter = is.pairs(seen.AliasSensitive)
	}
	if text := before.hidden[keyRandom]; text != "" {
		after.hidden[keyRandom] = text
	}
	if u.draws {
		sh.drawn(seen, u, before, after)
	}
	seen.Hidden = changedHidden(before, after, sh.base)
	sh.processState(seen, u, before, after)
}

// unchanged adds the names that the node may have assigned and that have the value that they had. If it certainly did,
// that is a write, which counts if the value before is another one. Else the result depends on the value before.
func (sh *shell) unchanged(seen *kernel.Observation, u *uses, n kernel.Node, before, after *snapshot) {
	for name := range u.assigned {
		old, was := before.vars[name]
		d, is := after.vars[name]
		switch {
		case name == source.Exports || isMade(name) || was != is || was && old != d:
		case is && slices.Contains(n.Certain, name) && !d.has("n"):
			sh.owned[name] = true
			seen.Writes = append(seen.Writes, sh.written(d, d.digest()))
		case sh.owned[name]:
			seen.Names = append(seen.Names, name)
		default:
			seen.Absent = append(seen.Absent, name)
			if isPlain(name) {
				seen.EnvironReads = append(seen.EnvironReads, name)
			}
		}
	}
}

// written returns the write of a value.
func (sh *shell) written(d declaration, digest state.Digest) kernel.Write {
	w := kernel.Write{Name: d.name, Digest: digest, Size: int64(len(d.value)), Unhanded: int64(len(d.value))}
	w.Info.Type, w.Info.Repr = kindOf(d), shortened(strings.TrimPrefix(d.value, "="))
	if _, is := source.IsFunction(d.name); is {
		c := sh.codeOf(d.value)
		if c.facts != nil {
			deps := map[string]bool{}
			for _, n := range c.facts.Nodes {
				for _, name := range slices.Concat(n.Uses, n.Later) {
					if name != d.name {
						deps[name] = true
					}
				}
			}
			w.Deps = sorted(deps)
		}
		w.Info.Repr = ""
	}
	return w
}

func shortened(text string) string {
	if len(text) > 80 {
		return strings.ToValidUTF8(text[:80], "") + "…"
	}
	return strings.ToValidUTF8(text, "\uFFFD")
}

// processState reports whether the process has state that cannot be restored: unawaited jobs, descriptors that are not
// files, limits.
func (sh *shell) processState(seen *kernel.Observation, u *uses, before, after *snapshot) {
	started := before.job != after.job &&
		(!u.fed || u.feeds || u.jobs || u.everything || sh.busy || after.jobs)
	changed := started || u.process || before.process != after.process || sh.odd != sh.oddBefore ||
		sh.odd != sh.oddBase && (u.anyFd || len(u.fds) > 0) || sh.busy && u.waits
	was := sh.busy
	if changed {
		sh.busy = true
	}
	if sh.busy && !after.jobs && (u.waits || !started && !u.process && changed) && sh.odd == sh.oddBase &&
		after.process == sh.base.process {
		sh.busy = false
	}
	sh.oddBefore = sh.odd
	switch {
	case was && !sh.busy:
		seen.Modules, seen.Pristine = []string{"process"}, true
	case changed && sh.busy:
		seen.Modules = []string{"process"}
	}
}
