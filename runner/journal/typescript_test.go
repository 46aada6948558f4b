package journal

import (
	"encoding/json"
	"testing"
)

// TestTypeScript declares tools with all that a schema may say.
func TestTypeScript(t *testing.T) {
	schema := func(text string) json.RawMessage { return json.RawMessage(text) }
	got := TypeScript([]Tool{
		{Name: "search", Description: "Searches  the web. */ ", Input: schema(`{"type":"object","required":["query"],
			"properties":{"query":{"type":"string"},"limit":{"type":"integer"},"kind":{"enum":["a",1,null]},
			"tags":{"type":"array","items":{"type":["string","null"]}},"a b":{"const":true}}}`),
			Output: schema(`{"type":"array","items":{"type":"object","properties":{"n":{"type":"number"}}}}`)},
		{Name: "now"},
		{Name: "a b", Input: schema(`{"type":"object","properties":{"x":{"anyOf":[{"type":"string"},{"type":"integer"},
			{"type":"number"}]}}}`), Output: schema(`{"type":"object","additionalProperties":{"type":"boolean"}}`)},
		{Name: "odd", Input: schema(`7`), Output: schema(`{"type":7}`)},
		{Kind: KindModel, Name: "model"},
	})
	want := `declare const tools: {
  /** Searches the web. * / */
  search(args: { query: string; "a b"?: true; kind?: "a" | 1 | null; limit?: number; tags?: Array<string | null> }): ` +
		`Promise<Array<{ n?: number }>>;
  now(args?: Record<string, unknown>): Promise<unknown>;
  "a b"(args?: { x?: string | number }): Promise<Record<string, boolean>>;
  odd(args?: Record<string, unknown>): Promise<unknown>;
};
`
	if got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}
