package runner

import "hash/maphash"

// table finds numbers by what they represent. It is a hash table of the numbers alone, at 7 bytes each. A map would
// hold what they represent once more. hash returns the hash of what a number represents. 0 is not a number.
type table struct {
	slots []uint32
	count int
	hash  func(uint32) uint64
}

var tableSeed = maphash.MakeSeed()

func hashText[T ~string](text T) uint64 { return maphash.String(tableSeed, string(text)) }

// find returns the number with this hash for which is returns true, or 0.
func (t *table) find(hash uint64, is func(uint32) bool) uint32 {
	if t.count == 0 {
		return 0
	}
	mask := uint64(len(t.slots) - 1)
	for i := hash & mask; t.slots[i] != 0; i = (i + 1) & mask {
		if is(t.slots[i]) {
			return t.slots[i]
		}
	}
	return 0
}

// add adds a number that is not there.
func (t *table) add(x uint32) {
	if 4*(t.count+1) > 3*len(t.slots) {
		old := t.slots
		t.slots, t.count = make([]uint32, max(16, 2*len(old))), 0
		for _, y := range old {
			if y != 0 {
				t.put(y)
			}
		}
	}
	t.put(x)
}

func (t *table) put(x uint32) {
	mask := uint64(len(t.slots) - 1)
	i := t.hash(x) & mask
	for t.slots[i] != 0 {
		i = (i + 1) & mask
	}
	t.slots[i] = x
	t.count++
}

// remove removes a number that is there. Later numbers move up: no gap may part one from the slot that its hash names.
func (t *table) remove(x uint32) {
	mask := uint64(len(t.slots) - 1)
	gap := t.hash(x) & mask
	for t.slots[gap] != x {
		gap = (gap + 1) & mask
	}
	for i := (gap + 1) & mask; t.slots[i] != 0; i = (i + 1) & mask {
		if home := t.hash(t.slots[i]) & mask; (i-home)&mask >= (i-gap)&mask {
			t.slots[gap] = t.slots[i]
			gap = i
		}
	}
	t.slots[gap] = 0
	t.count--
}
