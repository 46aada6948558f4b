package patch

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/xstate-engine/xstate/patch/syntax"
)

func TestCodeSpans(t *testing.T) {
	const text = "# The `clean` step\r\n\nUse ``a`b`` and `x.y()`,\nthen `two\nlines` | *`in`* [`link`](u).\n\n" +
		"```python\nprint(`no`)\n```\n\n    `indented`\n\n- an item, `last`\n\nan \\`escaped\\` one, and `open\n"
	want := []CodeSpan{{1, "clean"}, {3, "a`b"}, {3, "x.y()"}, {4, "two lines"}, {5, "in"}, {5, "link"}, {13, "last"}}
	if diff := cmp.Diff(want, CodeSpans([]byte(text))); diff != "" {
		t.Errorf("CodeSpans: (-want +got)\n%s", diff)
	}
	if got := CodeSpans(nil); len(got) != 0 {
		t.Errorf("CodeSpans(nothing) = %v", got)
	}
}

func TestProse(t *testing.T) {
	const text = "# %% [markdown]\n# Uses `clean`.\n#\n# More.\r\nx = 1  # no `prose`\ndef f():\n    # `inner` prose\n"
	const want = "\nUses `clean`.\n\nMore.\r\n\n\n`inner` prose\n"
	if got := string(Prose([]byte(text), syntax.Python)); got != want {
		t.Errorf("Prose = %q, want %q", got, want)
	}
	spans := CodeSpans(Prose([]byte(text), syntax.Python))
	if diff := cmp.Diff([]CodeSpan{{2, "clean"}, {7, "inner"}}, spans); diff != "" {
		t.Errorf("spans: (-want +got)\n%s", diff)
	}
}
