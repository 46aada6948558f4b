package depgraph_test

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/depgraph/python"
)

// element is an element of a drawing with its attributes.
type element struct {
	name string
	of   map[string]string
	text string
}

// elements reads SVG strictly, as a viewer does.
func elements(t *testing.T, svg string) []element {
	t.Helper()
	var list []element
	d := xml.NewDecoder(strings.NewReader(svg))
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return list
		}
		if err != nil {
			t.Fatalf("not XML: %v\n%s", err, svg)
		}
		switch x := token.(type) {
		case xml.StartElement:
			e := element{name: x.Name.Local, of: map[string]string{}}
			for _, a := range x.Attr {
				e.of[a.Name.Local] = a.Value
			}
			list = append(list, e)
		case xml.CharData:
			if len(list) > 0 {
				list[len(list)-1].text += string(x)
			}
		}
	}
}

// TestSVG: each node is a box with its name, each pair of dependent nodes is a line with a title, and no two boxes
// touch.
func TestSVG(t *testing.T) {
	g := program(t, "import os\nimport re", "x = os.a", "y = x + 1", "z = x * y", "x = z", "print(x, y, z, re.b)")
	var boxes, lines int
	type place struct{ x, y, width float64 }
	var places []place
	titles := map[string]bool{}
	for _, e := range elements(t, g.SVG()) {
		switch e.name {
		case "rect":
			var p place
			if n, _ := fmt.Sscan(e.of["x"]+" "+e.of["y"]+" "+e.of["width"], &p.x, &p.y, &p.width); n == 3 {
				boxes++
				places = append(places, p)
			}
		case "path":
			if e.of["marker-end"] != "" {
				lines++
			}
		case "title":
			titles[e.text] = true
		}
	}
	pairs := map[[2]depgraph.NodeID]bool{}
	for _, e := range g.Edges() {
		pairs[[2]depgraph.NodeID{e.From, e.To}] = true
	}
	if nodes := len(g.NodeIDs()) + len(g.Modules()); boxes != nodes || lines != len(pairs) {
		t.Errorf("%d boxes and %d lines, want %d and %d", boxes, lines, nodes, len(pairs))
	}
	if !titles["c#1 → d#1: var:y"] {
		t.Errorf("no edge has the title of c and d: %v", titles)
	}
	for i, p := range places {
		for _, q := range places[:i] {
			if p.y == q.y && p.x < q.x+q.width && q.x < p.x+p.width {
				t.Errorf("boxes at %v and %v overlap", p, q)
			}
		}
	}
	if again := g.SVG(); again != g.SVG() {
		t.Error("equal graphs are drawn differently")
	}
}

// TestSVGPointsDown: every line ends below its beginning.
func TestSVGPointsDown(t *testing.T) {
	var sources []string
	for i := range 26 {
		sources = append(sources, fmt.Sprintf("v%d = v%d + v%d", i, i/2, i/3))
	}
	for _, e := range elements(t, program(t, sources...).SVG()) {
		if e.of["marker-end"] == "" {
			continue
		}
		points := strings.Fields(e.of["d"])
		var x, first, last float64
		fmt.Sscanf(points[0], "M%f,%f", &x, &first)
		fmt.Sscanf(points[len(points)-1], "%f,%f", &x, &last)
		if last <= first {
			t.Errorf("a line goes from %v to %v: %s", first, last, e.of["d"])
		}
	}
}

// TestSVGEscapes: a name may hold what XML gives a meaning to, or does not allow.
func TestSVGEscapes(t *testing.T) {
	facts, err := python.Analyze([]byte("x = 1"), python.Plain)
	if err != nil {
		t.Fatal(err)
	}
	svg := depgraph.Build([]depgraph.BlockFacts{{ID: "a<b>&\"'\x00\xff\x1b", Facts: facts}}).SVG()
	elements(t, svg)
	if !strings.Contains(svg, "a&lt;b&gt;&amp;&#34;&#39;") {
		t.Errorf("the name is not escaped:\n%s", svg)
	}
}

// TestSVGOfNothing: a program without blocks is a drawing, too.
func TestSVGOfNothing(t *testing.T) {
	if list := elements(t, depgraph.Build(nil).SVG()); len(list) == 0 || list[0].name != "svg" {
		t.Errorf("elements = %v", list)
	}
}

// TestSVGLabels: no label hides a node or another label, however many edges run beside each other, and each edge that
// has room keeps its label.
func TestSVGLabels(t *testing.T) {
	blocks := []string{"import os"}
	last := "print("
	for i := range 9 {
		name := fmt.Sprintf("a_long_name_of_a_value_%d", i)
		blocks = append(blocks, fmt.Sprintf("%s = os.x + %d", name, i))
		last += name + ", "
	}
	g := program(t, append(blocks, last+")", last+"1)")...)
	type rect struct{ x, y, width, height float64 }
	var taken []rect
	number := func(e element, name string) (v float64) {
		if _, err := fmt.Sscan(e.of[name], &v); err != nil {
			t.Fatalf("%s = %q", name, e.of[name])
		}
		return v
	}
	labels := 0
	for _, e := range elements(t, g.SVG()) {
		var r rect
		switch {
		case e.name == "rect" && e.of["x"] != "":
			r = rect{number(e, "x"), number(e, "y"), number(e, "width"), number(e, "height")}
		case e.name == "text" && e.of["class"] == "label":
			labels++
			width := 5.6 * float64(len([]rune(strings.TrimSpace(e.text))))
			r = rect{number(e, "x") - width/2, number(e, "y") - 8, width, 10}
		default:
			continue
		}
		for _, o := range taken {
			if r.x < o.x+o.width && o.x < r.x+r.width && r.y < o.y+o.height && o.y < r.y+r.height {
				t.Errorf("%s %q at %v overlaps %v", e.name, e.text, r, o)
			}
		}
		taken = append(taken, r)
	}
	if labels < 12 {
		t.Errorf("%d labels", labels)
	}
}

// TestGraphText: each node stands in program order above what it depends on.
func TestGraphText(t *testing.T) {
	g := program(t, "x = 1", "y = x", "x = y")
	want := "a#1\nb#1\n  ← a#1: var:x (predicted)\nc#1\n  ← a#1: var:x (order)\n" +
		"  ← b#1: var:x (order), var:y (predicted)\n"
	if got := g.Text(); got != want {
		t.Errorf("Text() =\n%s, want\n%s", got, want)
	}
}
