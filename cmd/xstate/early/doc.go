// Package early sets the garbage collector before the other packages of the command are initialised: they allocate
// enough for several collections, which took a fifth of what a short command takes. Go initialises a package as soon
// as all that it imports is, in the order of their paths; this one imports next to nothing.
package early

import "runtime/debug"

func init() {
	debug.SetGCPercent(400) // most commands are done before a collection pays
	debug.SetMemoryLimit(1 << 30)
}
