package policy

import (
	"slices"
	"strings"
)

// Level says how much of what a program does is bounded.
type Level string

// Levels, from the widest to the narrowest.
const (
	Off       Level = "off"       // nothing is bounded; all is observed
	Workspace Level = "workspace" // files, network and environment are bounded, as far as the system enforces it
	Strict    Level = "strict"    // the same, and nothing runs where the system cannot enforce all of it
)

var levels = []Level{Off, Workspace, Strict}

// Levels are the names of all levels, for people: "off, workspace or strict".
func Levels() string { return "off, workspace or strict" }

// ParseLevel returns the level of a name; ok is false if there is none.
func ParseLevel(name string) (l Level, ok bool) {
	l = Level(strings.ToLower(name))
	return l, slices.Contains(levels, l)
}

// Stricter returns the narrower of two levels. "" is not a level, and wider than all.
func Stricter(a, b Level) Level {
	if slices.Index(levels, a) >= slices.Index(levels, b) {
		return a
	}
	return b
}
