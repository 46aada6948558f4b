//go:build !linux

package sandbox

// Forbidding returns what answers how the bounds of a box forbid something: only Linux enforces bounds.
func Forbidding(Spec) func(action, target string) string {
	return func(string, string) string { return "" }
}

// BoundsFiles reports whether this system keeps the processes of a box from files that their bounds do not name.
func BoundsFiles() bool { return false }

// OwnsFile reports whether a file is in a folder that only the boxes of a workspace use.
func OwnsFile(workspace, path string) bool { return false }
