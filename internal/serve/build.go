package serve

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"sync"
)

// Build names the binary of this process by its content, as far as that is cheap to learn: by the identifier that Go's
// linker puts into it, else by its size and time.
var Build = sync.OnceValue(func() string {
	path, err := os.Executable()
	if err != nil {
		return "unknown"
	}
	what := linkerID(path)
	if len(what) == 0 {
		info, err := os.Stat(path)
		if err != nil {
			return "unknown"
		}
		what = fmt.Appendf(nil, "%d %d", info.Size(), info.ModTime().UnixNano())
	}
	sum := sha256.Sum256(what)
	return hex.EncodeToString(sum[:8])
})

// linkerID returns the build identifier of a Go program; nil if it has none that is easy to find. In an ELF file it is
// a note near the beginning, in others a text.
func linkerID(path string) []byte {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	head := make([]byte, 64<<10)
	n, _ := io.ReadFull(f, head)
	head = head[:n]
	name := []byte("\x04\x00\x00\x00Go\x00\x00") // the type of the note, and who defines it
	if at := bytes.Index(head, name); at >= 8 && bytes.HasPrefix(head, []byte("\x7fELF")) {
		size, note := binary.LittleEndian.Uint32(head[at-4:]), head[at+len(name):]
		if size > 0 && int64(size) <= int64(len(note)) {
			return note[:size]
		}
	}
	_, rest, found := bytes.Cut(head, []byte("\xff Go build ID: \""))
	id, _, ends := bytes.Cut(rest, []byte("\"\n \xff"))
	if !found || !ends {
		return nil
	}
	return id
}
