package runner

import (
	"slices"
	"testing"
)

// TestEvict: what took the least to compute for what it holds goes first, and no more than must.
func TestEvict(t *testing.T) {
	park := func() kernelState {
		m := newKernelState()
		m.bound = map[string]bound{
			"cheap": {
				bytes: 100,
				took:  1,
			}, "dear": {bytes: 100, took: 50}, "small": {bytes: 10, took: 1}, "pair": {bytes: 100, took: 3},
		}
		m.park("c", []string{"cheap"})
		m.park("d", []string{"dear"})
		m.park("s", []string{"small"})
		m.park("p", []string{"pair", "cheap"})
		return m
	}
	for _, c := range []struct {
		limit int64
		gone  []groupDigest
	}{
		{500, nil}, {410, nil}, {409, []groupDigest{"c"}}, {310, []groupDigest{"c"}}, {150, []groupDigest{"c", "p"}},
		{100, []groupDigest{"c", "p", "s"}}, {-1, []groupDigest{"c", "p", "s", "d"}},
	} {
		m := park()
		if gone := m.evict(c.limit); !slices.Equal(gone, c.gone) {
			t.Errorf("evict(%d) = %v, want %v", c.limit, gone, c.gone)
		}
		if len(m.parked) != 4-len(c.gone) {
			t.Errorf("evict(%d) left %v", c.limit, m.parked)
		}
	}
}
