package parents

import (
	"iter"
	"path/filepath"
)

// Up yields a path, cleaned, and then each folder above it. The last one is the root, or "." of a relative path.
func Up(path string) iter.Seq[string] {
	return func(yield func(string) bool) {
		at := filepath.Clean(path)
		for yield(at) {
			above := filepath.Dir(at)
			if above == at {
				return
			}
			at = above
		}
	}
}
