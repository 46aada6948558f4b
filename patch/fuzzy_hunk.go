package patch

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/sergi/go-diff/diffmatchpatch"

	"github.com/xstate-engine/xstate/patch/diff"
)

const (
	maxCandidates     = 3    // candidates in an error
	minFuzzyScore     = 0.9  // a place with this similarity is taken for the right one,
	minFuzzyLead      = 0.05 // if every other place is less similar by this much
	maxBytesByChar    = 4096 // up to this size texts are compared by characters, longer ones by lines
	maxPlacesOfVote   = 64   // a line or word with more places says nothing about a place
	maxPlacesCompared = 16   // places compared in full
	maxLinesShown     = 12   // lines of a candidate that an error shows
)

// fuzzy returns the one place, from a line on, that is very similar to the old lines. Only lines that the hunk
// keeps may differ. If the removed lines differ, the patch was made for another text: "return 3 * x" is 97% similar to
// "return 2 * x".
func (l *locator) fuzzy(h *Hunk, old []string, from int) (int, bool) {
	best := l.similar(old, from)
	if len(best) == 0 || best[0].Score < minFuzzyScore || len(best) > 1 && best[1].Score > best[0].Score-minFuzzyLead {
		return 0, false
	}
	i := best[0].Line - 1
	if i+len(old) > l.len() {
		return 0, false
	}
	for k, line := range old {
		if squeezed(line) != squeezed(l.full(i+k)) && l.number(line, Punctuation) >= 0 {
			return 0, false // the line is elsewhere in the text, and that place was meant
		}
	}
	for _, c := range diff.Changes(bares(old), bares(diff.SplitLines(h.New))) {
		for k := c.OldStart; k < c.OldEnd; k++ {
			if squeezed(old[k]) != squeezed(l.full(i+k)) {
				return 0, false
			}
		}
	}
	return i, true
}

// squeezed returns a line without white space and with plain punctuation.
func squeezed(line string) string { return strings.Join(strings.Fields(plainPunctuation(line)), "") }

// similar returns the places most similar to some lines, best first.
func (l *locator) similar(old []string, from int) []Candidate {
	var out []Candidate
	want := strings.Join(old, "")
	for _, i := range l.voted(old, from) {
		after := min(i+len(old), l.len())
		have := l.span(i, after)
		out = append(out, Candidate{Line: i + 1, Score: likeTexts(want, have), Text: have})
	}
	slices.SortStableFunc(out, func(a, b Candidate) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score),
			cmp.Compare(a.Line, b.Line))
	})
	return out
}

// voted returns the places at which most of the rarer lines and words match.
func (l *locator) voted(old []string, from int) []int {
	votes := map[int]int{}
	vote := func(places []int32, k, weight int) {
		if len(places) <= maxPlacesOfVote {
			for _, p := range places {
				if i := int(p) - k; i >= from && i < l.len() {
					votes[i] += weight
				}
			}
		}
	}
	for k, line := range old {
		if n := l.number(line, Punctuation); n >= 0 && !blankLine(line) {
			vote(l.at[Punctuation][n], k, 8)
		}
	}
	l.indexWords()
	for k, line := range old[:min(len(old), 4*maxLinesShown)] {
		for _, w := range wordsOf(line) {
			vote(l.words[w], k, 1)
		}
	}
	places := make([]int, 0, len(votes))
	for i := range votes {
		places = append(places, i)
	}
	slices.SortFunc(places, func(a, b int) int { return cmp.Or(cmp.Compare(votes[b], votes[a]), cmp.Compare(a, b)) })
	return places[:min(len(places), maxPlacesCompared)]
}

func (l *lineIndex) indexWords() {
	if l.words != nil {
		return
	}
	l.words = map[string][]int32{}
	for i := range l.len() {
		for _, w := range wordsOf(l.full(i)) {
			if at := l.words[w]; len(at) <= maxPlacesOfVote && (len(at) == 0 || at[len(at)-1] != int32(i)) {
				l.words[w] = append(at, int32(i))
			}
		}
	}
}

func wordsOf(line string) []string {
	return strings.FieldsFunc(line, func(r rune) bool { return !diff.IsWord(r) })
}

// likeTexts returns the similarity of two texts by characters, 0 to 1: one minus the part that must be edited
// (Levenshtein).
func likeTexts(a, b string) float64 {
	if a == b {
		return 1
	}
	if len(a)+len(b) > maxBytesByChar {
		var in diff.Interner = map[string]int{}
		return diff.Ratio(in.Traits(a).Lines, in.Traits(b).Lines)
	}
	d := diffmatchpatch.New()
	d.DiffTimeout = 0 // no clock: equal input, equal output
	x, y := []rune(a), []rune(b)
	return 1 - float64(d.DiffLevenshtein(d.DiffMainRunes(x, y, false)))/float64(max(len(x), len(y)))
}

// absent returns the error for a hunk whose old text is not there.
func (l *locator) absent(old []string) *ApplyError {
	c := &ApplyError{Code: CodeAbsent, Message: "the text to replace is not there",
		Hint: "read the current text (`xstate query --full`) and make the patch again from it"}
	c.Candidates = l.similar(old, 0)
	c.Candidates = c.Candidates[:min(len(c.Candidates), maxCandidates)]
	for i := range c.Candidates {
		c.Candidates[i].Text = firstLines(c.Candidates[i].Text)
	}
	if len(c.Candidates) > 0 {
		c.Message += fmt.Sprintf("; the most similar place is line %d", c.Candidates[0].Line)
	}
	return c
}

// firstLines returns the part of a text that an error shows.
func firstLines(text string) string {
	at := 0
	for range maxLinesShown {
		i := strings.IndexByte(text[at:], '\n')
		if i < 0 {
			return text
		}
		at += i + 1
	}
	return text[:at]
}

// ambiguous returns the error for a hunk whose old text is there several times.
func (l *locator) ambiguous(lines []int, size int) *ApplyError {
	c := &ApplyError{Code: CodeAmbiguous, Hint: "include more of the lines around it, so that only one place matches"}
	var at []string
	for _, i := range lines[:min(len(lines), maxCandidates)] {
		c.Candidates = append(c.Candidates, Candidate{Line: i + 1, Score: 1,
			Text: firstLines(l.span(i, min(i+size, l.len())))})
		at = append(at, fmt.Sprint(i+1))
	}
	more := ""
	if len(lines) > maxCandidates {
		more = " and more"
	}
	c.Message = "the text to replace occurs several times: at lines " + strings.Join(at, ", ") + more
	return c
}
