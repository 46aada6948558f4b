package patch

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// blocksOf reads "a:text b:text" as blocks. A bar in a text is a line end.
func blocksOf(text string) []Block {
	var out []Block
	for _, f := range strings.Fields(text) {
		id, source, _ := strings.Cut(f, ":")
		out = append(out, Block{ID: id, Source: strings.ReplaceAll(source, "|", "\n")})
	}
	return out
}

func written(blocks []Block) string {
	var out []string
	for _, b := range blocks {
		out = append(out, b.ID+":"+strings.ReplaceAll(b.Source, "\n", "|"))
	}
	return strings.Join(out, " ")
}

func TestRebase(t *testing.T) {
	for _, c := range []struct {
		name, base, theirs, now, want string
		why                           []Why
	}{
		{name: "another block", base: "a:1 b:2", theirs: "a:1 b:3", now: "a:9 b:2", want: "a:9 b:3"},
		{name: "other lines", base: "a:1|2|3", theirs: "a:1|2|x", now: "a:y|2|3", want: "a:y|2|x"},
		{name: "the same lines", base: "a:1|2|3", theirs: "a:1|x|3", now: "a:1|y|3", why: []Why{WhyEdited}},
		{name: "done already", base: "a:1", theirs: "a:2", now: "a:2", want: "a:2"},
		{name: "behind one that is gone", base: "a:1 b:2", theirs: "a:1 b:2 c:3", now: "a:1", want: "a:1 c:3"},
		{name: "delete", base: "a:1 b:2", theirs: "a:1", now: "z:0 a:1 b:2", want: "z:0 a:1"},
		{name: "delete what was edited", base: "a:1 b:2", theirs: "a:1", now: "a:1 b:3", why: []Why{WhyEdited}},
		{name: "both delete", base: "a:1 b:2", theirs: "a:1", now: "a:1", want: "a:1"},
		{name: "edit what was deleted", base: "a:1 b:2", theirs: "a:1 b:3", now: "a:1", why: []Why{WhyDeleted}},
		{name: "two of one name", base: "a:1", theirs: "a:1 b:2", now: "a:1 b:3", why: []Why{WhyExists}},
		{name: "move", base: "a:1 b:2 c:3", theirs: "c:3 a:1 b:2", now: "a:1 x:0 b:2 c:3", want: "c:3 a:1 x:0 b:2"},
		{name: "both move", base: "a:1 b:2 c:3 d:4", theirs: "c:3 a:1 b:2 d:4", now: "a:1 c:3 b:2 d:4",
			why: []Why{WhyMoved}},
		{name: "two faults", base: "a:1 b:2", theirs: "a:x b:x", now: "a:y b:y", why: []Why{WhyEdited, WhyEdited}},
	} {
		t.Run(c.name, func(t *testing.T) {
			base, now := blocksOf(c.base), blocksOf(c.now)
			edits, conflicts, err := Rebase(base, now, Match(base, blocksOf(c.theirs)))
			if err != nil {
				t.Fatal(err)
			}
			var why []Why
			for _, x := range conflicts {
				why = append(why, x.Why)
			}
			if d := cmp.Diff(c.why, why); d != "" {
				t.Fatalf("conflicts (-want +got):\n%s", d)
			}
			if why != nil {
				return
			}
			got, err := Apply(now, edits)
			if err != nil {
				t.Fatal(err)
			}
			if written(got) != c.want {
				t.Errorf("Rebase gives %s, want %s", written(got), c.want)
			}
		})
	}
}

// TestRebaseLaws: on the list that edits were made on, Rebase does not change them. One agent's edit can be undone
// after another agent edited other blocks, and the other's edits stay.
func TestRebaseLaws(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 500 {
		var base, theirs, ours, want []Block
		for i := range 8 {
			b := Block{ID: string(rune('a' + i)), Source: strings.Repeat("l\n", i) + "end"}
			own, her, both := b, b, b
			switch r.IntN(5) {
			case 0:
				own.Source, both.Source = "ours", "ours"
			case 1:
				her.Source, both.Source = "theirs", "theirs"
			case 2:
				her.ID, both.ID = "", "" // theirs is without it
			}
			base = append(base, b)
			ours = append(ours, own)
			if her.ID != "" {
				theirs, want = append(theirs, her), append(want, both)
			}
		}
		edits := Match(base, theirs)
		same, conflicts, err := Rebase(base, base, edits)
		if got, _ := Apply(base, same); err != nil || conflicts != nil || written(got) != written(theirs) {
			t.Fatalf("Rebase on its own base = %v, %v, %v, want %v", same, conflicts, err, edits)
		}
		merged, conflicts, err := Rebase(base, ours, edits)
		got, _ := Apply(ours, merged)
		if err != nil || conflicts != nil || written(got) != written(want) {
			t.Fatalf("Rebase = %s, %v, %v, want %s", written(got), conflicts, err, written(want))
		}
		back, conflicts, err := Rebase(theirs, got, Match(theirs, base))
		if got, _ = Apply(got, back); err != nil || conflicts != nil || written(got) != written(ours) {
			t.Fatalf("taken back = %s, %v, %v, want %s", written(got), conflicts, err, written(ours))
		}
	}
}

func TestRenamed(t *testing.T) {
	edits := []Edit{{Op: OpAppend, ID: "b1", Block: Block{ID: "b1", Source: "x"}}, {Op: OpMove, ID: "a", After: "b1"}}
	got := Renamed(edits, blocksOf("a:1 b1:2"))
	if got[0].ID == "b1" || got[1].After != got[0].ID || got[0].Block.ID != got[0].ID || edits[0].ID != "b1" {
		t.Errorf("Renamed = %+v", got)
	}
	if got := Renamed(edits, blocksOf("a:1 b1:x")); got[0].ID != "b1" {
		t.Errorf("Renamed of what is there already = %+v", got)
	}
}
