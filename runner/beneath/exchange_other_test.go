//go:build !linux

package beneath

import "os"

// exchange puts two files in each other's place.
func exchange(a, b string) error {
	if err := os.Rename(a, a+"-aside"); err != nil {
		return err
	}
	if err := os.Rename(b, a); err != nil {
		return os.Rename(a+"-aside", a)
	}
	return os.Rename(a+"-aside", b)
}
