package bash

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	source "github.com/xstate-engine/xstate/depgraph/bash"
	"github.com/xstate-engine/xstate/state"
)

// Keys of state that no name has. Each holds the text that restores it.
const (
	keyCwd       = "cwd:"
	keyUmask     = "conf:umask"
	keyDirs      = "conf:directories"
	keyArguments = "conf:positional"
	keyStatus    = "conf:status"
	keyLast      = "conf:last-argument"
	keyAliases   = "conf:aliases"
	keyTraps     = "conf:traps"   // ERR, DEBUG and RETURN, which any command may call
	keyExit      = "conf:exit"    // the handler of EXIT
	keySignals   = "conf:signals" // handlers of signals
	keyVariables = "conf:variables"
	keyRandom    = "rng:RANDOM"
	keyAttrs     = "conf:attributes " // and a name: what an assignment to it depends on
	keyOptions   = "conf:options"

	keyDescriptors = "conf:descriptors" // files that are open, by descriptor
	keyStreams     = "conf:streams"     // those of the standard streams, which any command uses
	keyInput       = "conf:stdin"       // the position in the standard input, which programs share
)

// optionKeys are the keys of options that only some commands ask for. Any command may ask for another one.
var optionKeys = func() map[string]string {
	of := map[string]string{}
	for key, names := range map[string]string{
		keyPipes: "pipefail lastpipe", keyClobber: "noclobber", keyEcho: "xpg_echo",
		keyGlobs: "nullglob dotglob failglob globstar nocaseglob globasciiranges globskipdots noglob",
		keyMatch: "nocasematch patsub_replacement", keyCd: "autocd cdspell cdable_vars physical",
	} {
		for name := range strings.FieldsSeq(names) {
			of[name] = key
		}
	}
	return of
}()

const (
	keyPipes   = "conf:pipes"
	keyClobber = "conf:noclobber"
	keyEcho    = "conf:echo"
	keyGlobs   = "conf:globs"
	keyMatch   = "conf:matching"
	keyCd      = "conf:cd"
)

// perNode are options that the driver switches off between nodes.
var perNode = map[string]bool{"errexit": true, "nounset": true, "xtrace": true, "verbose": true, "functrace": true,
	"errtrace": true}

// readHidden fills in the state that no name has.
func (s *snapshot) readHidden(base map[string]declaration, traps, options, shopts, aliases, umask, cwd string) {
	h := map[string]string{keyCwd: "builtin cd -- " + quote(strings.TrimSuffix(cwd, "\n")),
		keyUmask: strings.TrimSpace(umask), keyDirs: s.directories(), keyAliases: aliasTexts(aliases)}
	var words []string
	for _, a := range s.arguments {
		words = append(words, quote(a))
	}
	h[keyArguments] = strings.TrimSpace("builtin set -- " + strings.Join(words, " "))
	for line := range strings.Lines(options + shopts) {
		line = strings.TrimSpace(line)
		fields := strings.Fields(line)
		if len(fields) != 3 {
			continue
		}
		name := fields[2]
		if name == "xtrace" || name == "verbose" { // they were switched off before
			line = "set +o " + name
			if strings.Contains(s.flags, name[:1]) {
				line = "set -o " + name
			}
		}
		s.aliases = s.aliases || line == "shopt -s expand_aliases"
		key := optionKeys[name]
		if key == "" {
			key = keyOptions
		}
		h[key] += "builtin " + line + "\n"
	}
	h[keyVariables] = s.optionVariables()
	s.hidden = h
	s.keepStatus()
	s.readTraps(traps)
	for _, d := range s.vars {
		s.keepAttribute(d, base)
	}
}

// keepStatus makes the exit codes hidden state.
func (s *snapshot) keepStatus() {
	if len(s.status) > 2 {
		s.hidden[keyStatus] = s.status[0] + " " + strings.Join(s.status[2:], " ")
		s.hidden[keyLast] = s.status[1]
	}
}

// keepAttribute makes the attributes of a variable hidden state.
func (s *snapshot) keepAttribute(d declaration, base map[string]declaration) {
	if strings.HasSuffix(d.name, "()") || d.attrs == base[d.name].attrs {
		return
	}
	attrs := "-" + d.attrs
	if d.has("n") {
		attrs += d.value
	}
	s.hidden[keyAttrs+d.name] = attrs
}

// keepAttributes takes over the attributes of names that the shell was not given; the engine sent them.
func (s *snapshot) keepAttributes(before *snapshot) {
	for key, text := range before.hidden {
		name, is := strings.CutPrefix(key, keyAttrs)
		if _, there := s.vars[name]; !is || there {
			continue
		}
		if _, was := before.vars[name]; !was {
			s.hidden[key] = text
		}
	}
}

// aliasTexts returns the definitions of aliases as a program is to execute them.
func aliasTexts(text string) string {
	if text == "" {
		return ""
	}
	var b strings.Builder
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "alias ") {
			b.WriteString("builtin ")
		}
		b.WriteString(line)
	}
	return b.String()
}

