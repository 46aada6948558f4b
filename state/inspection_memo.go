package state

import (
	"bytes"
	"os"
	"strings"
	"sync"
)

// inspectionMemo describes a database file that was known to be sound: since the machine started, the file was
// inspected, or a transaction wrote it after an inspection. While the file still fits the description, openBolt skips
// the inspection, which in a long history reads thousands of pages and costs more than most queries. The memo lies
// beside the file, in *.sound. A medium that corrupts data leaves size and time unchanged, so the memo cannot see
// that; Check always inspects.
type inspectionMemo struct {
	Inode uint64 `cbor:"inode"`
	Size  int64  `cbor:"size"`
	Time  int64  `cbor:"time"`
	Metas []byte `cbor:"metas"`

	// Boot identifies the start of the machine. results.db is not synced, so after a crash of the machine its pages
	// may be of different transactions.
	Boot string `cbor:"boot"`
}

// metas are the two meta pages of a file, byte for byte. They hold bbolt's transaction number, so every commit changes
// them.
type metas [2][pageHeader + metaSize]byte

const metaSize = 64

// readMetas reads both meta pages.
func readMetas(f *os.File) (m metas, err error) {
	for i := range m {
		if _, err := f.ReadAt(m[i][:], int64(i)*pageSize); err != nil {
			return m, err
		}
	}
	return m, nil
}

// write restores the meta pages of a file and syncs it.
func (m *metas) write(f *os.File) error {
	for i := range m {
		if _, err := f.WriteAt(m[i][:], int64(i)*pageSize); err != nil {
			return err
		}
	}
	return f.Sync()
}

// bootID identifies this start of the machine; "" if the system does not say, and then no memo is valid.
var bootID = sync.OnceValue(func() string {
	id, _ := os.ReadFile("/proc/sys/kernel/random/boot_id") // unreadable: ""
	return strings.TrimSpace(string(id))
})

func (d *database) memoPath() string { return strings.TrimSuffix(d.path, ".db") + ".sound" }

func encodeInspectionMemo(info os.FileInfo, m metas) []byte {
	return encode(inspectionMemo{
		inode(info),
		info.Size(),
		info.ModTime().UnixNano(),
		bytes.Join([][]byte{m[0][:], m[1][:]}, nil),
		bootID(),
	})
}

// isKnownSound reports whether the memo describes the file as it is now.
func (d *database) isKnownSound(info os.FileInfo, m metas) bool {
	note, err := os.ReadFile(d.memoPath())
	if err != nil || bootID() == "" {
		return false
	}
	kept, err := unseal([]byte(d.name), nil, note)
	return err == nil && bytes.Equal(kept, encodeInspectionMemo(info, m))
}

// rememberSound writes the memo. A failure is ignored: the next opening inspects the file again.
func (d *database) rememberSound(info os.FileInfo, m metas) {
	if d.options.readOnly {
		return
	}
	f, err := os.OpenFile(d.memoPath(), os.O_WRONLY|os.O_CREATE, fileMode)
	if err != nil {
		return
	}
	defer f.Close()
	// The seal covers the database's name: a memo copied from another database is not valid.
	note := seal([]byte(d.name), nil, encodeInspectionMemo(info, m))
	if _, err := f.WriteAt(note, 0); err == nil { // in place: to truncate first takes ten times as long
		if old, err := f.Stat(); err == nil && old.Size() != int64(len(note)) {
			_ = f.Truncate(int64(len(note)))
		}
	}
}
