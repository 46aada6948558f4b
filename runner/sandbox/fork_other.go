//go:build !linux

package sandbox

import (
	"errors"
	"os"
)

// Fork fails: only Linux offers what it takes.
func Fork(*os.File, []*os.File, Spec) (*Box, error) { return nil, errors.ErrUnsupported }
