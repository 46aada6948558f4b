//go:build unix && !darwin

package private

import (
	"io/fs"
	"syscall"
)

// signatureOf returns the signature of a file.
func signatureOf(info fs.FileInfo) signature {
	s := signature{Size: info.Size(), Modified: info.ModTime().UnixNano()}
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		s.Inode, s.Changed = st.Ino, st.Ctim.Nano()
	}
	return s
}
