package patch

import (
	"cmp"
	"slices"
	"sort"
)

// Comparing every block with every other costs 10^8 comparisons for a program of 10,000 blocks of which each was touched.
const (
	maxPairsAll           = 20_000 // up to so many pairs all are compared
	maxCandidatesPerBlock = 16     // else so many per block, of those in the neighbourhood and of those that share rare lines or words
	maxHolders            = 16     // what so many blocks share tells nothing
)

// shortlist returns a function that gives the old blocks worth comparing with a new one.
func (m *blockMatching) shortlist(oldAt, near []int) func(j int) []int {
	if len(oldAt)*len(free(m.oldOf)) <= maxPairsAll {
		return func(int) []int { return oldAt }
	}
	holders := map[int][]int{} // a line or word, the old blocks it is in
	for _, i := range oldAt {
		for _, n := range m.traits(m.old[i].Source).distinct() {
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

// voted returns the old blocks that share most of what is rare with a new one.
func (m *blockMatching) voted(j int, holders map[int][]int, place int) []int {
	votes := map[int]int{}
	for _, n := range m.traits(m.new[j].Source).distinct() {
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
		return cmp.Or(cmp.Compare(votes[b], votes[a]), cmp.Compare(distance(a, place), distance(b, place)), cmp.Compare(a, b))
	})
	return places[:min(len(places), maxCandidatesPerBlock)]
}

// closest returns up to n of the rising places that are nearest to one.
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

func (t traits) distinct() []int {
	all := slices.Concat(t.lines, t.words)
	slices.Sort(all)
	return slices.Compact(all)
}
