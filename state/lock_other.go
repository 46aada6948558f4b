//go:build !unix || solaris || illumos || aix

package state

import "os"

// tryLock always succeeds. bbolt's own lock remains, which a process keeps while it has a database open.
func tryLock(*os.File, bool) (bool, error) { return true, nil }

func unlock(*os.File) {}

func inode(os.FileInfo) uint64 { return 0 }
