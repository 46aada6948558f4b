package runner

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/xstate-engine/xstate/state"
)

// TestTable adds and removes numbers at random, with few hashes, and compares with a map.
func TestTable(t *testing.T) {
	for seed := range uint64(20) {
		random := rand.New(rand.NewPCG(seed, 1))
		hash := func(x uint32) uint64 { return uint64(x%37) * 0x9E3779B97F4A7C15 >> 56 }
		table, want := table{hash: hash}, map[uint32]bool{}
		for range 2000 {
			x := 1 + random.Uint32N(300)
			switch found := table.find(hash(x), func(y uint32) bool { return y == x }) != 0; {
			case found != want[x]:
				t.Fatalf("seed %d: find(%d) = %v, want %v", seed, x, found, want[x])
			case found:
				table.remove(x)
				delete(want, x)
			default:
				table.add(x)
				want[x] = true
			}
			if table.count != len(want) {
				t.Fatalf("seed %d: %d numbers, want %d", seed, table.count, len(want))
			}
		}
	}
}

// TestLists grows and shrinks lists that lie in one array, and compares them with slices.
func TestLists(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	var l lists
	have, want := make([]list, 20), make([][]uint32, 20)
	for range 20_000 {
		i := random.IntN(len(have))
		if n := len(want[i]); n > 0 && random.IntN(2) == 0 {
			at := random.IntN(n)
			have[i], want[i] = l.remove(have[i], at), append(want[i][:at:at], want[i][at+1:]...)
		} else {
			at, v := random.IntN(n+1), random.Uint32()
			have[i], want[i] = l.insert(have[i], at, v),
				append(want[i][:at:at], append([]uint32{v}, want[i][at:]...)...)
		}
		for j := range have {
			if got := l.of(have[j]); string(bytesOf(got)) != string(bytesOf(want[j])) {
				t.Fatalf("list %d = %v, want %v", j, got, want[j])
			}
		}
	}
}

// TestRows puts nodes into rows that become long, takes them out again, and compares them with slices.
func TestRows(t *testing.T) {
	const most = 5 * pieceMax
	random := rand.New(rand.NewPCG(1, 1))
	f := newMade(t, 1).planner
	for i := range most {
		x := f.newBlock(state.BlockID(fmt.Sprint(i)))
		f.link(x, f.blocks[0].prev)
		f.resize(x, 1)
	}
	rows, want := make([]row, 3), make([][]uint32, 3)
	toggle := func(i int, x uint32, enter bool) {
		switch at, there := slices.BinarySearch(want[i], x); {
		case there && !enter:
			f.leave(&rows[i], x)
			want[i] = slices.Delete(want[i], at, at+1)
		case !there && enter:
			f.enter(&rows[i], x)
			want[i] = slices.Insert(want[i], at, x)
		}
	}
	for range 200 {
		i, enter := random.IntN(len(rows)), random.IntN(2) == 0
		first, count := random.Uint32N(most), random.Uint32N(most)/uint32(1+random.IntN(10))
		if !enter && random.IntN(3) == 0 {
			first, count = 0, most
		}
		if random.IntN(2) == 0 {
			for x := first; x < min(first+count, most); x++ { // one behind the other
				toggle(i, 1+x, enter)
			}
		} else {
			for range count {
				toggle(i, 1+random.Uint32N(most), enter)
			}
		}
		for i := range rows {
			if got := slices.Collect(f.from(rows[i], 0)); !slices.Equal(got, want[i]) || int(rows[i].n) != len(got) {
				t.Fatalf("row %d has %d nodes, which are not the %d that it should have", i, rows[i].n, len(want[i]))
			}
			for range 100 {
				x := 1 + random.Uint32N(most)
				at, there := slices.BinarySearch(want[i], x)
				last, after := uint32(0), uint32(0)
				if at > 0 {
					last = want[i][at-1]
				}
				if there {
					at++
				}
				if at < len(want[i]) {
					after = want[i][at]
				}
				if f.last(rows[i], x) != last || f.after(rows[i], x) != after {
					t.Fatalf(
						"row %d: before %d comes %d and after it %d, want %d and %d",
						i,
						x,
						f.last(rows[i], x),
						f.after(rows[i], x),
						last,
						after,
					)
				}
			}
		}
	}
	for i := range rows {
		for len(want[i]) > 0 {
			toggle(i, want[i][0], false)
		}
		if rows[i] != (row{}) {
			t.Errorf("row %d of no nodes is %+v", i, rows[i])
		}
	}
}

func bytesOf(all []uint32) (b []byte) {
	for _, v := range all {
		b = append(b, byte(v), byte(v>>8), byte(v>>16), byte(v>>24))
	}
	return b
}

// TestOrder puts blocks behind others at random, often behind the same, and moves them: labels must tell the order.
func TestOrder(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	f := newMade(t, 1).planner
	var order []uint32
	put := func(x uint32, at int) {
		after := uint32(0)
		if at > 0 {
			after = order[at-1]
		}
		f.link(x, after)
		order = append(order[:at:at], append([]uint32{x}, order[at:]...)...)
	}
	for i := range 3000 {
		at := random.IntN(len(order) + 1)
		if i%3 > 0 {
			at = min(len(order), 5) // where there will be no labels left soon
		}
		if i%7 == 0 && len(order) > 0 {
			from := random.IntN(len(order))
			x := order[from]
			f.unlink(x)
			order = append(order[:from:from], order[from+1:]...)
			put(x, min(at, len(order)))
		} else {
			f.blocks = append(f.blocks, trackedBlock{})
			put(uint32(len(f.blocks)-1), at)
		}
		for j := 1; j < len(order); j++ {
			if f.blocks[order[j-1]].label >= f.blocks[order[j]].label {
				t.Fatalf(
					"after %d: labels %d and %d of neighbours",
					i,
					f.blocks[order[j-1]].label,
					f.blocks[order[j]].label,
				)
			}
		}
	}
}
