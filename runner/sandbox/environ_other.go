//go:build !linux

package sandbox

// Environ returns the environment of the programs of a box, from the one of its caller: the same.
func (s Spec) Environ(environ []string) []string { return environ }
