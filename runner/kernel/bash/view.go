package bash

import (
	"maps"
	"slices"
	"strings"

	"github.com/xstate-engine/xstate/depgraph"
	source "github.com/xstate-engine/xstate/depgraph/bash"
)

// confined reports whether what a node can change of the shell is known: u.assigned lists it.
func (s *session) confined(u *uses) bool {
	if u.open || u.everything || u.draws || u.process || u.jobs || u.traps || !s.quiet() {
		return false
	}
	live := s.live
	for name := range u.operands {
		if d, is := live.vars[name]; u.texts[name] || is && !isInteger(d) || !is && ignored(name) {
			return false
		}
	}
	for name := range u.assigned {
		d := live.vars[name]
		if name != source.Exports && (!isPlain(name) || ignored(name) && name != "BASH_REMATCH" ||
			source.IsOption(name) || selfMade[name] || d.has("i") || d.has("n")) {
			return false
		}
	}
	for _, d := range live.vars {
		if d.has("n") {
			return false
		}
	}
	return true
}

// selfMade are variables that change more of the shell than their value, or that Bash changes with it.
var selfMade = map[string]bool{"IGNOREEOF": true, "ignoreeof": true, "PWD": true, "OLDPWD": true, "_": true}

// quiet reports whether the shell does nothing beside what commands say.
func (s *session) quiet() bool {
	h := s.live.hidden
	if s.busy || s.live.jobs || h[keyTraps]+h[keySignals] != "" ||
		h[keyAliases] != "" && strings.Contains(h[keyOptions], "shopt -s expand_aliases\n") ||
		strings.Contains(h[keyPipes], "shopt -s lastpipe\n") {
		return false
	}
	for _, name := range []string{"allexport", "keyword", "posix", "verbose", "xtrace"} {
		if strings.Contains(h[keyOptions], "set -o "+name+"\n") {
			return false
		}
	}
	return true
}

// view is what of the state is shown after a text.
type view struct {
	partial  bool // only what follows, and not the whole state
	function string
	names    []string
}

// viewAfter returns what shows all that a node can have changed.
func (s *session) viewAfter(u *uses, text string) view {
	own := s.codeOf(text)
	if own.facts != nil && len(own.facts.Nodes) == 1 && own.facts.Nodes[0].Kind == depgraph.KindDef {
		defines := own.facts.Nodes[0].Defines
		if len(defines) != 1 || s.live.vars[defines[0]].attrs != "" || !s.quiet() {
			return view{}
		}
		name, is := source.IsFunction(defines[0])
		return view{partial: is, function: name, names: defines}
	}
	if !s.confined(u) {
		return view{}
	}
	v := view{partial: true}
	for name := range u.assigned {
		if name != source.Exports {
			v.names = append(v.names, name)
		}
	}
	slices.Sort(v.names)
	return v
}

// showAll shows everything. It defines the driver's functions again, which the node may have removed. The program's
// output has no trace of it, and nothing that a handler of DEBUG prints before its first commands.
const showAll = `{ __xs_o=$-; builtin set +xv; builtin printf "S\0" >&$__xs_w || :; builtin trap -p >&$__xs_w || :; ` +
	`builtin trap - DEBUG ERR RETURN; } >/dev/null 2>&1; builtin eval "$__xs_D$__xs_E"`

// command is what the shell executes to show it.
func (v view) command() string {
	switch {
	case !v.partial:
		return showAll
	case v.function != "":
		return "__xs_f " + quote(v.function)
	}
	return "__xs_v " + strings.Join(v.names, " ")
}

// with returns the state in which some names are as shown, and the rest is as before.
func (s *snapshot) with(v view, status []string, text string, base *snapshot) *snapshot {
	after := *s
	after.partial, after.shown, after.status, after.draws = true, v.names, status, nil
	now := map[string]declaration{}
	if v.function == "" {
		parseVars(text, now)
	} else if text != "" {
		now[v.names[0]] = declaration{name: v.names[0], value: strings.TrimSuffix(text, "\n")}
	}
	after.hidden = maps.Clone(s.hidden)
	delete(after.hidden, keyDescriptors) // the system reports these
	delete(after.hidden, keyStreams)
	after.keepStatus()
	cloned := false
	for _, name := range v.names {
		d, is := now[name]
		if old, was := s.vars[name]; was == is && old == d {
			continue
		}
		if !cloned {
			after.vars, after.raw, cloned = maps.Clone(s.vars), [3]string{}, true
		}
		delete(after.vars, name)
		delete(after.hidden, keyAttrs+name)
		if is {
			after.vars[name] = d
			after.keepAttribute(d, base.vars)
		}
	}
	return &after
}

// differs names what is different in the whole state; "" where nothing is.
func (s *snapshot) differs(whole *snapshot) string {
	for _, name := range allNames(s, whole) {
		if s.vars[name] != whole.vars[name] {
			return name
		}
	}
	for key, text := range whole.hidden {
		if s.hidden[key] != text {
			return key
		}
	}
	return ""
}

// allNames returns the names of two states; nil if they have equal ones.
func allNames(before, after *snapshot) []string {
	if before.raw == after.raw && before.raw[0] != "" {
		return nil
	}
	names := slices.Collect(maps.Keys(after.vars))
	for name := range before.vars {
		if _, there := after.vars[name]; !there {
			names = append(names, name)
		}
	}
	return names
}
