//go:build !unix || solaris || illumos || aix

package state

import "os"

// tryLock leaves it to bbolt's own lock, which a process keeps for as long as it has a database open.
func tryLock(*os.File, bool) (bool, error) { return true, nil }

func unlock(*os.File) {}

func inode(os.FileInfo) uint64 { return 0 }
