package state

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/xstate-engine/xstate/internal/xstatetest/sampling"
)

// grownFile returns a history.db whose trees have branch pages.
func grownFile(t *testing.T) []byte {
	t.Helper()
	dir := storeDir(t)
	s, err := Open(ctx, dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	create(t, s, "s")
	var drafts []Draft
	for i := range 1500 {
		drafts = append(drafts, insert(BlockID("b"+itoa(i)), "", "x = "+itoa(i)))
	}
	commit(t, s, "s", drafts...)
	commit(t, s, "s", Draft{Kind: KindDeclare})
	checkClose(t, s)
	data, err := os.ReadFile(filepath.Join(dir, historyFile))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func inspectBytes(data []byte, wholeUpTo int64) error {
	in := &inspector{file: bytes.NewReader(data), size: int64(len(data))}
	return in.inspect(wholeUpTo)
}

func TestInspect(t *testing.T) {
	good := grownFile(t)
	sound := &inspector{file: bytes.NewReader(good), size: int64(len(good))}
	if err := sound.inspect(inspectWhole); err != nil {
		t.Fatalf("inspect(good file) = %v", err)
	}
	if err := inspectBytes(good, 0); err != nil {
		t.Errorf("skimming the good file = %v", err)
	}
	branches := 0
	for page, used := range sound.used {
		at := page * pageSize
		if !used || native.Uint64(good[at:]) != uint64(page) ||
			native.Uint16(good[at+8:]) != branchPage { // not in the middle of a long one
			continue
		}
		branches++
		bad := bytes.Clone(good)
		native.PutUint64(
			bad[at+pageHeader+8:],
			uint64(page),
		) // its first child is itself: bbolt would recurse until it dies
		for _, wholeUpTo := range []int64{0, inspectWhole} {
			if err := inspectBytes(bad, wholeUpTo); err == nil {
				t.Errorf("inspect(page %d its own child, %d) finds nothing", page, wholeUpTo)
			}
		}
	}
	if branches == 0 {
		t.Error("the file has no branch pages: let it grow")
	}
}

// TestInspectSurvives holds that inspecting garbage ends, with or without an error.
func TestInspectSurvives(t *testing.T) {
	good := grownFile(t)
	random := rand.New(rand.NewPCG(sampling.Seed(t), 0))
	for range 300 {
		bad := bytes.Clone(good)
		for range 1 + random.IntN(8) {
			bad[random.IntN(len(bad))&^(pageSize-1)+random.IntN(200)] ^= 1 << random.IntN(8)
		}
		inspectBytes(bad, 0)
		inspectBytes(bad, inspectWhole)
	}
}

func FuzzInspect(f *testing.F) {
	f.Add(make([]byte, 3*pageSize), false)
	f.Fuzz(func(t *testing.T, data []byte, whole bool) {
		limit := int64(0)
		if whole {
			limit = inspectWhole
		}
		inspectBytes(data, limit)
	})
}
