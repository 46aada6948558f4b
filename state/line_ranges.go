package state

import (
	"iter"
	"strconv"
	"strings"
)

// MemoLines is the space of memos that hold which lines a node or a test executed, by the digest of its trace.
const MemoLines = "lines"

// Ranges writes numbers in order: "0-3,5".
func Ranges(sorted []int) string {
	var parts []string
	for i := 0; i < len(sorted); {
		j := i
		for j+1 < len(sorted) && sorted[j+1] == sorted[j]+1 {
			j++
		}
		text := strconv.Itoa(sorted[i])
		if j > i {
			text += "-" + strconv.Itoa(sorted[j])
		}
		parts = append(parts, text)
		i = j + 1
	}
	return strings.Join(parts, ",")
}

// InRanges yields the numbers of ranges as Ranges writes them.
func InRanges(text string) iter.Seq[int] {
	return func(yield func(int) bool) {
		for part := range strings.SplitSeq(text, ",") {
			first, last, more := strings.Cut(part, "-")
			from, err := strconv.Atoi(first)
			to := from
			if more && err == nil {
				to, err = strconv.Atoi(last)
			}
			for n := from; err == nil && n <= to; n++ {
				if !yield(n) {
					return
				}
			}
		}
	}
}
