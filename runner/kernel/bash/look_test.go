package bash

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/xstate-engine/xstate/state/inspect"
)

// TestLook: an array is a list of its elements, and of another variable the text is all.
func TestLook(t *testing.T) {
	k := start(t)
	run(t, k, `list=(one "two words" 'x<y'); declare -A map=(["a b"]=$'c\nd'); text=plain
for i in {0..99}; do many[i]=$i; done`)
	size := func(n int64) *int64 { return &n }
	item := func(key, text string) inspect.Item { return inspect.Item{Key: key, Type: "text", Text: text} }
	for name, want := range map[string]inspect.Tree{
		"list": {Root: inspect.Item{Type: "array", Size: size(3), Items: []inspect.Item{
			item("[0]", "one"), item("[1]", "two words"), item("[2]", "x<y"),
		}}},
		"map": {Root: inspect.Item{Type: "associative array", Size: size(1), Items: []inspect.Item{
			item("[a b]", "c\nd"),
		}}},
	} {
		found, err := k.Inspect(t.Context(), name, &inspect.Place{})
		if err != nil || found.Description == nil {
			t.Fatalf("%s: %+v, %v", name, found, err)
		}
		if diff := cmp.Diff(&want, found.Description.Tree); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	found, err := k.Inspect(t.Context(), "many", &inspect.Place{Row: 40})
	if err != nil || found.Description == nil {
		t.Fatalf("many: %+v, %v", found, err)
	}
	if tree := found.Description.Tree; tree.From != 40 || tree.Root.Items[49].Key != "[89]" || tree.Root.More != 10 {
		t.Errorf("many: %+v", tree)
	}
	if found, err := k.Inspect(t.Context(), "text", &inspect.Place{}); err != nil || found.Description != nil ||
		found.Text != `"plain"` {
		t.Errorf("text: %+v, %v", found, err)
	}
}
