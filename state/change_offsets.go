package state

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
)

// The changes of a step lie behind a table of their sizes, so the offset of one change is a sum over that table. In a
// step of a million changes the sum costs more than the change. So the store caches where each 256th change begins. The
// cache need not be trusted: every change has a checksum.
const offsetGap = 256

// changeOffsets caches the offsets of large steps. mu guards both fields.
type changeOffsets struct {
	mu   sync.Mutex
	kept map[offsetsKey][]int
	size int // offsets in kept, of all steps
}

// offsetsKey includes the size of the body, so that a garbled body is not read by the offsets of the intact one.
type offsetsKey struct {
	session sessionID
	step    StepNumber
	bytes   int
}

// maxOffsets is how many offsets are cached: 8 MB, enough for steps of 270 million changes together. When it is
// exceeded, the cache starts again empty.
const maxOffsets = 1 << 20

// ofBody returns where each 256th change of a body begins. Small bodies are not cached: to add up at most 256 sizes
// is cheap.
func (l *changeOffsets) ofBody(session sessionID, n StepNumber, b body) ([]int, error) {
	count, err := b.count()
	if err != nil {
		return nil, err
	}
	key := offsetsKey{session, n, len(b)}
	if count > offsetGap {
		l.mu.Lock()
		defer l.mu.Unlock()
		if kept := l.kept[key]; kept != nil {
			return kept, nil
		}
	}
	at := 4 + bodyEntry*count
	var marks []int
	for i := range count {
		if i%offsetGap == 0 {
			marks = append(marks, at)
		}
		at += b.size(i)
	}
	if at != len(b) {
		return nil, errors.New("its table of changes does not fit them")
	}
	if count > offsetGap {
		if l.size += len(marks); l.size > maxOffsets || l.kept == nil {
			l.kept, l.size = make(map[offsetsKey][]int), len(marks)
		}
		l.kept[key] = marks
	}
	return marks, nil
}

// size returns the size of change i in bytes.
func (b body) size(i int) int { return int(binary.BigEndian.Uint32(b[4+bodyEntry*i:])) }

// sum returns the checksum of change i. ok is false if the step has no change i.
func (b body) sum(i int) (sum [bodySum]byte, ok bool) {
	if count, err := b.count(); err != nil || i >= count {
		return sum, false
	}
	copy(sum[:], b[4+bodyEntry*i+4:])
	return sum, true
}

// change returns change i without verifying it.
func (b body) change(marks []int, i int) ([]byte, error) {
	count, err := b.count()
	if err != nil {
		return nil, err
	}
	if i >= count || i/offsetGap >= len(marks) {
		return nil, fmt.Errorf("it has no change %d", i)
	}
	at := marks[i/offsetGap]
	for j := i - i%offsetGap; j < i; j++ {
		at += b.size(j)
	}
	if end := at + b.size(i); end <= len(b) {
		return b[at:end], nil
	}
	return nil, errors.New("its table of changes does not fit them")
}
