//go:build !darwin

package basestate

import "syscall"

// changed is when the content or the metadata of a file last changed, in nanoseconds.
func changed(st *syscall.Stat_t) int64 { return st.Ctim.Nano() }
