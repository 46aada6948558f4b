package flow

import "slices"

// index finds the words of sources in other texts.
type index struct {
	sources []*source
	at      map[uint64][]position // shingles, and parts that are shorter than one
}

// position is a place among the words of a source, and how many words are there.
type position struct {
	source, word, length int32
}

// add indexes a source. Words that several of its parts have are left out, unless a part has no others. So are those of
// an answer that its own request has, which the answer repeats.
func (x *index) add(s *source, request []uint64) {
	repeated := map[uint64]bool{}
	each(request, func(h uint64, _, _ int) { repeated[h] = true })
	n := int32(len(x.sources))
	x.sources = append(x.sources, s)
	count := map[uint64]int{} // parts that have a shingle
	shingles := func(p *part, f func(h uint64, at, length int)) {
		if length := p.to - p.from; length >= leastWords && length < shingle {
			f(hashOf(s.words[p.from:p.to]), p.from, length)
		}
		for i := p.from; i+shingle <= p.to; i++ {
			f(hashOf(s.words[i:i+shingle]), i, shingle)
		}
	}
	own := false
	for i := range s.parts {
		shingles(&s.parts[i], func(h uint64, _, _ int) { own = own || !repeated[h] })
	}
	if !own {
		clear(repeated)
	}
	for i := range s.parts {
		seen := map[uint64]bool{}
		shingles(&s.parts[i], func(h uint64, _, _ int) {
			if !seen[h] {
				seen[h] = true
				count[h]++
			}
		})
	}
	for i := range s.parts {
		p := &s.parts[i]
		alone := false
		shingles(p, func(h uint64, _, _ int) { alone = alone || count[h] == 1 })
		shingles(p, func(h uint64, at, length int) {
			if alone && count[h] > 1 || repeated[h] {
				return
			}
			p.looked++
			x.at[h] = append(x.at[h], position{n, int32(at), int32(length)})
		})
	}
}

// settle leaves out what several files have, such as a heading, and what several answers have, such as an opening,
// unless one has nothing else.
func (x *index) settle() {
	own := map[int32]bool{} // sources with words that no other file has
	several := map[uint64]bool{}
	for h, list := range x.at {
		files, answers := map[int32]bool{}, map[int32]bool{}
		for _, p := range list {
			if x.sources[p.source].call < 0 {
				files[p.source] = true
			} else {
				answers[p.source] = true
			}
		}
		for _, alike := range []map[int32]bool{files, answers} {
			several[h] = several[h] || len(alike) > 1
			for k := range alike {
				own[k] = own[k] || len(alike) == 1
			}
		}
	}
	for h, list := range x.at {
		if !several[h] {
			continue
		}
		x.at[h] = slices.DeleteFunc(list, func(p position) bool {
			s := x.sources[p.source]
			if !own[p.source] {
				return false
			}
			i := slices.IndexFunc(s.parts, func(q part) bool { return int(p.word) < q.to })
			s.parts[i].looked--
			return true
		})
	}
}

// find returns what a text has of the sources, by index.
func (x *index) find(words []uint64) map[int32]*cover {
	found := map[int32]*cover{}
	each(words, func(h uint64, _, length int) {
		for _, p := range x.at[h] {
			if int(p.length) != length {
				continue
			}
			c := found[p.source]
			if c == nil {
				c = &cover{make([]bool, len(x.sources[p.source].words)), map[int32]bool{}}
				found[p.source] = c
			}
			c.found[p.word] = true
			for w := p.word; w < p.word+p.length; w++ {
				c.words[w] = true
			}
		}
	})
	return found
}
