package basestate

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/runner/beneath"
	"github.com/xstate-engine/xstate/state"
)

// Get returns the digest of a key at the base.
func (w *State) Get(k depgraph.Key) state.Digest {
	if d, ok := w.answers[k]; ok {
		return d
	}
	d := w.lookup(k)
	w.answers[k] = d
	return d
}

func (w *State) lookup(k depgraph.Key) state.Digest {
	switch k.Space() {
	case "file":
		now := w.OnDisk(k.Name())
		if r, ok := w.records[k.Name()]; ok && now == r.Left {
			return r.Base
		}
		return now
	case "mode":
		if r, ok := w.records[k.Name()]; ok {
			return r.Mode
		}
		mode, _ := w.Attributes(k.Name())
		return mode
	case "time":
		r := w.records[k.Name()]
		if r.Time == 0 {
			_, r.Time = w.Attributes(k.Name())
		}
		return w.digestText(fmt.Appendf(nil, "time %d", r.Time))
	case "dir":
		return w.listing(k.Name())
	case "env":
		_, plain := k.Cut() // programs in all languages begin with one environment
		return w.variable(plain.Name())
	case "module":
		return w.version(k)
	case "call", "tool":
		if w.options.Call == nil {
			return state.Absent
		}
		return w.options.Call(k)
	case "policy":
		return policyDigest(k, w.options.Forbids)
	case "program":
		return programDigest(w.versionFiles[k])
	case "rng":
		return w.seed
	case "stdin":
		if w.stdin == nil && w.options.Stdin != nil {
			w.stdin = w.options.Stdin()
		}
		return inputDigest(w.stdin, k.Name())
	case "conf":
		_, plain := k.Cut()
		switch plain.Name() { // the initial value in the interpreter depends on the environment
		case "argv":
			return argumentsDigest(w.options.Arguments)
		case "time-zone":
			return w.variables("TZ")
		case "locale":
			return w.variables("LC_ALL", "LC_CTYPE", "LANG")
		case "folder":
			return state.DigestOf(fmt.Appendf(nil, "folder %q %q", w.workspace, w.file))
		}
	}
	return state.Absent
}

// listing digests the names in a directory at the base. name may carry changes, see runner.programState.listing:
// "out\x00a=true\x00b=false" is the directory out with a in it and without b.
func (w *State) listing(name string) state.Digest {
	parts := strings.Split(name, "\x00")
	dir, counts := depgraph.Key("dir:" + parts[0]).Listing()
	entries, err := w.names(dir)
	if err != nil {
		behind, bad := w.without(err)
		if bad != nil {
			w.failed(bad)
		}
		if bad != nil || IsBehind(behind) {
			return behind
		}
	}
	r, recorded := w.records[dir]
	removed := recorded && r.Base == Directory && w.OnDisk(dir) == r.Left // by the program
	if errors.Is(err, fs.ErrNotExist) && len(parts) == 1 && !removed {
		return state.Absent
	}
	present := map[string]bool{}
	for _, n := range entries {
		if n != ".xstate" && n != "__pycache__" {
			present[n] = true
		}
	}
	for short, r := range w.records { // what the program left is not part of the base
		if filepath.Dir(short) == filepath.Clean(dir) && w.OnDisk(short) == r.Left {
			present[filepath.Base(short)] = r.Base != state.Absent
		}
	}
	for _, change := range parts[1:] {
		n, there, _ := strings.Cut(change, "=")
		present[n] = there == "true"
	}
	var names []string
	for n, there := range present {
		if there && counts(n) {
			names = append(names, n)
		}
	}
	if recorded && r.Base == state.Absent && len(parts) == 1 && len(names) == 0 {
		return state.Absent // the program made it
	}
	slices.Sort(names)
	return w.digestText(fmt.Appendf(nil, "listing %q", names))
}

// digestText returns the digest of a text that states what a directory lists, or when a file changed. It keeps the text
// for a replay, see runner.Engine.keepInput.
func (w *State) digestText(text []byte) state.Digest {
	d := state.DigestOf(text)
	w.Texts[d] = text
	return d
}

// ignoredVariables differ between two shells for no reason of the program's: they name a terminal, a pane, a session or
// a request, or lead to the socket of one.
var ignoredVariables = []string{
	"_", "SHLVL", "PWD", "OLDPWD", "COLUMNS", "LINES",
	"WINDOWID", "WINDOWPATH", "TERM_SESSION_ID", "SHELL_SESSION_ID", "XDG_SESSION_ID", "GPG_TTY",
	"SSH_CLIENT", "SSH_CONNECTION", "SSH_TTY", "SSH_AUTH_SOCK", "SSH_AGENT_PID",
	"TMUX", "TMUX_PANE", "STY", "WINDOW", "ZELLIJ_PANE_ID", "ZELLIJ_SESSION_NAME",
	"ALACRITTY_LOG", "ALACRITTY_SOCKET", "ALACRITTY_WINDOW_ID", "GNOME_TERMINAL_SCREEN", "GNOME_TERMINAL_SERVICE",
	"ITERM_SESSION_ID", "KITTY_LISTEN_ON", "KITTY_PID", "KITTY_WINDOW_ID", "KONSOLE_DBUS_SERVICE",
	"KONSOLE_DBUS_SESSION", "KONSOLE_DBUS_WINDOW", "WEZTERM_PANE", "WEZTERM_UNIX_SOCKET", "WT_SESSION",
	"VSCODE_GIT_IPC_HANDLE", "VSCODE_IPC_HOOK_CLI", "JPY_PARENT_PID", "INVOCATION_ID", "JOURNAL_STREAM",
	"TRACEPARENT", "TRACESTATE",
}

