package state

import (
	"bytes"
	"os"
	"strings"
	"sync"
)

// An inspection reads pages by the thousand, which in a long history costs more than what a query is about. What it found
// holds until somebody writes to the file: a note beside it tells the size, time and meta pages of the file that was last
// found sound, or was sound and then written by a transaction, since the machine was started. A medium that changes what
// was written leaves the time as it was: that is for Check to find, which always inspects.
type soundRecord struct {
	Inode uint64 `cbor:"inode"`
	Size  int64  `cbor:"size"`
	Time  int64  `cbor:"time"`
	Metas []byte `cbor:"metas"`
	Boot  string `cbor:"boot"` // results.db is not synced: when the machine stops, its pages may be of several times
}

// metas are the two meta pages of a file, byte for byte.
type metas [2][pageHeader + metaSize]byte

const metaSize = 64

func readMetas(f *os.File) (m metas, err error) {
	for i := range m {
		if _, err := f.ReadAt(m[i][:], int64(i)*pageSize); err != nil {
			return m, err
		}
	}
	return m, nil
}

// write makes the meta pages of a file what they were.
func (m *metas) write(f *os.File) error {
	for i := range m {
		if _, err := f.WriteAt(m[i][:], int64(i)*pageSize); err != nil {
			return err
		}
	}
	return f.Sync()
}

var bootID = sync.OnceValue(func() string {
	id, _ := os.ReadFile("/proc/sys/kernel/random/boot_id") // none: nothing is remembered
	return strings.TrimSpace(string(id))
})

func (d *database) soundPath() string { return strings.TrimSuffix(d.path, ".db") + ".sound" }

func soundOf(info os.FileInfo, m metas) []byte {
	return encode(soundRecord{inode(info), info.Size(), info.ModTime().UnixNano(), bytes.Join([][]byte{m[0][:], m[1][:]}, nil), bootID()})
}

// known reports whether the file was found sound as it is.
func (d *database) known(info os.FileInfo, m metas) bool {
	note, err := os.ReadFile(d.soundPath())
	if err != nil || bootID() == "" {
		return false
	}
	kept, err := unseal([]byte(d.name), nil, note)
	return err == nil && bytes.Equal(kept, soundOf(info, m))
}

// remember notes that the file is sound. Where the note cannot be kept, the file is inspected again.
func (d *database) remember(info os.FileInfo, m metas) {
	if d.options.readOnly {
		return
	}
	f, err := os.OpenFile(d.soundPath(), os.O_WRONLY|os.O_CREATE, 0o666)
	if err != nil {
		return
	}
	defer f.Close()
	note := seal([]byte(d.name), nil, soundOf(info, m))
	if _, err := f.WriteAt(note, 0); err == nil { // over the one before: to cut a file off and write it anew takes ten times as long
		if old, err := f.Stat(); err == nil && old.Size() != int64(len(note)) {
			_ = f.Truncate(int64(len(note)))
		}
	}
}
