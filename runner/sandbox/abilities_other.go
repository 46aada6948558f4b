//go:build !linux

package sandbox

// Probe returns what this system offers: nothing is known of it.
func Probe() Abilities {
	return Abilities{Observe: LevelHooks, Why: "only Linux reports system calls", NoSpaces: "only Linux has them"}
}
