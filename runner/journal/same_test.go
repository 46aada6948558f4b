package journal

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"time"
)

// TestBecomeMasked: an approval of arguments is none of other ones that the record cannot hold, or cannot give back. An
// approval of 1 sent 1000 with a secret, and a record without its secret was sent with the mask in its place.
func TestBecomeMasked(t *testing.T) {
	const plain, masked = `{"order":"o1","usd":1}`, `{"memo":"hunter2","order":"o1","usd":1000}`
	for _, args := range [][]string{{plain, masked}, {masked, plain}} {
		s := newShop()
		s.tools = append(s.tools, Tool{Name: "wire", Class: Irreversible, Identity: []string{"order"}})
		j := New(openStore(t, t.TempDir()), Options{Sources: []Source{s}, Gate: verdict{Action: Ask},
			Scrub: func(b []byte) []byte { return bytes.ReplaceAll(b, []byte("hunter2"), []byte("«secret»")) }})
		wire := func(args string) error {
			t.Helper()
			c, err := j.Prepare(t.Context(), Request{Kind: KindTool, Tool: "wire", Args: json.RawMessage(args)}, nil)
			if err != nil {
				t.Fatal(err)
			}
			rec, err := j.Recorded(t.Context(), c.Place())
			if err == nil && rec != nil {
				err = j.Become(c, rec)
			}
			if err != nil {
				t.Fatal(err)
			}
			_, err = j.Do(t.Context(), c)
			return err
		}
		for _, a := range args {
			var waits *Suspended
			if err := wire(a); !errors.As(err, &waits) || len(s.calls) > 0 {
				t.Fatalf("%s after %s: %v, and called %q; want it to wait", a, args[0], err, s.calls)
			}
			if got, _ := j.store.Read(waits.Call.Args); string(got) != string(j.scrub([]byte(a))) {
				t.Errorf("%s waits, want %s", got, a)
			}
			d := Decision{Call: waits.Call.ID, Choice: ChoiceYes, By: "ada", At: time.Unix(1, 0)}
			if _, _, err := Decide(t.Context(), j.store, d); err != nil {
				t.Fatal(err)
			}
		}
		if err := wire(args[1]); err != nil || !slices.Equal(s.calls, []string{"wire" + args[1]}) {
			t.Errorf("called %q, %v, want %s", s.calls, err, args[1])
		}
	}
}
