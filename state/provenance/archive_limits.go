package provenance

import (
	"archive/zip"
	"cmp"
	"fmt"
	"io"
	"path"
	"slices"

	"github.com/xstate-engine/xstate/state"
)

// An archive comes from outside. A zip file of one megabyte can claim to hold a gigabyte, and hold it: deflate shrinks
// zeros to a thousandth. So sizes are bounded twice: by what the directory of the file claims, before anything is
// unpacked, and while an entry is read. A record that is decoded takes up to fifty times its bytes in memory.

// CodeArchiveLarge is the code of errors about an archive that claims to hold more than an import takes.
const CodeArchiveLarge state.Code = "archive-too-large"

const (
	maxIndex    = 4 << 20  // bytes of xstate.json: sixteen thousand sessions, each forked from the one before
	maxEntry    = 8 << 20  // a trace, a value's description, a call
	maxRecord   = 64 << 20 // a text, or a session record
	maxStepPart = 64 << 20 // the header or the changes of one step

	maxRatio       = 100      // how much smaller than its content an archive may be, beyond
	freeOfRecords  = 64 << 20 // so many bytes of records
	freeOfContents = 1 << 30  // so many bytes of blobs and bases
)

// limit is how many bytes of an entry an import reads into memory.
func limitOf(name string, entries map[string]*zip.File) int64 {
	switch path.Dir(name) {
	case ".":
		if name != archiveSums {
			return maxIndex
		}
		size := int64(4096)
		for other := range entries { // a digest, two spaces, the name and a line feed for each
			size += int64(64 + 2 + len(other) + 1)
		}
		return size
	case "traces", "values", "calls":
		return maxEntry
	}
	return maxRecord
}

// readBounded reads all of r, which has at most limit bytes.
func readBounded(r io.Reader, limit int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = fmt.Errorf("it has more than %s", bytesText(uint64(limit)))
	}
	return data, err
}

// isContent reports whether an entry is copied into the store and not decoded.
func isContent(e *zip.File) bool {
	folder := path.Dir(e.Name)
	return folder == "blobs" || folder == "bases"
}

// checkRecords refuses an archive whose records claim to be more than an import takes. Those of steps are read one by
// one, and the others have separate bounds.
func checkRecords(entries map[string]*zip.File, size int64) error {
	for _, name := range []string{archiveIndex, archiveSums} {
		if e := entries[name]; e != nil && e.UncompressedSize64 > uint64(limitOf(name, entries)) {
			return tooLarge(e, uint64(limitOf(name, entries)))
		}
	}
	return checkClaims(entries, size, func(e *zip.File) bool { return !isContent(e) }, freeOfRecords,
		"no session has such a history; get the archive again from who made it")
}

// checkContents refuses an archive that would fill the disk from a small file. A user who trusts the author may import
// it all the same.
func checkContents(entries map[string]*zip.File, size int64) error {
	return checkClaims(entries, size, isContent, freeOfContents,
		"if you know who made it: `xstate import ARCHIVE --trust`")
}

// checkClaims compares what entries of one kind claim to hold with their size in an archive of so many bytes.
func checkClaims(
	entries map[string]*zip.File, size int64, kind func(*zip.File) bool, free uint64, hint string,
) error {
	var packed, claimed uint64
	var largest *zip.File
	for _, e := range entries {
		if !kind(e) {
			continue
		}
		packed, claimed = packed+e.CompressedSize64, claimed+min(e.UncompressedSize64, 1<<62-claimed)
		if largest == nil || cmp.Or(cmp.Compare(e.UncompressedSize64, largest.UncompressedSize64),
			cmp.Compare(largest.Name, e.Name)) > 0 {
			largest = e
		}
	}
	packed = min(packed, uint64(size)) // entries may overlap
	if claimed <= free || (claimed-free)/maxRatio <= packed {
		return nil
	}
	return &state.Error{
		Code: CodeArchiveLarge,
		Message: fmt.Sprintf("the archive claims to hold %s, packed into %s; most of it is %s with %s",
			bytesText(claimed), bytesText(packed), largest.Name, bytesText(largest.UncompressedSize64)),
		Hint: hint + "; nothing was imported",
	}
}

func tooLarge(e *zip.File, limit uint64) error {
	return &state.Error{
		Code: CodeArchiveLarge,
		Message: fmt.Sprintf("%s of the archive claims to hold %s; an import reads at most %s of it",
			e.Name, bytesText(e.UncompressedSize64), bytesText(limit)),
		Hint: "no session has such a record; get the archive again from who made it; nothing was imported",
	}
}

// bytesText is a number of bytes for people.
func bytesText(n uint64) string {
	units := []string{"B", "kB", "MB", "GB", "TB"}
	size, i := float64(n), 0
	for ; size >= 1000 && i < len(units)-1; i++ {
		size /= 1000
	}
	return fmt.Sprintf("%.*f %s", slices.Min([]int{i, 1}), size, units[i])
}
