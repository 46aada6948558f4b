package bash

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	source "github.com/xstate-engine/xstate/depgraph/bash"
	"github.com/xstate-engine/xstate/runner/kernel"
	"github.com/xstate-engine/xstate/state"
)

// unset is the value of a variable that the environment gave and that the program unset.
const unset = "unset"

func isUnset(d declaration) bool { return d.attrs == unset }

// unsetting returns the text that takes a name from the shell.
func unsetting(d declaration) string {
	if f, is := source.IsFunction(d.name); is {
		return "builtin unset -f " + f
	}
	if d.has("n") {
		return "builtin unset -n " + d.name
	}
	return "builtin unset -v " + d.name
}

// replacing returns the text that gives a name its value, whatever it had before.
func (s *session) replacing(d declaration) string {
	text := d.text()
	if made, is := s.made[d]; is && !s.live.aliases { // its lines are those of the block, not of this text
		text += fmt.Sprintf("\n__xs_t=%s\nbuiltin eval \"${__xs_t:(LINENO=%d)*0}\"", quote(made.text), made.line)
	}
	if old, is := s.live.vars[d.name]; is && old.attrs != d.attrs {
		return unsetting(old) + "\n" + text
	}
	return text
}

// define notes where functions are defined.
func (s *session) define(u *uses, n kernel.Node, after *snapshot) {
	if !u.definition {
		return
	}
	if s.made == nil {
		s.made = map[declaration]definition{}
	}
	for name := range u.assigned {
		if d, is := after.vars[name]; is {
			s.made[d] = definition{n.Filename, string(n.Text), max(1, n.Line)}
		}
	}
}

// cites returns the blocks whose lines a message of the node may name: its own, and those of functions that it calls.
func (s *session) cites(u *uses, n kernel.Node, before *snapshot) []string {
	files := map[string]bool{n.Filename: true}
	for name, d := range before.vars {
		if made, is := s.made[d]; is && (u.everything || u.names[name]) {
			files[made.file] = true
		}
	}
	return sorted(files)
}

// declaring returns the text that gives a name the value that it is to have in the shell.
func (s *session) declaring(name string) string {
	if d, is := s.live.vars[name]; is {
		return s.replacing(d)
	}
	return "builtin unset -v " + name
}

// put binds a name: in the shell, once what is pending was executed.
func (sh *shell) put(d declaration) {
	if d.name == source.Exports {
		return
	}
	sh.owned[d.name] = true
	if isUnset(d) {
		sh.take(d.name)
		sh.owned[d.name] = true
		return
	}
	if sh.live.vars[d.name] == d {
		return
	}
	if sh.live.vars[d.name].has("r") {
		sh.stuck.Store(true)
	}
	sh.pending = append(sh.pending, sh.replacing(d))
	sh.live.vars = maps.Clone(sh.live.vars)
	sh.live.vars[d.name], sh.live.raw = d, [3]string{}
}

// take unbinds a name.
func (sh *shell) take(name string) {
	delete(sh.owned, name)
	old, is := sh.live.vars[name]
	if !is {
		return
	}
	if old.has("r") {
		sh.stuck.Store(true)
	}
	sh.pending = append(sh.pending, unsetting(old))
	sh.live.vars = maps.Clone(sh.live.vars)
	delete(sh.live.vars, name)
	sh.live.raw = [3]string{}
}

// release gives a name back to the environment.
func (sh *shell) release(name string) {
	if base, is := sh.base.vars[name]; is {
		sh.put(base)
		delete(sh.owned, name)
		return
	}
	sh.take(name)
	delete(sh.owned, name)
}

// bind changes which names are bound.
func (sh *shell) bind(r request) {
	for _, text := range r.Park {
		var pair []json.RawMessage
		var group string
		var names []string
		if json.Unmarshal(text, &pair) != nil || len(pair) != 2 || json.Unmarshal(pair[0], &group) != nil ||
			json.Unmarshal(pair[1], &names) != nil {
			continue
		}
		var list []declaration
		for _, name := range names {
			list = append(list, sh.declared(name))
		}
		sh.parked[groupOf(group)] = list
	}
	for _, name := range r.Unbind {
		if name == source.Exports {
			delete(sh.owned, name)
			continue
		}
		sh.release(name)
	}
	for _, g := range r.Drop {
		delete(sh.parked, g)
	}
	for _, g := range r.Unpark {
		for _, d := range sh.parked[g] {
			sh.bound(d)
		}
		delete(sh.parked, g)
	}
}

