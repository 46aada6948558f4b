package acceptance

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"golang.org/x/tools/txtar"
)

// shrink looks for a smaller session that breaks the same law: fewer versions, blocks, statements, less
// that happens beside them.
func (c *referee) shrink(session []version, b *broken) ([]version, *broken) {
	until := time.Now().Add(2 * time.Minute)
	try := func(smaller []version) bool {
		if len(smaller) == 0 || time.Now().After(until) {
			return false
		}
		now := c.play(smaller)
		if now == nil || now.law != b.law {
			return false
		}
		session, b = smaller[:now.at+1], now
		return true
	}
	session = session[:b.at+1]
	for again := true; again; {
		again = false
		for i := len(session) - 2; i >= 0; i-- {
			again = i < len(session)-1 && try(slices.Delete(slices.Clone(session), i, i+1)) || again
		}
		for _, title := range titlesOf(session) {
			again = try(without(session, func(b randomBlock, _ statement) bool { return b.title == title })) || again
		}
		for _, number := range numbersOf(session) {
			again = try(without(session, func(_ randomBlock, s statement) bool { return s.number == number })) || again
		}
		for i := range session {
			for _, calmer := range session[i].calmer() {
				calm := slices.Clone(session)
				calm[i] = calmer
				if try(calm) {
					again = true
					break
				}
			}
			if i >= len(session)-1 {
				break // it became shorter
			}
		}
	}
	return session, b
}

// calmer returns the version with less that happens before it runs.
func (v version) calmer() []version {
	var found []version
	add := func(change func(*version)) {
		w := v.clone()
		change(&w)
		found = append(found, w)
	}
	if v.restart == newProcess {
		add(func(w *version) { w.restart = newKernel })
	}
	if v.restart != goOn {
		add(func(w *version) { w.restart = goOn })
	}
	if v.stop > 0 {
		add(func(w *version) { w.stop = 0 })
	}
	if v.hand != nil {
		add(func(w *version) { w.hand = nil })
	}
	return found
}

func titlesOf(session []version) []string {
	var titles []string
	for _, v := range session {
		for _, b := range v.blocks {
			if !slices.Contains(titles, b.title) {
				titles = append(titles, b.title)
			}
		}
	}
	return titles
}

func numbersOf(session []version) []int {
	var numbers []int
	for _, v := range session {
		for _, b := range v.blocks {
			for _, s := range b.statements {
				if !slices.Contains(numbers, s.number) {
					numbers = append(numbers, s.number)
				}
			}
		}
	}
	return numbers
}

// without is the session without some statements, and without the blocks that this empties.
func without(session []version, drop func(randomBlock, statement) bool) []version {
	var smaller []version
	for _, v := range session {
		v = v.clone()
		for i := range v.blocks {
			b := &v.blocks[i]
			b.statements = slices.DeleteFunc(b.statements, func(s statement) bool { return drop(*b, s) })
		}
		v.blocks = slices.DeleteFunc(v.blocks, func(b randomBlock) bool { return len(b.statements) == 0 })
		smaller = append(smaller, v)
	}
	return smaller
}

// archive is a session in the format of testdata/hazards. The blocks that should have run are not known: those that
// did are given, and for a law of minimality none.
func archive(session []version, b *broken) *txtar.Archive {
	a := &txtar.Archive{}
	comment := "Found by TestRandom; broken: " + b.law + ".\n\n"
	n := 0
	add := func(v version, before map[string][]byte, ran []string) {
		prefix := ""
		if n > 0 {
			prefix = fmt.Sprintf("step-%d/", n)
		}
		files := v.files()
		for _, name := range slices.Sorted(maps.Keys(files)) {
			if string(before[name]) != string(files[name]) {
				a.Files = append(a.Files, txtar.File{Name: prefix + name, Data: files[name]})
			}
		}
		for name, text := range v.hand {
			if text == "" {
				name = "-" + name
			}
			a.Files = append(a.Files, txtar.File{Name: prefix + name, Data: []byte(text)})
		}
		if n > 0 {
			a.Files = append(
				a.Files,
				txtar.File{Name: prefix + "ran", Data: []byte(strings.Join(append(ran, ""), "\n"))},
			)
		}
		n++
	}
	var before map[string][]byte
	for i, v := range session {
		comment += fmt.Sprintf("step %d: %s", i, v.edit)
		if v.restart != goOn {
			comment += [...]string{newKernel: "; a new interpreter", newProcess: "; a new process"}[v.restart]
		}
		if v.stop > 0 {
			comment += fmt.Sprintf("; interrupted once (%d)", v.stop)
		}
		comment += ".\n"
		var ran []string
		if i < len(b.ran) && (b.law != lawBack && b.law != lawInputs || i < b.at) {
			ran = b.ran[i]
		}
		add(v, before, ran)
		before = v.files()
	}
	if b.law == lawAgain || strings.HasPrefix(b.what, "second run: ") {
		last := session[len(session)-1].again()
		add(last, before, nil)
	}
	a.Comment = []byte(comment + "\n")
	return a
}
