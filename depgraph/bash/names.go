package bash

import (
	"strings"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/internal/lang"
)

// Bash is the dialect of blocks.
const Bash = lang.Bash

// Exports is the name for all exported variables, see the documentation of the package.
const Exports = "export -p"

// EffectOption is the kind of effects on options, traps and other hidden state of the shell, by keys "conf:".
const EffectOption depgraph.EffectKind = "option"

// Function returns the name of a function among the names of a program.
func Function(name string) string { return name + "()" }

// IsFunction reports whether a name is that of a function, and returns it without the parentheses.
func IsFunction(name string) (string, bool) { return strings.CutSuffix(name, "()") }

// IsOption reports whether Bash reads a variable on its own, as it reads options: an assignment to it may change what
// any later command does. The facts list no reads of it except where the text names it.
func IsOption(variable string) bool {
	return strings.HasPrefix(variable, "LC_") || optionVariables[variable]
}

var optionVariables = set("BASH_COMPAT BASH_XTRACEFD EXECIGNORE FUNCNEST GLOBIGNORE GLOBSORT LANG LANGUAGE " +
	"POSIXLY_CORRECT PS4 TMOUT")

// IsVolatile reports whether Bash itself changes a variable, whatever the text of a command says.
func IsVolatile(variable string) bool { return volatileVariables[variable] }

var volatileVariables = set("_ BASHPID BASH_ARGC BASH_ARGV BASH_ARGV0 BASH_COMMAND BASH_LINENO BASH_SOURCE " +
	"BASH_SUBSHELL BASH_MONOSECONDS COLUMNS DIRSTACK EPOCHREALTIME EPOCHSECONDS FUNCNAME HISTCMD LINENO LINES " +
	"PIPESTATUS " +
	"RANDOM SECONDS SRANDOM")

// Keys of the shell's hidden state. Those of variables that Bash makes up are in variableEffects.
const (
	keyAliases     depgraph.Key = "conf:aliases"
	keyArguments   depgraph.Key = "conf:argv"
	keyCwd         depgraph.Key = "cwd:"
	keyDescriptors depgraph.Key = "conf:descriptors"
	keyOptions     depgraph.Key = "conf:options"
	keyStatus      depgraph.Key = "conf:status"
	keyTraps       depgraph.Key = "conf:traps"
)

// variableEffects are variables that Bash computes at each read.
var variableEffects = map[string]depgraph.Effect{
	"RANDOM":           {Kind: depgraph.EffectRandom, Key: "rng:RANDOM"},
	"SRANDOM":          {Kind: depgraph.EffectRandom},
	"SECONDS":          {Kind: depgraph.EffectClock},
	"EPOCHSECONDS":     {Kind: depgraph.EffectClock},
	"EPOCHREALTIME":    {Kind: depgraph.EffectClock},
	"BASH_MONOSECONDS": {Kind: depgraph.EffectClock},
	"DIRSTACK":         {Kind: depgraph.EffectCwd, Key: keyCwd, Mode: depgraph.Reads},
	"PWD":              {Kind: depgraph.EffectCwd, Key: keyCwd, Mode: depgraph.Reads},
	"PIPESTATUS":       {Kind: EffectOption, Key: keyStatus, Mode: depgraph.Reads},
	"BASHOPTS":         {Kind: EffectOption, Key: keyOptions, Mode: depgraph.Reads},
	"SHELLOPTS":        {Kind: EffectOption, Key: keyOptions, Mode: depgraph.Reads},
	"BASH_ALIASES":     {Kind: EffectOption, Key: keyAliases, Mode: depgraph.Reads},
	"?":                {Kind: EffectOption, Key: keyStatus, Mode: depgraph.Reads},
	"-":                {Kind: EffectOption, Key: keyOptions, Mode: depgraph.Reads},
	"@":                {Kind: EffectOption, Key: keyArguments, Mode: depgraph.Reads},
}

func set(words string) names {
	s := names{}
	for word := range strings.FieldsSeq(words) {
		s[word] = true
	}
	return s
}

func isName(s string) bool {
	for i, r := range []byte(s) {
		letter := r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		if !letter && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return s != ""
}

// isArgument reports whether a special parameter is about the arguments of a function or program.
func isArgument(parameter string) bool {
	return parameter != "" && (strings.Contains("@*#", parameter) || parameter[0] >= '0' && parameter[0] <= '9')
}
