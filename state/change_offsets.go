package state

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
)

// The changes of a step lie behind a table of their sizes. To read one of a million without a look at all sizes, the store
// remembers where each 256th begins. It is only a hint: what is read has a checksum of its own.
const landmarkGap = 256

type landmarks struct {
	mu   sync.Mutex
	kept map[landmarkKey][]int
	size int
}

type landmarkKey struct {
	session sessionID
	step    StepNumber
	bytes   int
}

// maxLandmarks is how many of them are remembered: 8 MB, enough for steps of 270 million changes together.
const maxLandmarks = 1 << 20

// of returns where each 256th change of a body begins, and where the last ends.
func (l *landmarks) of(session sessionID, n StepNumber, b body) ([]int, error) {
	count, err := b.count()
	if err != nil {
		return nil, err
	}
	key := landmarkKey{session, n, len(b)}
	if count > landmarkGap {
		l.mu.Lock()
		defer l.mu.Unlock()
		if kept := l.kept[key]; kept != nil {
			return kept, nil
		}
	}
	at := 4 + bodyEntry*count
	var marks []int
	for i := range count {
		if i%landmarkGap == 0 {
			marks = append(marks, at)
		}
		at += b.size(i)
	}
	if at != len(b) {
		return nil, errors.New("its table of changes does not fit them")
	}
	if count > landmarkGap {
		if l.size += len(marks); l.size > maxLandmarks || l.kept == nil {
			l.kept, l.size = make(map[landmarkKey][]int), len(marks)
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
	if i >= count || i/landmarkGap >= len(marks) {
		return nil, fmt.Errorf("it has no change %d", i)
	}
	at := marks[i/landmarkGap]
	for j := i - i%landmarkGap; j < i; j++ {
		at += b.size(j)
	}
	if end := at + b.size(i); end <= len(b) {
		return b[at:end], nil
	}
	return nil, errors.New("its table of changes does not fit them")
}
