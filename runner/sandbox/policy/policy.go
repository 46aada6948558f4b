package policy

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/xstate-engine/xstate/internal/parents"
	"github.com/xstate-engine/xstate/runner/remote"
	"github.com/xstate-engine/xstate/runner/sandbox"
	"github.com/xstate-engine/xstate/state"
)

// Policy is what a program may do. It is immutable.
type Policy struct {
	Level    Level
	Launcher string
	// Read, Write and Deny are paths beside the workspace, which is read and written. Deny counts before the others.
	Read, Write, Deny []string
	Hosts             []string
	Pass, Secrets     []string // variables of the environment beside the usual ones
	Limits            sandbox.Limits
	Calls             Calls
	Rules             []Rule
	Budgets           []Budget
	Generated         bool // see Options
	RecordNetwork     bool // requests over HTTP are calls
	Remote            remote.Settings

	// LevelFrom says where the level comes from: "--sandbox", a place in a file, or "default".
	LevelFrom string
	// Settings are those of all files, the user's first, also the ones without effect.
	Settings []Setting
	// Files are the policy files that count. A bounded program may not write them.
	Files []string
	// Lacks are the parts that this system does not enforce. There are none at Strict.
	Lacks []sandbox.Lack

	user     string // the file of the user
	readOnly []string
	hidden   []string
}

// Bounds returns the policy in the form that a box takes; nil where nothing is bounded.
func (p *Policy) Bounds() *sandbox.Bounds {
	if p == nil || p.Level == Off {
		return nil
	}
	return &sandbox.Bounds{
		Strict: p.Level == Strict, Read: slices.Clone(p.Read), Write: slices.Clone(p.Write),
		Deny: slices.Concat(p.Deny, p.hidden), ReadOnly: slices.Clone(p.readOnly), Hosts: slices.Clone(p.Hosts),
		Limits: p.Limits, Launcher: p.Launcher,
	}
}

// Records reports whether requests over HTTP are recorded.
func (p *Policy) Records() bool { return p != nil && p.RecordNetwork }

// usual are the variables that a bounded program has: they give it its place, the user's language, and the search
// path of tools. None of them is known to hold a secret.
var usual = []string{
	"PATH", "HOME", "USER", "LOGNAME", "SHELL", "HOSTNAME", "PWD", "OLDPWD", "SHLVL", "_",
	"TMPDIR", "TMP", "TEMP", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME",
	"LANG", "LANGUAGE", "LC_*", "TZ", "TZDIR", "TERM", "COLORTERM", "COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR",
	"PYTHON*", "VIRTUAL_ENV", "VIRTUAL_ENV_PROMPT", "CONDA_*", "PYENV_*", "LD_LIBRARY_PATH",
	"MPLBACKEND", "MPLCONFIGDIR", "OMP_*", "MKL_*", "OPENBLAS_*", "NUMBA_*", "CUDA_*", "NVIDIA_*",
	"SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "SOURCE_DATE_EPOCH",
	"CC", "CXX", "CFLAGS", "CXXFLAGS", "CPPFLAGS", "LDFLAGS", "PKG_CONFIG_PATH", "MAKEFLAGS",
	"JAVA_HOME", "GOROOT", "GOPATH", "GOCACHE", "GOFLAGS", "CARGO_HOME", "RUSTUP_HOME", "NODE_PATH",
	"TRACEPARENT", "TRACESTATE", "XSTATE_*",
}

// Environ returns the variables that the program gets of an environment, as NAME=value.
func (p *Policy) Environ(environ []string) []string {
	if p == nil || p.Level == Off {
		return environ
	}
	allowed := slices.Concat(usual, p.Pass, p.Secrets)
	return slices.DeleteFunc(slices.Clone(environ), func(pair string) bool {
		name, _, _ := strings.Cut(pair, "=")
		return !matches(allowed, name)
	})
}

// matches reports whether a name is one of a list, or begins like one that ends with a star.
func matches(list []string, name string) bool {
	return slices.ContainsFunc(list, func(x string) bool {
		begin, star := strings.CutSuffix(x, "*")
		return x == name || star && strings.HasPrefix(name, begin)
	})
}

