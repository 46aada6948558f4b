package provenance

import (
	"context"
	"errors"
	"maps"
	"path"
	"slices"

	"github.com/xstate-engine/xstate/state"
)

// calls stores the calls of an archive, in their order. A call whose place the store has is the store's. Numbers of
// calls are those of a store, so references between them are changed. A damaged one is left out and counted.
func (in *importer) calls(ctx context.Context, session string) (skipped int, err error) {
	lineage, err := in.store.Lineage(ctx, session)
	if err != nil {
		return 0, err
	}
	var all []state.Call
	for _, name := range slices.Sorted(maps.Keys(in.entries)) {
		if path.Dir(name) != "calls" {
			continue
		}
		if c, ok := in.call(name); ok {
			all = append(all, c)
		} else {
			skipped++
		}
	}
	slices.SortFunc(all, func(a, b state.Call) int { return int(int64(a.ID) - int64(b.ID)) })
	here := map[state.CallID]state.CallID{0: 0}
	undone := map[state.CallID]state.CallID{} // call of this store → the archive's that took it back
	for _, c := range all {
		was := c.ID
		if c.ID, c.Parent = 0, here[c.Parent]; c.Within != 0 {
			c.Within = lineage
		}
		err := in.store.PutCall(ctx, &c)
		if errors.Is(err, state.ErrCallExists) {
			known, err := in.store.CallAt(ctx, c.Key, c.Within, c.Number)
			if err != nil {
				return skipped, err
			}
			here[was] = known.ID
			continue
		}
		if err != nil {
			return skipped, err
		}
		here[was] = c.ID
		if c.Undo != nil && c.Undo.Done != 0 {
			undone[c.ID] = c.Undo.Done
		}
	}
	for id, by := range undone {
		_, err := in.store.UpdateCall(ctx, id, func(c *state.Call) error { c.Undo.Done = here[by]; return nil })
		if err != nil {
			return skipped, err
		}
	}
	return skipped, nil
}

// call reads the record of a call, if the store has its contents.
func (in *importer) call(name string) (c state.Call, ok bool) {
	data, err := in.read(name)
	if err != nil {
		return c, false
	}
	if c, err = state.DecodeCall(data); err != nil || c.ID == 0 {
		return c, false
	}
	for _, x := range c.Contents() {
		text, err := in.store.Read(x)
		if err != nil || x.Digest != "" && state.DigestOf(text) != x.Digest {
			return c, false
		}
	}
	return c, true
}
