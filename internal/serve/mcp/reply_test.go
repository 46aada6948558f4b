package mcp

import (
	"encoding/json"
	"flag"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/xstate-engine/xstate/internal/api"
	"github.com/xstate-engine/xstate/state"
)

var update = flag.Bool("update", false, "write the goldens again")

func TestClip(t *testing.T) {
	if got := clip("short", 5); got != "short" {
		t.Errorf("clip(short, 5) = %q", got)
	}
	long := strings.Repeat("line of text\n", 1000) + "the end"
	got := clip(long, 1000)
	if len(got) > 1050 || !strings.HasPrefix(got, "line of text\n") || !strings.HasSuffix(got, "\nthe end") {
		t.Errorf("clip of %d bytes to 1000 has %d: %q", len(long), len(got), got)
	}
	for most := range 60 {
		if got := clip(strings.Repeat("äß漢", 100), most); !utf8.ValidString(got) {
			t.Errorf("clip to %d bytes cuts a character: %q", most, got)
		}
	}
}

func TestShares(t *testing.T) {
	for _, x := range []struct {
		sizes  []int
		budget int
		want   []int
	}{
		{[]int{10, 20}, 100, []int{10, 20}},
		{[]int{1000, 10, 1000}, 100, []int{45, 10, 45}},
		{nil, 100, []int{}},
	} {
		if d := cmp.Diff(x.want, shares(x.sizes, x.budget)); d != "" {
			t.Errorf("shares(%v, %d) (-want +got):\n%s", x.sizes, x.budget, d)
		}
	}
}

// TestCalls: exec says in one line what its calls cost, if it made one.
func TestCalls(t *testing.T) {
	spent := state.Usage{InputTokens: 7, OutputTokens: 3, MicroUSD: 1500}
	for _, x := range []struct {
		calls *api.CallsSummary
		want  string
	}{
		{nil, ""},
		{&api.CallsSummary{Served: 2, Saved: spent}, ""},
		{&api.CallsSummary{Made: 1}, "1 call made, 0 served"},
		{&api.CallsSummary{Made: 2, Served: 1, Spent: spent, Saved: spent},
			"2 calls made, 1 served, 7+3 tokens, $0.0015, $0.0015 saved"},
	} {
		parts := execReply(&api.Exec{Action: "append", Status: "ran", Block: "b", Calls: x.calls}).parts
		got := ""
		for _, p := range parts {
			if strings.Contains(p.text, "call") {
				got += p.text
			}
		}
		if got != x.want {
			t.Errorf("the text of exec says %q of the calls %+v, want %q", got, x.calls, x.want)
		}
	}
}

// TestFit: a document of any size keeps to the budget, and to its schema.
func TestFit(t *testing.T) {
	type inner struct {
		Name string            `json:"name"`
		Data map[string]string `json:"data,omitempty"`
		List []inner           `json:"list"`
	}
	type outer struct {
		*inner
		Text *string `json:"text"`
	}
	big := inner{Name: strings.Repeat("n", 1<<20), Data: map[string]string{"image/png": strings.Repeat("A", 1<<20)}}
	for range 2000 {
		big.List = append(big.List, inner{Name: strings.Repeat("m", 500)})
	}
	data, err := json.Marshal(outer{inner: &big})
	if err != nil {
		t.Fatal(err)
	}
	schema := schemaOf(reflect.TypeFor[outer](), schemaDepth)
	value, cut, err := fit(data, func(media, _ string) string { return "no " + media })
	if err != nil || !cut {
		t.Fatalf("fit: cut %v, %v; want a cut", cut, err)
	}
	small, err := json.Marshal(complete(schema, value))
	if err != nil || len(small) > documentBudget {
		t.Errorf("the document has %d bytes, want at most %d; %v", len(small), documentBudget, err)
	}
	if !strings.Contains(string(small), `"image/png":"no image/png"`) {
		t.Error("the picture's place is not taken by a remark")
	}
	if err := validate(t, schema, small); err != nil {
		t.Error(err)
	}
	if err := validate(t, schema, []byte(`{"name":"x","list":null,"text":null}`)); err == nil {
		t.Error("a list that is null conforms, want not")
	}
	if err := validate(t, schema, []byte(`{"text":3}`)); err == nil {
		t.Error("a number conforms where a text is wanted")
	}
}

// validate validates a document with a validator of another author.
func validate(t *testing.T, schema any, document []byte) error {
	t.Helper()
	data, err := json.Marshal(schema)
	if err != nil {
		t.Fatal(err)
	}
	s, err := jsonschema.UnmarshalJSON(strings.NewReader(string(data)))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("schema.json", s); err != nil {
		t.Fatal(err)
	}
	compiled, err := c.Compile("schema.json")
	if err != nil {
		t.Fatal(err)
	}
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(string(document)))
	if err != nil {
		t.Fatal(err)
	}
	return compiled.Validate(value)
}

func TestURI(t *testing.T) {
	p := place{session: "sub/a b.py", step: 12, block: "fit#2/ä"}
	want := address{session: p.session, step: 12, block: string(p.block), index: 3}
	if got, ok := parseURI(p.uri(3)); !ok || got != want {
		t.Errorf("parseURI(%s) = %+v, %v", p.uri(3), got, ok)
	}
	want.index = allText
	if got, ok := parseURI(p.wholeURI()); !ok || got != want {
		t.Errorf("parseURI(%s) = %+v, %v", p.wholeURI(), got, ok)
	}
	for _, bad := range []string{"", "xstate://", "file:///etc/passwd", "xstate://session/a/step/x/block/b/output/0",
		"xstate://session/a/step/1/block/b/output/-1", p.uri(3) + "/more", p.wholeURI() + "/more"} {
		if _, ok := parseURI(bad); ok {
			t.Errorf("parseURI(%q) succeeded", bad)
		}
	}
}

// TestReplyIsBounded: pictures and links are bounded whatever a block put out.
func TestReplyIsBounded(t *testing.T) {
	r := &reply{}
	at := place{session: "main", step: 1, block: "b"}
	for range 100 {
		r.picture("image/png", "AAAA", at, 0)
		r.line("%s", strings.Repeat("l", 1000))
		r.body(strings.Repeat("b", 5000), 4000)
	}
	contents := r.contents()
	text, err := json.Marshal(contents[0])
	if err != nil || len(text) > 3*textBudget {
		t.Errorf("the text has %d bytes; %v", len(text), err)
	}
	if n := len(contents) - 1; n != mostPictures+mostLinks {
		t.Errorf("there are %d pictures and links, want %d", n, mostPictures+mostLinks)
	}
}
