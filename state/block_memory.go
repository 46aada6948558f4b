package state

import (
	"slices"
	"sync"
)

// blockMemory holds the facts of blocks as they were decoded, for a store that stays open. A key has the checksum of
// the change that sets the block, so it names its content. mu guards the map.
type blockMemory struct {
	mu     sync.Mutex
	blocks map[blockMemoryKey]Block
}

type blockMemoryKey struct {
	session sessionID
	step    StepNumber
	change  uint32 // its index in the step
	sum     [bodySum]byte
}

// maxKnownBlocks is how many blocks are held. When it is exceeded, the memory starts again empty.
const maxKnownBlocks = 1 << 14

func (m *blockMemory) get(k blockMemoryKey) (Block, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	b, ok := m.blocks[k]
	return b, ok
}

// put keeps a block. Readers share its nodes and its error, and must not change them.
func (m *blockMemory) put(k blockMemoryKey, b Block) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.blocks == nil || len(m.blocks) >= maxKnownBlocks {
		m.blocks = map[blockMemoryKey]Block{}
	}
	b.Nodes = slices.Clip(b.Nodes)
	m.blocks[k] = b
}
