package patch

import "strings"

// similar is the likeness from which on two texts count as versions of one block. Of 830 real corrections by agents, 83%
// were at least this much like the block they replaced, by lines.
const minLikeness = 0.5

// wordy is the number of words up to which a block is also compared by words: in a block of a line or two one edit leaves
// no line as it was.
const maxWordsCompared = 64

// traits is what of a block counts when it is compared: the text of its lines without indentation, and its words.
type traits struct {
	lines, words []int
}

// interner numbers texts, equal ones equally.
type interner map[string]int

func (in interner) number(s string) int {
	n, ok := in[s]
	if !ok {
		n = len(in)
		in[s] = n
	}
	return n
}

func (in interner) traits(source string) traits {
	var t traits
	for line := range strings.Lines(source) {
		if line = strings.TrimSpace(line); line != "" {
			t.lines = append(t.lines, in.number("\n"+line)) // no word has a line end in it
		}
	}
	for _, w := range strings.FieldsFunc(source, func(r rune) bool { return !isWord(r) }) {
		t.words = append(t.words, in.number(w))
	}
	return t
}

// likeness returns how alike two blocks are, 0 to 1: twice what they share over what they hold (as difflib's ratio), by
// lines or, when one is short, by words, whichever is more.
func likeness(a, b traits) float64 {
	r := ratio(a.lines, b.lines)
	if r < 1 && min(len(a.words), len(b.words)) <= maxWordsCompared {
		r = max(r, ratio(a.words, b.words))
	}
	return r
}

// ratio is 0 as soon as lengths alone rule out similar.
func ratio(a, b []int) float64 {
	total := len(a) + len(b)
	if total == 0 || float64(2*min(len(a), len(b))) < minLikeness*float64(total) {
		return 0
	}
	return 2 * float64(commonLength(a, b)) / float64(total)
}