func (w *State) variable(name string) state.Digest {
	if name == "*" {
		var lines []string
		for k, v := range w.environ {
			if !slices.Contains(ignoredVariables, k) {
				if d, ok := w.secret(v); ok {
					v = d
				}
				lines = append(lines, fmt.Sprintf("%q=%q", k, v))
			}
		}
		slices.Sort(lines)
		return state.DigestOf([]byte(strings.Join(lines, "\n")))
	}
	v, ok := w.environ[name]
	if !ok {
		return state.Absent
	}
	if d, ok := w.secret(v); ok {
		return state.Digest(d)
	}
	return EnvironDigest(v)
}

// secret names a value that is a secret.
func (w *State) secret(value string) (digest string, ok bool) {
	if w.options.Secret == nil {
		return "", false
	}
	return w.options.Secret(value)
}

// variables digests several variables, absent where none is set.
func (w *State) variables(names ...string) state.Digest {
	text := ""
	for _, name := range names {
		if v, ok := w.environ[name]; ok {
			text += fmt.Sprintf("%s=%q\n", name, v)
		}
	}
	if text == "" {
		return state.Absent
	}
	return state.DigestOf([]byte(text))
}

// EnvironDigest is the digest of the value of a variable of the environment.
func EnvironDigest(value string) state.Digest {
	return state.DigestOf(fmt.Appendf(nil, "env %s", value))
}

// version digests the files that state the version of a package.
func (w *State) version(k depgraph.Key) state.Digest {
	paths := w.versionFiles[k]
	if paths == "" {
		return state.Absent
	}
	var b strings.Builder
	for p := range strings.SplitSeq(paths, "\n") {
		real, err := filepath.EvalSymlinks(p)
		if err != nil {
			real = p
		}
		fmt.Fprintf(&b, "%s %s\n", filepath.Base(p), w.OnDisk(real))
	}
	return state.DigestOf([]byte(b.String()))
}

// PortableVersion is version without what differs between two installations of a package: where its scripts lie, and
// which of its modules were compiled.
func (w *State) PortableVersion(k depgraph.Key) state.Digest {
	var b strings.Builder
	for p := range strings.SplitSeq(w.versionFiles[k], "\n") {
		fmt.Fprintf(&b, "%s ", filepath.Base(p))
		if filepath.Base(p) != "RECORD" {
			fmt.Fprintf(&b, "%s\n", w.OnDisk(p))
			continue
		}
		file, err := beneath.Read(p)
		if err != nil {
			return state.Absent
		}
		data, err := io.ReadAll(file)
		if errors.Join(err, file.Close()) != nil {
			return state.Absent
		}
		for line := range strings.Lines(string(data)) {
			if !strings.HasPrefix(line, "../") && strings.Contains(line, ",sha256=") && !installs(line) {
				b.WriteString(line)
			}
		}
	}
	return state.DigestOf([]byte(b.String()))
}

// installs reports whether a line of RECORD is of a file that the installer of a package wrote (PEP 376, PEP 610).
func installs(line string) bool {
	name, _, _ := strings.Cut(line, ",")
	switch filepath.Base(name) {
	case "INSTALLER", "REQUESTED", "direct_url.json", "uv_cache.json":
		return true
	}
	return false
}

// Learn takes from a trace which files state the versions of packages. It counts a file in a new place as moved; the
// planner then gives up.
func (w *State) Learn(paths map[depgraph.Key]string) {
	for k, p := range paths {
		if was := w.versionFiles[k]; was != p {
			if was != "" {
				w.Moved++
			}
			w.versionFiles[k] = p
			delete(w.answers, k)
		}
	}
}

// Renew forgets the answer about a key, which has changed during the run.
func (w *State) Renew(k depgraph.Key) { delete(w.answers, k) }

// Holds reports whether a key still has the digest that it had when it was asked for first in this run.
func (w *State) Holds(k depgraph.Key) bool {
	d, asked := w.answers[k]
	return !asked || w.lookup(k) == d
}

// Answers returns the keys that were read since Begin, with their digests.
func (w *State) Answers() map[depgraph.Key]state.Digest { return w.answers }

// SetAnswer sets the digest that a key had when the run began, unless the key has been read since Begin.
func (w *State) SetAnswer(k depgraph.Key, d state.Digest) {
	if _, asked := w.answers[k]; !asked {
		w.answers[k] = d
	}
}

// VersionFiles returns the files that state the versions of packages, by the package's key.
func (w *State) VersionFiles() map[depgraph.Key]string { return w.versionFiles }
