//go:build !linux

package sandbox

import "time"

// ProcessorTime is not known on this system.
func ProcessorTime(int) time.Duration { return 0 }
