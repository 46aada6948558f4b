package patch

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestNames(t *testing.T) {
	for _, c := range []struct {
		blocks []Block
		used   []string
		want   []string
	}{
		{[]Block{{}, {Title: "load_data"}, {}, {Title: "Load the Data!"}}, nil,
			[]string{"b1", "load_data", "b2", "load-the-data"}},
		{[]Block{{Title: "f"}, {Title: "f"}, {Title: "f-2"}, {Title: "f"}}, nil, []string{"f", "f-2", "f-2-2", "f-3"}},
		{[]Block{{Title: "f"}, {ID: "f"}, {ID: "f"}, {}}, []string{"b7", "b007x", "b-9"},
			[]string{"f-2", "f", "f-3", "b8"}},
		{[]Block{{Title: "Größe → 日本"}, {Title: "!!"}, {Title: "DataFrame"}, {Title: "b5"}, {}}, nil,
			[]string{"größe-日本", "b1", "DataFrame", "b5", "b6"}},
		{[]Block{{Title: strings.Repeat("word ", 20)}, {Title: strings.Repeat("x", 90)}}, nil,
			[]string{"word-word-word-word-word-word-word-word", strings.Repeat("x", 40)}},
	} {
		if d := cmp.Diff(c.want, Names(c.blocks, c.used...)); d != "" {
			t.Errorf("Names(%v, %v) (-want +got):\n%s", c.blocks, c.used, d)
		}
	}
}
