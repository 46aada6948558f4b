package secret

import (
	"bytes"
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"slices"
	"strings"
)

// Set are secrets by name. It is immutable. A nil Set has none.
type Set struct {
	key      []byte
	values   map[string]string
	forms    []form // the longest first
	binary   [][]byte
	longest  int
	replacer *strings.Replacer
}

// form is a way to write a secret.
type form struct{ text, name string }

// New returns a set of values by name. key is known to the user alone, see Digest.
func New(values map[string]string, key []byte) *Set {
	if len(values) == 0 {
		return nil
	}
	s := &Set{key: key, values: values}
	seen := map[string]bool{}
	for name, value := range values {
		for _, text := range forms(value) {
			if !seen[text] {
				seen[text] = true
				s.forms = append(s.forms, form{text, name})
			}
		}
	}
	slices.SortFunc(s.forms, func(a, b form) int {
		return cmp.Or(cmp.Compare(len(b.text), len(a.text)), cmp.Compare(a.text, b.text), cmp.Compare(a.name, b.name))
	})
	var pairs []string
	for _, f := range s.forms {
		pairs = append(pairs, f.text, Mask(f.name))
		s.binary = append(s.binary, []byte(f.text))
	}
	for _, value := range values {
		s.binary = append(s.binary, wideForms(strings.TrimSpace(value))...)
	}
	for _, b := range s.binary {
		s.longest = max(s.longest, len(b))
	}
	s.replacer = strings.NewReplacer(pairs...)
	return s
}

// Texts returns a set of texts that contents are searched for as they are and in wide characters. They may be short.
func Texts(texts []string) *Set {
	s := &Set{}
	for _, text := range texts {
		s.binary = append(s.binary, []byte(text))
		s.binary = append(s.binary, wideForms(text)...)
	}
	for _, b := range s.binary {
		s.longest = max(s.longest, len(b))
	}
	return s
}

// Mask is the text that replaces a secret.
func Mask(name string) string { return "«secret " + name + "»" }

// Scrub replaces the secrets in a text.
func (s *Set) Scrub(text string) string {
	if s == nil || text == "" {
		return text
	}
	return s.replacer.Replace(text)
}

// ScrubAll is Scrub for the elements of a list, in place.
func (s *Set) ScrubAll(texts []string) {
	if s != nil {
		for i := range texts {
			texts[i] = s.Scrub(texts[i])
		}
	}
}

// Has reports whether a content holds a secret.
func (s *Set) Has(content []byte) bool {
	return s != nil && slices.ContainsFunc(s.binary, func(b []byte) bool { return bytes.Contains(content, b) })
}

// HasFrom is Has for a content that is read in parts.
func (s *Set) HasFrom(r io.Reader) (bool, error) {
	if s == nil {
		return false, nil
	}
	buffer := make([]byte, 1<<20+s.longest)
	kept := 0
	for {
		n, err := io.ReadFull(r, buffer[kept:])
		if s.Has(buffer[:kept+n]) {
			return true, nil
		}
		if err == io.EOF || err == io.ErrUnexpectedEOF {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		kept = copy(buffer, buffer[kept+n-s.longest:kept+n])
	}
}

// Digest names a value in a key. ok is false if the value holds no secret: it may then be named by an ordinary hash.
// The digest depends on a key that only the user has, so a record alone is not enough to test a guess.
func (s *Set) Digest(value string) (digest string, ok bool) {
	if s == nil || !s.Has([]byte(value)) {
		return "", false
	}
	h := hmac.New(sha256.New, s.key)
	h.Write([]byte(value))
	return hex.EncodeToString(h.Sum(nil)), true
}

// Names are the names of the secrets, sorted.
func (s *Set) Names() (names []string) {
	if s == nil {
		return nil
	}
	for name := range s.values {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Held is how many bytes at the end of an unfinished text may be the beginning of a secret.
func (s *Set) Held(text string) int {
	if s == nil {
		return 0
	}
	most := 0
	for _, f := range s.forms {
		for n := min(len(f.text)-1, len(text)); n > most; n-- {
			if strings.HasSuffix(text, f.text[:n]) {
				most = n
			}
		}
	}
	return most
}

// Equal reports whether two sets have the same values.
func (s *Set) Equal(t *Set) bool {
	if s == nil || t == nil {
		return s == nil && t == nil
	}
	return slices.Equal(s.forms, t.forms)
}

// least is how many characters of a secret may remain where a text was cut.
const least = 4

// ScrubClipped is Scrub for a text of which the middle was replaced by "...": a part of a secret may remain on each
// side.
func (s *Set) ScrubClipped(text string) string {
	if s == nil {
		return text
	}
	parts := strings.Split(s.Scrub(text), "...")
	for i := range parts[:len(parts)-1] {
		if n := s.Held(parts[i]); n >= least {
			parts[i] = parts[i][:len(parts[i])-n]
		}
		if n := s.tail(parts[i+1]); n >= least {
			parts[i+1] = parts[i+1][n:]
		}
	}
	return strings.Join(parts, "...")
}

// tail is how many bytes at the beginning of a text may be the end of a secret.
func (s *Set) tail(text string) (most int) {
	for _, f := range s.forms {
		for n := min(len(f.text)-1, len(text)); n > most; n-- {
			if strings.HasPrefix(text, f.text[len(f.text)-n:]) {
				most = n
			}
		}
	}
	return most
}