// Text is the policy as its digest sees it: a line for each fact. Two policies of one text bound alike.
func (p *Policy) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "level %s\n", p.Level)
	if p.Launcher != "" {
		fmt.Fprintf(&b, "launcher %s\n", p.Launcher)
	}
	for _, list := range []struct {
		name   string
		values []string
	}{
		{fieldRead, p.Read}, {fieldWrite, p.Write}, {fieldDeny, p.Deny}, {fieldHosts, p.Hosts}, {fieldPass, p.Pass},
		{fieldSecrets, p.Secrets},
	} {
		for _, v := range slices.Sorted(slices.Values(list.values)) {
			fmt.Fprintf(&b, "%s %q\n", list.name, v)
		}
	}
	for _, l := range p.limits() {
		fmt.Fprintf(&b, "%s %s\n", l.field, l.value)
	}
	return b.String()
}

// Digest names the policy by its text; "" for one that bounds nothing and has no secrets.
func (p *Policy) Digest() state.Digest {
	if p == nil || p.Level == Off && len(p.Secrets) == 0 {
		return ""
	}
	sum := sha256.Sum256([]byte(p.Text()))
	return state.Digest(hex.EncodeToString(sum[:]))
}

// Record is what a run records of its policy: the level, the digest, and what the system could not enforce.
func (p *Policy) Record() (level string, digest state.Digest, unenforced []string) {
	if p == nil || p.Level == Off {
		return "", p.Digest(), nil
	}
	for _, l := range p.Lacks {
		unenforced = append(unenforced, l.String())
	}
	return string(p.Level), p.Digest(), unenforced
}

// limit is a limit that is set.
type limit struct{ field, value string }

func (p *Policy) limits() (set []limit) {
	l := p.Limits
	add := func(field string, is bool, value string) {
		if is {
			set = append(set, limit{field, value})
		}
	}
	add(fieldCPU, l.CPU > 0, l.CPU.String())
	add(fieldWall, l.Wall > 0, l.Wall.String())
	add(fieldMemory, l.Memory > 0, bytesText(l.Memory))
	add(fieldProcs, l.Processes > 0, fmt.Sprint(l.Processes))
	add(fieldFileSize, l.FileSize > 0, bytesText(l.FileSize))
	add(fieldFiles, l.Files > 0, fmt.Sprint(l.Files))
	add(fieldOutput, l.Output > 0, bytesText(l.Output))
	return set
}

// bytesText is a number of bytes as a policy file has it, exactly.
func bytesText(n int64) string {
	for _, unit := range []struct {
		name string
		size int64
	}{{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"GB", 1e9}, {"MB", 1e6}, {"kB", 1e3}} {
		if n%unit.size == 0 {
			return fmt.Sprintf("%d%s", n/unit.size, unit.name)
		}
	}
	return fmt.Sprintf("%dB", n)
}

// setLimit sets the limit of a field, or lowers it if narrow is set. It reports whether that changed anything.
func setLimit(l *sandbox.Limits, field, text string, narrow bool) bool {
	switch field {
	case fieldCPU:
		return lower(&l.CPU, must(parseDuration(text)), narrow)
	case fieldWall:
		return lower(&l.Wall, must(parseDuration(text)), narrow)
	case fieldMemory:
		return lower(&l.Memory, must(parseSize(text)), narrow)
	case fieldFileSize:
		return lower(&l.FileSize, must(parseSize(text)), narrow)
	case fieldOutput:
		return lower(&l.Output, must(parseSize(text)), narrow)
	case fieldProcs:
		return lower(&l.Processes, must(parseCount(text)), narrow)
	case fieldFiles:
		return lower(&l.Files, must(parseCount(text)), narrow)
	}
	panic("policy: internal error: no limit " + field)
}

func lower[N int | int64 | time.Duration](to *N, n N, narrow bool) bool {
	if narrow && *to != 0 && *to <= n {
		return false
	}
	*to = n
	return true
}

// must is for values that a check has passed.
func must[T any](v T, err error) T {
	if err != nil {
		panic("policy: internal error: " + err.Error())
	}
	return v
}

// inAny reports whether a path lies in one of some folders.
func inAny(path string, folders []string) bool {
	return slices.ContainsFunc(folders, func(f string) bool { return parents.Below(f, path) != "" })
}

// LimitTexts are the limits that are set, by name, as a policy file has them.
func (p *Policy) LimitTexts() map[string]string {
	texts := map[string]string{}
	for _, l := range p.limits() {
		_, name, _ := strings.Cut(l.field, ".")
		texts[name] = l.value
	}
	return texts
}

// Sharing says with whom results are shared.
func (p *Policy) Sharing() remote.Settings {
	if p == nil {
		return remote.Settings{}
	}
	return p.Remote
}
