package state

import (
	"os"
	"sync"
	"time"
)

// verifiedBlobs remembers which files of blobs have the content that their names are the digests of. A kernel reads the
// memory of large arrays from such a file itself. To hash a gigabyte takes half a second, which a process that loads
// values again and again must not spend each time.
type verifiedBlobs struct {
	mu    sync.Mutex
	files map[Digest]fileVersion
}

// fileVersion distinguishes a file from one that was written in its place.
type fileVersion struct {
	info os.FileInfo
	time time.Time
	size int64
}

func versionOf(info os.FileInfo) fileVersion { return fileVersion{info, info.ModTime(), info.Size()} }

func (v fileVersion) equal(o fileVersion) bool {
	return v.info != nil && os.SameFile(v.info, o.info) && v.time.Equal(o.time) && v.size == o.size
}

// has reports whether the content of this version of a file was verified.
func (v *verifiedBlobs) has(d Digest, info os.FileInfo) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.files[d].equal(versionOf(info))
}

// add remembers that it was.
func (v *verifiedBlobs) add(d Digest, info os.FileInfo) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.files == nil {
		v.files = map[Digest]fileVersion{}
	}
	v.files[d] = versionOf(info)
}
