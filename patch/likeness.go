package patch

import "strings"

// minLikeness is the similarity at which two texts count as versions of one block. Of 830 real corrections by agents,
// 83% were at least this similar to the block they replaced, by lines.
const minLikeness = 0.5

// maxWordsCompared is the largest block, in words, that is also compared by words. In a block of one or two lines, one
// edit can change every line.
const maxWordsCompared = 64

// traits are what a comparison of blocks uses: the lines without indentation, and the words.
type traits struct {
	lines, words []int
}

// interner numbers texts. Equal texts get equal numbers.
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
			t.lines = append(t.lines, in.number("\n"+line)) // no word contains a line end
		}
	}
	for _, w := range strings.FieldsFunc(source, func(r rune) bool { return !isWord(r) }) {
		t.words = append(t.words, in.number(w))
	}
	return t
}

// likeness returns the similarity of two blocks, 0 to 1: twice the size of what they share over the size of both, like
// difflib's ratio. It compares lines and, if one block is short, words; the higher value counts.
func likeness(a, b traits) float64 {
	r := ratio(a.lines, b.lines)
	if r < 1 && min(len(a.words), len(b.words)) <= maxWordsCompared {
		r = max(r, ratio(a.words, b.words))
	}
	return r
}

// ratio returns 0 as soon as the lengths alone rule out minLikeness.
func ratio(a, b []int) float64 {
	total := len(a) + len(b)
	if total == 0 || float64(2*min(len(a), len(b))) < minLikeness*float64(total) {
		return 0
	}
	return 2 * float64(commonLength(a, b)) / float64(total)
}
