package patch

import (
	"cmp"
	"slices"
	"sort"
)

// Comparing every block with every other would take 10^8 comparisons for a program of 10,000 edited blocks.
const (
	maxPairsAll = 20_000 // up to this number of pairs, all are compared
	// above it, each block is compared with this many neighbours and this many that share rare lines or words
	maxCandidatesPerBlock = 16
	maxHolders            = 16 // a line or word in more blocks is not rare
)

// shortlist returns a function that lists the old blocks worth comparing with a new one.
func (m *blockMatching) shortlist(oldAt, near []int) func(j int) []int {
	if len(oldAt)*len(free(m.oldOf)) <= maxPairsAll {
		return func(int) []int { return oldAt }
	}
	holders := map[int][]int{} // by line or word: the old blocks that have it
	for _, i := range oldAt {
		for _, n := range m.traits(m.old[i].Source).Distinct() {
			holders[n] = append(holders[n], i)
		}
	}
	return func(j int) []int {
		places := m.voted(j, holders, near[j])
		places = append(places, closest(oldAt, near[j], maxCandidatesPerBlock)...)
		slices.Sort(places)
		return slices.Compact(places)
	}
}

// voted returns the old blocks that share the most rare lines and words with a new one.
func (m *blockMatching) voted(j int, holders map[int][]int, place int) []int {
	votes := map[int]int{}
	for _, n := range m.traits(m.new[j].Source).Distinct() {
		if h := holders[n]; len(h) <= maxHolders {
			for _, i := range h {
				votes[i]++
			}
		}
	}
	places := make([]int, 0, len(votes))
	for i := range votes {
		places = append(places, i)
	}
	slices.SortFunc(places, func(a, b int) int {
		return cmp.Or(cmp.Compare(votes[b], votes[a]), cmp.Compare(distance(a, place), distance(b, place)),
			cmp.Compare(a, b))
	})
	return places[:min(len(places), maxCandidatesPerBlock)]
}

// closest returns the n places, from a rising list, that are nearest to one place.
func closest(places []int, place, n int) []int {
	at := sort.SearchInts(places, place)
	from, to := at, at
	for to-from < n && (from > 0 || to < len(places)) {
		if to == len(places) || from > 0 && place-places[from-1] <= places[to]-place {
			from--
		} else {
			to++
		}
	}
	return places[from:to]
}
