package query

import "strings"

// DidYouMean asks whether the nearest of some names was meant, where one is near. Short words such as b1 are all near
// each other, so of them only the case may differ.
func DidYouMean(word string, names []string) string {
	best, least := "", len(word)/2+1
	if len(word) < 3 {
		least = 0
	}
	for _, name := range names {
		if n := distance(word, name); n < least || strings.EqualFold(word, name) {
			best, least = name, n
		}
	}
	if best == "" {
		return ""
	}
	return "did you mean " + best + "? "
}

// distance is the number of letters to insert, delete, replace or exchange with their neighbour that makes b of a: the
// optimal string alignment. To exchange two letters is the commonest slip of the hand.
func distance(a, b string) int {
	from, to := []rune(a), []rune(b)
	rows := make([][]int, len(from)+1)
	for i := range rows {
		rows[i] = make([]int, len(to)+1)
		rows[i][0] = i
	}
	for j := range to {
		rows[0][j+1] = j + 1
	}
	for i, x := range from {
		for j, y := range to {
			n := rows[i][j]
			if x != y {
				n = 1 + min(n, rows[i][j+1], rows[i+1][j])
			}
			if i > 0 && j > 0 && x == to[j-1] && from[i-1] == y {
				n = min(n, rows[i-1][j-1]+1)
			}
			rows[i+1][j+1] = n
		}
	}
	return rows[len(from)][len(to)]
}
