package main

import (
	"regexp"
	"strconv"
)

// numbers are the field numbers of a message that are in use, and those that must not be used again.
type numbers struct {
	fields   map[string]int
	reserved []int
}

// next returns the number after all that were ever used.
func (k *numbers) next() int {
	most := 0
	for _, n := range k.fields {
		most = max(most, n)
	}
	for _, n := range k.reserved {
		most = max(most, n)
	}
	return most + 1
}

var (
	messageText  = regexp.MustCompile(`(?m)^message (\w+) \{\n((?:  .*\n)*)\}`)
	fieldText    = regexp.MustCompile(`(?m)^  .* (\w+) = (\d+);$`)
	reservedText = regexp.MustCompile(`(?m)^  reserved (\d+);$`)
)

// numbersIn reads the numbers of a file that this command wrote.
func numbersIn(text []byte) map[string]*numbers {
	all := map[string]*numbers{}
	for _, m := range messageText.FindAllSubmatch(text, -1) {
		k := &numbers{fields: map[string]int{}}
		for _, f := range fieldText.FindAllSubmatch(m[2], -1) {
			k.fields[string(f[1])], _ = strconv.Atoi(string(f[2])) // digits
		}
		for _, r := range reservedText.FindAllSubmatch(m[2], -1) {
			n, _ := strconv.Atoi(string(r[1])) // digits
			k.reserved = append(k.reserved, n)
		}
		all[string(m[1])] = k
	}
	return all
}
