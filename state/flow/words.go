package flow

import (
	"hash/maphash"
	"regexp"
	"strconv"
	"strings"
	"unicode"
)

// shingle is how many words in a row are compared.
const shingle = 4

// leastWords is how many words a part must have to be looked for.
const leastWords = 3

// seed is that of all hashes of words in this process.
var seed = maphash.MakeSeed()

// escaped finds characters that JSON within a text has as escapes.
var escaped = regexp.MustCompile(`\\u[0-9a-fA-F]{4}|\\[ntr"]`)

// plain returns a text without the escapes of JSON.
func plain(text string) string {
	if !strings.Contains(text, `\`) {
		return text
	}
	return escaped.ReplaceAllStringFunc(text, func(e string) string {
		if n, err := strconv.ParseUint(e[2:], 16, 32); e[1] == 'u' && err == nil {
			return string(rune(n))
		}
		return " "
	})
}

// wordsOf returns the hashes of the words of a text.
func wordsOf(text string) []uint64 {
	text = plain(text)
	var words []uint64
	between := func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }
	for word := range strings.FieldsFuncSeq(text, between) {
		words = append(words, maphash.String(seed, strings.ToLower(word)))
	}
	return words
}

// hashOf returns the hash of words in a row.
func hashOf(words []uint64) uint64 {
	h := uint64(len(words))
	for _, w := range words {
		h = (h ^ w) * 0x9e3779b97f4a7c15
		h ^= h >> 29
	}
	return h
}

// each calls f with what may be looked for among words: the hash, the place and the length.
func each(words []uint64, f func(h uint64, at, length int)) {
	for length := leastWords; length <= shingle; length++ {
		for i := 0; i+length <= len(words); i++ {
			f(hashOf(words[i:i+length]), i, length)
		}
	}
}
