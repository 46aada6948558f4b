package state

import (
	"io/fs"
	"slices"
	"sync"

	"github.com/xstate-engine/xstate/state/output"
)

// outputCache has outputs that were read from files of blobs. Each run of a program asks for those of all blocks, and
// to verify and decode a few megabytes of figures takes longer than a small block.
type outputCache struct {
	mu    sync.Mutex
	size  int // bytes
	known map[Digest]cachedOutputs
}

type cachedOutputs struct {
	file    fileVersion // that was verified
	outputs []output.Output
}

// maxOutputs is how many bytes of outputs are cached. When they are exceeded, the cache starts again empty.
const maxOutputs = 64 << 20

func (c *outputCache) get(d Digest, info fs.FileInfo) ([]output.Output, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	known, ok := c.known[d]
	if !ok || !known.file.equal(versionOf(info)) {
		return nil, false
	}
	return slices.Clone(known.outputs), true
}

func (c *outputCache) put(d Digest, info fs.FileInfo, outputs []output.Output, size int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.size += size; c.known == nil || c.size > maxOutputs {
		c.known, c.size = map[Digest]cachedOutputs{}, size
	}
	c.known[d] = cachedOutputs{versionOf(info), slices.Clone(outputs)}
}
