package diff

import (
	"slices"
	"sort"
)

// Pair says that item I of one list equals item J of the other. Both count from 0.
type Pair struct{ I, J int }

// maxEqualPairs limits the pairs of equal items for which Common is exact. If a list repeats itself more than that (a
// thousand equal blocks against a thousand), Common compares an item only with those of nearly the same rank among its
// equals.
const (
	maxEqualPairs = 1 << 20
	rankWindow    = 16
)

// Common returns a longest common subsequence of two lists, in order. It uses the algorithm of Hunt and Szymanski
// (1977). The cost is O((r+n) log n) for r pairs of equal items, which is linear in practice if items are mostly
// distinct.
func Common(a, b []int) []Pair {
	head := 0
	for head < len(a) && head < len(b) && a[head] == b[head] {
		head++
	}
	foot := 0
	for foot < len(a)-head && foot < len(b)-head && a[len(a)-1-foot] == b[len(b)-1-foot] {
		foot++
	}
	out := make([]Pair, 0, head+foot)
	for k := range head {
		out = append(out, Pair{k, k})
	}
	for _, p := range longestChain(a[head:len(a)-foot], b[head:len(b)-foot]) {
		out = append(out, Pair{p.I + head, p.J + head})
	}
	for k := foot; k > 0; k-- {
		out = append(out, Pair{len(a) - k, len(b) - k})
	}
	return out
}

// step is the last pair of a chain of pairs that rise in both lists. before is the index of the previous step, or -1.
type step struct {
	Pair
	before int
}

// longestChain keeps, for every length, the chain whose last j is lowest. It extends the chains item by item of a.
func longestChain(a, b []int) []Pair {
	var steps []step
	var ends []int // ends[k] is the step that ends the best chain of k+1 pairs
	equal := equals(a, b)
	for i := range a {
		js := equal(i)
		for n := len(js) - 1; n >= 0; n-- { // downwards, so that each i is used once
			j := js[n]
			k := sort.Search(len(ends), func(k int) bool { return steps[ends[k]].J >= j })
			s := step{Pair: Pair{i, j}, before: -1}
			if k > 0 {
				s.before = ends[k-1]
			}
			if k == len(ends) {
				ends = append(ends, 0)
			}
			ends[k] = len(steps)
			steps = append(steps, s)
		}
	}
	if len(ends) == 0 {
		return nil
	}
	var out []Pair
	for at := ends[len(ends)-1]; at >= 0; at = steps[at].before {
		out = append(out, steps[at].Pair)
	}
	slices.Reverse(out)
	return out
}

// equals returns a function that gives the places in b that hold a[i], in rising order. Call it for every i, in order.
func equals(a, b []int) func(i int) []int {
	in := places(b)
	times := map[int]int{}
	for _, v := range a {
		times[v]++
	}
	r := 0
	for v, n := range times {
		r += n * len(in[v])
	}
	if r <= maxEqualPairs {
		return func(i int) []int { return in[a[i]] }
	}
	rank := map[int]int{}
	return func(i int) []int {
		v := a[i]
		all := in[v]
		at := rank[v] * len(all) / times[v]
		rank[v]++
		return all[max(0, at-rankWindow):min(len(all), at+rankWindow+1)]
	}
}

// places returns the places of each item of a list, in rising order.
func places(list []int) map[int][]int {
	out := make(map[int][]int, len(list))
	for i, v := range list {
		out[v] = append(out[v], i)
	}
	return out
}

// commonLength returns the length of a longest common subsequence. For short lists, as most blocks are, it uses a plain
// table, which needs no maps and little memory.
func commonLength(a, b []int) int {
	if len(a)*len(b) > 1<<14 {
		return len(Common(a, b))
	}
	row := make([]int, len(b)+1)
	for _, x := range a {
		diagonal := 0
		for j, y := range b {
			above := row[j+1]
			if x == y {
				row[j+1] = diagonal + 1
			} else {
				row[j+1] = max(above, row[j])
			}
			diagonal = above
		}
	}
	return row[len(b)]
}
