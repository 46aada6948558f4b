package runner

import (
	"iter"
	"slices"
	"sort"
)

// row holds the nodes that write a key, or that queried it, in program order. A short row is one of the lists. A long
// one is kept in pieces, so an insertion moves a thousand numbers and not a million. Some keys are queried by every
// node of a program, as the key that says whether a figure was begun. In one list, each change of one moved two
// megabytes.
type row list

const (
	rowPieces = 1 << 31 // in at: the row is kept in pieces, and the rest of at is its index there
	pieceMax  = 1 << 10 // nodes of a piece, and of a short row
)

// pieces holds the long rows.
type pieces struct {
	rows [][][]uint32
	free []uint32
}

// seek returns the nodes of a row that do not come before x: those of a piece, and the pieces behind it. before is the
// node before them, or 0.
func (pl *Planner) seek(r row, x uint32) (before uint32, first []uint32, more [][]uint32) {
	if r.at&rowPieces == 0 {
		first = pl.lists.of(list(r))
	} else {
		all := pl.pieces.rows[r.at&^rowPieces]
		p := pl.piece(all, x)
		if p > 0 {
			before = all[p-1][len(all[p-1])-1]
		}
		if p == len(all) {
			return before, nil, nil
		}
		first, more = all[p], all[p+1:]
	}
	i := pl.search(first, x)
	if i > 0 {
		before = first[i-1]
	}
	return before, first[i:], more
}

// piece returns the index of the first piece that does not end before x, or their number.
func (pl *Planner) piece(all [][]uint32, x uint32) int {
	return sort.Search(len(all), func(p int) bool { return !pl.before(all[p][len(all[p])-1], x) })
}

// last returns the last node of a row that comes before x, or 0.
func (pl *Planner) last(r row, x uint32) uint32 {
	before, _, _ := pl.seek(r, x)
	return before
}

// from returns the nodes of a row that do not come before x. Where x is 0, it returns all.
func (pl *Planner) from(r row, x uint32) iter.Seq[uint32] {
	_, first, more := pl.seek(r, x)
	return func(yield func(uint32) bool) {
		for _, n := range first {
			if !yield(n) {
				return
			}
		}
		for _, piece := range more {
			for _, n := range piece {
				if !yield(n) {
					return
				}
			}
		}
	}
}

// after returns the first node of a row that comes after x, or 0.
func (pl *Planner) after(r row, x uint32) uint32 {
	_, first, more := pl.seek(r, x)
	if len(first) > 0 && first[0] == x {
		first = first[1:]
	}
	switch {
	case len(first) > 0:
		return first[0]
	case len(more) > 0:
		return more[0][0]
	}
	return 0
}

// enter inserts x, which is not there, into a row.
func (pl *Planner) enter(r *row, x uint32) {
	if r.n < pieceMax && r.at&rowPieces == 0 {
		l := list(*r)
		*r = row(pl.lists.insert(l, pl.search(pl.lists.of(l), x), x))
		return
	}
	if r.at&rowPieces == 0 {
		pl.lengthen(r)
	}
	all := pl.pieces.rows[r.at&^rowPieces]
	p := min(pl.piece(all, x), len(all)-1)
	i := pl.search(all[p], x)
	if len(all[p]) == pieceMax {
		keep := pieceMax / 2
		if i == pieceMax {
			keep = pieceMax // rows mostly grow at their ends
		}
		next := append(make([]uint32, 0, pieceMax), all[p][keep:]...)
		all = slices.Insert(all, p+1, next)
		all[p] = all[p][:keep]
		if i >= keep {
			p, i = p+1, i-keep
		}
	}
	all[p] = slices.Insert(all[p], i, x)
	pl.pieces.rows[r.at&^rowPieces] = all
	r.n++
}

// lengthen turns a short row into one of a single piece.
func (pl *Planner) lengthen(r *row) {
	at := uint32(len(pl.pieces.rows))
	if n := len(pl.pieces.free); n > 0 {
		at, pl.pieces.free = pl.pieces.free[n-1], pl.pieces.free[:n-1]
	} else {
		pl.pieces.rows = append(pl.pieces.rows, nil)
	}
	l := list(*r)
	pl.pieces.rows[at] = [][]uint32{append(make([]uint32, 0, pieceMax), pl.lists.of(l)...)}
	pl.lists.sized(l, 0)
	r.at = at | rowPieces
}

// leave removes x, which is there, from a row.
func (pl *Planner) leave(r *row, x uint32) {
	if r.at&rowPieces == 0 {
		l := list(*r)
		*r = row(pl.lists.remove(l, pl.search(pl.lists.of(l), x)))
		return
	}
	at := r.at &^ rowPieces
	all := pl.pieces.rows[at]
	p := pl.piece(all, x)
	i := pl.search(all[p], x)
	all[p] = slices.Delete(all[p], i, i+1)
	if len(all[p]) == 0 {
		all = slices.Delete(all, p, p+1)
	} else if p+1 < len(all) && len(all[p])+len(all[p+1]) <= pieceMax/2 {
		all[p] = append(all[p], all[p+1]...)
		all = slices.Delete(all, p+1, p+2)
	}
	pl.pieces.rows[at] = all
	if r.n--; r.n == 0 {
		pl.pieces.rows[at], pl.pieces.free = nil, append(pl.pieces.free, at)
		*r = row{}
	}
}
