package journal

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/xstate-engine/xstate/state"
)

func TestFunc(t *testing.T) {
	calls := 0
	tool := Tool{Name: "double", Class: Read, Version: "1"}
	double := Func(tool, func(_ context.Context, args json.RawMessage) (any, error) {
		calls++
		var in struct{ N int }
		if err := json.Unmarshal(args, &in); err != nil {
			return nil, err
		}
		switch {
		case in.N < 0:
			return nil, Refusal("n is negative")
		case in.N == 13:
			return nil, errors.New("out of luck")
		case in.N == 99:
			panic("at 99")
		}
		return map[string]int{"n": 2 * in.N}, nil
	})
	j := New(openStore(t, filepath.Join(t.TempDir(), ".xstate")), Options{Sources: []Source{double}, Lineage: 1})
	for range 2 {
		if r, err := do(t, j, "go.double", `{"n":21}`, 0); err != nil || string(r.JSON) != `{"n":42}` {
			t.Errorf("double(21) = %s, %v", r.JSON, err)
		}
	}
	if calls != 1 {
		t.Errorf("it was called %d times, want once", calls)
	}
	for args, want := range map[string]struct {
		code state.Code
		text string
	}{
		`{"n":-1}`: {CodeRefused, "n is negative"}, `{"n":13}`: {CodeLost, "out of luck"},
		`{"n":99}`: {CodeLost, "panics: at 99"},
	} {
		_, err := do(t, j, "double", args, 0)
		if state.CodeOf(err) != want.code || !strings.Contains(err.Error(), want.text) {
			t.Errorf("double(%s): %v, want %s: %s", args, err, want.code, want.text)
		}
	}
}

// TestPieces: the record has the sizes of the parts in which a text came.
func TestPieces(t *testing.T) {
	s := newShop()
	s.reply = func(a Attempt) (Answer, error) {
		for _, p := range []string{"Hel", "lo"} {
			a.OnPiece(p)
		}
		return Answer{Result: json.RawMessage(`"Hello"`)}, nil
	}
	store := openStore(t, filepath.Join(t.TempDir(), ".xstate"))
	j := New(store, Options{Sources: []Source{s}, Lineage: 1})
	c, err := j.Prepare(t.Context(), Request{Kind: KindTool, Tool: "look", Args: json.RawMessage(`{}`)},
		func(string) state.Digest { return "" })
	if err != nil {
		t.Fatal(err)
	}
	var got string
	c.OnPiece = func(text string) { got += text + "|" }
	r, err := j.Do(t.Context(), c)
	if err != nil || got != "Hel|lo|" || len(r.Call.Pieces) != 2 || r.Call.Pieces[0] != 3 {
		t.Errorf("pieces %q, recorded %v, %v", got, r.Call.Pieces, err)
	}
}
