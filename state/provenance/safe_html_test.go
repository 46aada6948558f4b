package provenance

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// hostile are pieces of HTML that run, load or break out of where they stand, and what safeHTML makes of them.
var hostile = map[string]string{
	`<table class="d"><tr><td>1 &lt; 2</td></tr>`: `<table class="d"><tbody><tr><td>1 &lt; 2</td></tr></tbody>` +
		`</table>`,
	`<b onclick="x()">ok</b>`:                       `<b>ok</b>`,
	`a<script>alert(1)</script>b`:                   `ab`,
	"a<SCRIPT >alert(1)</ScRiPt\n>b":                `ab`,
	`a<script>never closed`:                         `a`,
	`<a href="javascript:alert(1)">l</a>`:           `<a>l</a>`,
	`<a href="java&#10;script:alert(1)">l</a>`:      `<a>l</a>`,
	`<a href=" javascript:alert(1)">l</a>`:          `<a>l</a>`,
	`<a href=https://example.com/?a=1>l</a>`:        `<a href="https://example.com/?a=1">l</a>`,
	`<img src=x onerror=alert(1)>`:                  `<img/>`,
	`<img src="https://example.com/a.png">`:         `<img/>`,
	`<img src="data:image/png;base64,AA==">`:        `<img src="data:image/png;base64,AA=="/>`,
	`<img src="data:text/html;base64,AA==">`:        `<img/>`,
	`<svg onload=alert(1)><text>x</text></svg>y`:    `y`,
	`<svg onload=alert(1)><b>x</b></svg>y`:          `<b>x</b>y`,
	`<iframe srcdoc="<script>x</script>"></iframe>`: ``,
	`</div></body><p>x`:                             `<p>x</p>`,
	`<div><b>x</div>`:                               `<div><b>x</b></div>`,
	`<p style="background:url(//x)">a</p>`:          `<p>a</p>`,
	`<p style="color:red">a</p>`:                    `<p style="color:red">a</p>`,
	`<p title='"><script>'>a</p>`:                   `<p title="&#34;&gt;&lt;script&gt;">a</p>`,
	`<!--><script>x</script>-->a`:                   `--&gt;a`,
	`a <!-- never closed`:                           `a `,
	`1 < 2 && 3 > 2 <`:                              `1 &lt; 2 &amp;&amp; 3 &gt; 2 &lt;`,
	`<<script>x</script>b>`:                         `&lt;b&gt;`,
	`<custom-tag a=1>x</custom-tag>`:                `x`,
	`<b`:                                            ``,
	`<textarea></textarea><img src=x>`:              `<img/>`,
}

func TestSafeHTML(t *testing.T) {
	for in, want := range hostile {
		if got := safeHTML(in, func(string) string { return "" }); got != want {
			t.Errorf("safeHTML(%q) = %q, want %q", in, got, want)
		}
	}
}

// voidTags have no end.
var voidTags = []string{"br", "col", "hr", "img"}

var writtenTag = regexp.MustCompile(`^</?([a-z0-9]+)((?: [a-z]+="[^"<>]*")*)/?>`)

// FuzzSafeHTML: whatever comes in, all that stands after a "<" is a known tag with known attributes, and each element
// that is opened is closed in order.
func FuzzSafeHTML(f *testing.F) {
	for in := range hostile {
		f.Add(in)
	}
	f.Fuzz(func(t *testing.T, in string) {
		out := safeHTML(in, func(src string) string { return src })
		var open []string
		for rest := out; ; {
			i := strings.IndexByte(rest, '<')
			if i < 0 {
				break
			}
			m := writtenTag.FindStringSubmatch(rest[i:])
			if m == nil || !slices.Contains(safeTags, m[1]) {
				t.Fatalf("safeHTML(%q) = %q", in, out)
			}
			for _, a := range regexp.MustCompile(` ([a-z]+)=`).FindAllStringSubmatch(m[2], -1) {
				if !slices.Contains(append([]string{"href", "src", "style"}, safeAttributes...), a[1]) {
					t.Fatalf("safeHTML(%q) has the attribute %s: %q", in, a[1], out)
				}
			}
			switch {
			case strings.HasPrefix(rest[i:], "</"):
				if len(open) == 0 || open[len(open)-1] != m[1] {
					t.Fatalf("safeHTML(%q) closes %s: %q", in, m[1], out)
				}
				open = open[:len(open)-1]
			case !slices.Contains(voidTags, m[1]):
				open = append(open, m[1])
			}
			rest = rest[i+len(m[0]):]
		}
		if len(open) > 0 {
			t.Fatalf("safeHTML(%q) leaves %v open: %q", in, open, out)
		}
		if again := safeHTML(out, func(src string) string { return src }); again != out {
			t.Fatalf("safeHTML is not stable: %q, then %q", out, again)
		}
	})
}