// readTraps sorts handlers by who may call them.
func (s *snapshot) readTraps(text string) {
	for text != "" {
		n := valueLength(text)
		line := text[:n]
		text = strings.TrimPrefix(text[n:], "\n")
		name := line[strings.LastIndexByte(line, ' ')+1:]
		key := keySignals
		switch name {
		case "ERR", "DEBUG", "RETURN":
			key = keyTraps
		case "EXIT":
			key = keyExit
		default:
			s.signals = append(s.signals, name)
		}
		s.hidden[key] += "builtin " + line + "\n"
	}
}

// optionVariables returns the declarations of variables that any command may ask for.
func (s *snapshot) optionVariables() string {
	var lines []string
	for name, d := range s.vars {
		if source.IsOption(name) {
			lines = append(lines, d.text())
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// directories returns what restores the stack of folders, without the first, which is the working directory.
func (s *snapshot) directories() string {
	lines := strings.Split(strings.TrimSuffix(s.dirs, "\n"), "\n")
	text := "builtin dirs -c"
	for i := len(lines) - 1; i >= 1; i-- {
		text += "; builtin pushd -n -- " + quote(lines[i]) + " >/dev/null"
	}
	return text
}

// hiddenDigest names hidden state; that of a new shell is absent.
func hiddenDigest(key, text string, base *snapshot) state.Digest {
	if text == base.hidden[key] {
		return state.Absent
	}
	return state.DigestOf([]byte(key + "\n" + text))
}

// changedHidden returns the keys whose state is another, with the new digests.
func changedHidden(before, after, base *snapshot) map[string]state.Digest {
	found := map[string]state.Digest{}
	for key := range before.hidden {
		if _, still := after.hidden[key]; !still {
			found[key] = hiddenDigest(key, "", base)
		}
	}
	for key, text := range after.hidden {
		if before.hidden[key] != text {
			found[key] = hiddenDigest(key, text, base)
		}
	}
	return found
}

// restoring returns the text that brings hidden state to the shell.
func (s *session) restoring(key, text string) string {
	switch {
	case strings.HasPrefix(key, keyAttrs) || key == keyStatus || key == keyLast || key == keyTraps ||
		key == keyDescriptors || key == keyStreams:
		return "" // the driver has it
	case key == keyAliases:
		return "builtin unalias -a\n" + text
	case key == keyInput:
		return s.placingInput(text)
	case key == keyCwd:
		text = "builtin cd -P . ; " + text
		for _, name := range []string{"PWD", "OLDPWD"} {
			text += "\n" + s.declaring(name)
		}
	case key == keySignals:
		if len(s.live.signals) > 0 {
			text = "builtin trap - " + strings.Join(s.live.signals, " ") + "\n" + text
		}
	case key == keyExit:
		text = "builtin trap - EXIT\n" + text
	case key == keyOptions:
		var kept []string
		for line := range strings.Lines(text) {
			name := line[strings.LastIndexByte(strings.TrimSpace(line), ' ')+1:]
			if !perNode[strings.TrimSpace(name)] && !fixed[strings.TrimSpace(name)] &&
				!strings.HasPrefix(name, "compat") {
				kept = append(kept, line)
			}
		}
		text = strings.Join(kept, "")
	}
	return text
}

// fixed are options that cannot be set, or that make no difference here.
var fixed = map[string]bool{"login_shell": true, "restricted_shell": true, "monitor": true, "history": true,
	"emacs": true, "vi": true, "noexec": true, "onecmd": true, "privileged": true, "histexpand": true}

// flag reports whether an option of a letter was on.
func (s *snapshot) flag(letter string) bool { return strings.Contains(s.flags, letter) }

// put makes the state under a key what a text says, as the next snapshot will have it.
func (s *snapshot) put(key, text string) {
	s.hidden = maps.Clone(s.hidden)
	if text == "" {
		delete(s.hidden, key)
	} else {
		s.hidden[key] = text
	}
}

// onOptions returns the letters of the options that the driver switches off between nodes.
func (s *snapshot) onOptions() string {
	letters := ""
	for _, o := range [][2]string{ // in order: the letters come into $_
		{"errexit", "e"}, {"nounset", "u"}, {"errtrace", "E"}, {"functrace", "T"},
	} {
		if strings.Contains(s.hidden[keyOptions], "set -o "+o[0]+"\n") {
			letters += o[1]
		}
	}
	return letters
}

// placingInput returns the text that opens the standard input at a position. Data that read keeps has no zero bytes.
func (s *session) placingInput(position string) string {
	if s.launch.Stdin == "" {
		return ""
	}
	text := "builtin exec 0<" + quote(s.launch.Stdin)
	at, _ := strconv.ParseInt(position, 10, 64)
	if at == 0 {
		return text
	}
	content, err := os.ReadFile(s.launch.Stdin)
	if err == nil && bytes.IndexByte(content[:min(int(at), len(content))], 0) >= 0 {
		return fmt.Sprintf("%s\nbuiltin command head -c %d >/dev/null", text, at)
	}
	return fmt.Sprintf("%s\nLC_ALL=C IFS= builtin read -r -N %d -u 0 __xs_t", text, at)
}
