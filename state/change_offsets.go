package state

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
)

// The changes of a step lie behind a table of their sizes. To read one of a million without a look at all sizes, the store
// remembers where each 256th begins. It is only a hint: what is read has a checksum of its own.
const offsetGap = 256

type changeOffsets struct {
	mu   sync.Mutex
	kept map[offsetsKey][]int
	size int
}

type offsetsKey struct {
	session sessionID
	step    StepNumber
	bytes   int
}

// maxLandmarks is how many of them are remembered: 8 MB, enough for steps of 270 million changes together.
const maxOffsets = 1 << 20

// of returns where each 256th change of a body begins, and where the last ends.
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

// size returns the size of change i.
func (b body) size(i int) int { return int(binary.BigEndian.Uint32(b[4+bodyEntry*i:])) }

// change returns change i, not verified.
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
