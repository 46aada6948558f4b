package query

import (
	"testing"

	"github.com/xstate-engine/xstate/state/output"
)

// Two texts are equal where they differ in addresses, whole or cut, or in the numbers of displays alone.
func TestText(t *testing.T) {
	for _, c := range []struct {
		a, b  string
		equal bool
	}{
		{"<f at 0x7fd5e75a4340>", "<f at 0x7f00e75a4111>", true},
		{"<f at 0x7fd5e75a4340>", "<g at 0x7fd5e75a4340>", false},
		{"<__main__.A obj...x7fd5e75a4340>", "<__main__.A obj...x7f11e75a4f40>", true},
		{"<__main__.A object...d5e75a4340>", "<__main__.A object...11e75a4f40>", true},
		{"f x7fd5e75a4340, g", "f x7f11e75a4f40, g", true},
		{"score=<f at 0x7fd5...)", "score=<f at 0x7e11...)", true},
		{"&lt;f ...x7fd5e75a4340&gt;", "&lt;f ...x7f11e75a4f40&gt;", true},
		{"...1234", "...5678", false},
		{"0x12", "0x13", false},
		{"0x12...", "0x12", false},
		{`<b id="sk-container-id-1"><i for="sk-estimator-id-1">`,
			`<b id="sk-container-id-4"><i for="sk-estimator-id-9">`, true},
		{"#sk-container-id-1 #sk-container-id-1", "#sk-container-id-2 #sk-container-id-3", false},
		{"sk-container-id-1 sk-container-id-2", "sk-container-id-1 sk-container-id-1", false},
		{"task-id-1", "task-id-2", false},
		{"sk-1", "sk-2", false},
	} {
		for _, kind := range []output.Output{{Kind: "stdout"}, {Kind: "display", Data: map[string]string{}}} {
			a, b := kind, kind
			if a.Text, b.Text = c.a, c.b; kind.Data != nil {
				a, b = kind, kind
				a.Data, b.Data = map[string]string{"text/html": c.a}, map[string]string{"text/html": c.b}
			}
			x, y := Text([]output.Output{a}), Text([]output.Output{b})
			if (x == y) != c.equal {
				t.Errorf("Text(%q) = %q, Text(%q) = %q, want equal: %v", c.a, x, c.b, y, c.equal)
			}
		}
	}
}
