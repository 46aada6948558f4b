package serve

import (
	"bytes"
	"crypto/sha256"
	"debug/elf"
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

// linkerID returns the build identifier of a Go program; nil if it has none that is easy to find.
func linkerID(path string) []byte {
	if f, err := elf.Open(path); err == nil {
		defer f.Close()
		if note := f.Section(".note.go.buildid"); note != nil {
			if data, err := note.Data(); err == nil && len(data) > 16 {
				return data[16:]
			}
		}
		return nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	head := make([]byte, 64<<10)
	n, _ := io.ReadFull(f, head)
	_, rest, found := bytes.Cut(head[:n], []byte("\xff Go build ID: \""))
	id, _, ends := bytes.Cut(rest, []byte("\"\n \xff"))
	if !found || !ends {
		return nil
	}
	return id
}
