package patch

import (
	"strconv"
	"strings"
	"unicode"
)

// slugLength bounds a name, in runes: it is typed on a command line.
const slugLength = 40

// Names returns an id for every block, in order: its own when it is the first to claim it, else a new one made from its
// title (a name of the program stays as it is, a phrase becomes lower-case words joined by "-"), else "b1", "b2", ….
// All are unique among themselves and the used.
func Names(blocks []Block, used ...string) []string {
	n := newNamer(used)
	ids := make([]string, len(blocks))
	for i, b := range blocks {
		if b.ID != "" && n.take(b.ID) {
			ids[i] = b.ID
		}
	}
	for i, b := range blocks {
		if ids[i] == "" {
			ids[i] = n.name(b)
		}
	}
	return ids
}

// namer hands out names that are not in use.
type namer struct {
	used   map[string]bool
	count  map[string]int // for a stem, the number last given out
	number int            // the highest n of a "bn" in use
}

func newNamer(used []string) *namer {
	n := &namer{used: make(map[string]bool, len(used)), count: map[string]int{}}
	for _, id := range used {
		n.take(id)
	}
	return n
}

// take marks id as used and reports whether it was free.
func (n *namer) take(id string) bool {
	if n.used[id] {
		return false
	}
	n.used[id] = true
	if k, ok := number(id); ok {
		n.number = max(n.number, k)
	}
	return true
}

func (n *namer) name(b Block) string {
	stem := slug(b.Title)
	if stem == "" {
		stem = slug(b.ID)
	}
	if stem == "" {
		id := "b" + strconv.Itoa(n.number+1)
		n.take(id)
		return id
	}
	return n.unique(stem)
}

// unique returns stem, or stem-2, stem-3, ….
func (n *namer) unique(stem string) string {
	for {
		n.count[stem]++
		id := stem
		if k := n.count[stem]; k > 1 {
			id += "-" + strconv.Itoa(k)
		}
		if n.take(id) {
			return id
		}
	}
}

// number returns the 12 of "b12".
func number(id string) (int, bool) {
	digits, ok := strings.CutPrefix(id, "b")
	if !ok || len(digits) > 9 || digits == "" || digits[0] == '+' || digits[0] == '-' {
		return 0, false
	}
	k, err := strconv.Atoi(digits)
	return k, err == nil
}

// slug makes a title fit for a command line: an identifier is kept, of anything else the letters and digits.
func slug(title string) string {
	if isIdentifier(title) {
		return cut(title)
	}
	words := strings.FieldsFunc(strings.ToLower(title), func(r rune) bool { return !isWord(r) })
	for len(words) > 1 && len([]rune(strings.Join(words, "-"))) > slugLength {
		words = words[:len(words)-1]
	}
	return cut(strings.Join(words, "-"))
}

func cut(s string) string {
	if r := []rune(s); len(r) > slugLength {
		return string(r[:slugLength])
	}
	return s
}

func isWord(r rune) bool {
	return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r)
}

func isIdentifier(s string) bool {
	for i, r := range s {
		if !isWord(r) || i == 0 && unicode.IsDigit(r) {
			return false
		}
	}
	return s != ""
}
