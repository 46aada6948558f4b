package patch

import (
	"strconv"
	"strings"
	"unicode"

	"github.com/xstate-engine/xstate/patch/diff"
)

// slugLength limits an id, in runes, because people type it on a command line.
const slugLength = 40

// Names returns an id for each block, in order. A block keeps its own id if it is the first to claim it. Otherwise
// Names makes an id from the title: a Python name stays as it is, and a phrase becomes lower-case words joined by "-".
// Without a title the ids are "b1", "b2", and so on. All ids differ from each other and from those in used.
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

// namer creates ids that are not in use.
type namer struct {
	used   map[string]bool
	count  map[string]int // by stem: the last number given out
	number int            // the highest n of an id "bn" in use
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

// slug turns a title into an id that is easy to type. It keeps an identifier, and the letters and digits of any other
// title.
func slug(title string) string {
	if isIdentifier(title) {
		return cut(title)
	}
	words := strings.FieldsFunc(strings.ToLower(title), func(r rune) bool { return !diff.IsWord(r) })
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

func isIdentifier(s string) bool {
	for i, r := range s {
		if !diff.IsWord(r) || i == 0 && unicode.IsDigit(r) {
			return false
		}
	}
	return s != ""
}