// bound binds a name, or the key of all that is exported.
func (sh *shell) bound(d declaration) {
	if d.name == source.Exports {
		sh.owned[d.name], sh.exports = true, d.value
		return
	}
	sh.put(d)
}

// declared returns what a name is.
func (sh *shell) declared(name string) declaration {
	if name == source.Exports {
		return declaration{name: name, value: sh.live.exports()}
	}
	d, is := sh.live.vars[name]
	if !is {
		return declaration{name: name, attrs: unset}
	}
	return d
}

// exports returns what is exported: the names of a program that is executed, with their values.
func (s *snapshot) exports() string {
	var lines []string
	for _, d := range s.vars {
		if d.has("x") {
			lines = append(lines, d.name+" "+d.text())
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\x00")
}

// exported returns the names in a list of what is exported.
func exported(list string) (names []string) {
	for line := range strings.SplitSeq(list, "\x00") {
		name, _, _ := strings.Cut(line, " ")
		names = append(names, name)
	}
	return names
}

// stored is a declaration as the engine keeps it.
type stored struct {
	Name  []byte
	Attrs string
	Value []byte
}

// store makes bytes of a group.
func (sh *shell) store(names []string) (any, []byte, error) {
	var list []stored
	for _, name := range names {
		d := sh.declared(name)
		list = append(list, stored{[]byte(name), d.attrs, []byte(d.value)})
	}
	data, err := json.Marshal(list)
	if err != nil {
		return nil, nil, err
	}
	reply := map[string]any{
		"ok":     true,
		"stored": true,
		"path":   "",
		"size":   len(data),
		"parts":  []any{},
		"needs":  []any{},
	}
	if len(data) < 1<<20 {
		return reply, data, nil
	}
	sh.stored++
	path := filepath.Join(sh.launch.Spool, fmt.Sprintf("sh-value-%d", sh.stored))
	reply["path"] = path
	return reply, nil, kernel.WriteSpooled(path, data)
}

// load binds a group. Its names may be others than when it was stored.
func (sh *shell) load(r request, data []byte) (any, []byte, error) {
	if r.Foreign { // a declaration is text that the shell evaluates
		return nil, nil, errors.New("a value of a foreign store")
	}
	if r.Path != "" {
		var err error
		if data, err = kernel.ReadSpooled(r.Path); err != nil {
			return nil, nil, err
		}
	}
	var list []stored
	if err := json.Unmarshal(data, &list); err != nil {
		return nil, nil, err
	}
	if len(list) != len(r.Names) {
		return nil, nil, errors.New("a group has other names than when it was stored")
	}
	digests := map[string]state.Digest{}
	for i, s := range list {
		d := declaration{name: r.Names[i], attrs: s.Attrs, value: string(s.Value)}
		sh.bound(d)
		if f, is := source.IsFunction(d.name); is { // its text begins with its name
			if old, _ := source.IsFunction(string(s.Name)); old != f {
				return map[string]any{"ok": true, "OK": false}, nil, nil
			}
		}
	}
	a := aliasesOf(sh.live)
	for _, name := range r.Names {
		digests[name] = a.digest(sh.declared(name))
	}
	return struct {
		OK      bool                    `json:"ok"`
		Digests map[string]state.Digest `json:"digests"`
		Shares  [][3]string             `json:"shares"`
	}{true, digests, a.pairs(r.Names)}, nil, nil
}

// setHidden gives the shell hidden state.
func (sh *shell) setHidden(key, text string) {
	if sh.live.hidden[key] == text {
		return
	}
	if key == keyRandom {
		if text == "" {
			text = fmt.Sprintf("RANDOM=%d", sh.launch.Seed&32767)
		}
		var n int
		if _, err := fmt.Sscanf(text, "RANDOM=%d", &n); err == nil {
			sh.random = []int{n}
		}
		sh.live.put(key, text)
		sh.pending = append(sh.pending, text)
		return
	}
	script := sh.restoring(key, text)
	sh.live.put(key, text)
	if key == keyArguments { // it is not the text of a function
		script = text
	}
	if key == keyStatus || key == keyLast {
		sh.live.status = statusOf(sh.live)
	}
	if script != "" {
		sh.pending = append(sh.pending, script)
	}
}

// statusOf returns $?, $_ and PIPESTATUS as hidden state has them.
func statusOf(s *snapshot) []string {
	fields := strings.Fields(s.hidden[keyStatus])
	if len(fields) == 0 {
		fields = []string{"0", "0"}
	}
	return append([]string{fields[0], s.hidden[keyLast]}, fields[1:]...)
}
