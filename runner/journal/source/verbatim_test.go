package source

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/xstate-engine/xstate/runner/sandbox/policy"
)

// exactly is structured content that floats and maps cannot hold.
const exactly = `{"z":1.0,"a":[2.0,-0.0,9007199254740993,"\"é\""],"b":{"structuredContent":1e3}}`

// TestStructuredExactly: structured content went through floats, and 1.0 became 1.
func TestStructuredExactly(t *testing.T) {
	s := mcp.NewServer(&mcp.Implementation{Name: "far", Version: "1"}, nil)
	s.AddTool(&mcp.Tool{Name: "prices", InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{StructuredContent: json.RawMessage(exactly)}, nil
		})
	calls := map[string]policy.Calls{"a process": bad(t, "yes"), "a process that greets": bad(t, "greets")}
	for name, options := range map[string]*mcp.StreamableHTTPOptions{"events": nil, "JSON": {JSONResponse: true}} {
		far := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, options))
		t.Cleanup(far.Close)
		calls[name] = policy.Calls{MCP: map[string]policy.MCP{"far": {URL: far.URL}}}
	}
	for name, c := range calls {
		got, err := newRig(t, c).call(t, "prices", `{}`)
		if err != nil || string(got.JSON) != exactly {
			t.Errorf("by %s: %s, %v; want %s", name, got.JSON, err, exactly)
		}
	}
}

// TestVerbatim: what the reader changes, and what it passes on.
func TestVerbatim(t *testing.T) {
	const quoted = `{"id":1,"jsonrpc":"2.0","result":{"structuredContent":{"xstate.verbatim":"{\"n\": 1.0}"}}}`
	for _, c := range []struct {
		text, want   string
		whole, clean bool
	}{
		{`{"id":1,"jsonrpc":"2.0","result":{"structuredContent":{"n": 1.0}}}` + "\r\n{}\n", quoted + "\r\n",
			false, true},
		{"event: message\ndata: " + `{"id":1,"jsonrpc":"2.0","result":{"structuredContent":{"n": 1.0}}}` + "\n\n",
			"event: message\ndata: " + quoted + "\n\n", false, false},
		{"{\"id\":1,\n\"jsonrpc\":\"2.0\",\"result\": {\n\"structuredContent\": {\"n\": 1.0}}}", quoted, true, false},
		{`{"result":{"structuredContent":null}}`, `{"result":{"structuredContent":null}}`, false, false},
		{`{"result":["structuredContent"]}`, `{"result":["structuredContent"]}`, false, false},
		{`{"structuredContent": broken`, `{"structuredContent": broken`, false, false},
		{"INFO\n\n{\"jsonrpc\":1}\nWARN {}\n {\"level\":1}\n{jsonrpc\n[1/2]\n [{\"jsonrpc\":1}]\n1\n",
			"{\"jsonrpc\":1}\n [{\"jsonrpc\":1}]\n", false, true},
		{"INFO\n\n{}\n", "INFO\n\n{}\n", false, false},
		{strings.Repeat("noise\n", maxNoise), strings.Repeat("noise\n", maxNoise-maxNoise/6), false, true},
	} {
		from := io.Reader(strings.NewReader(c.text))
		if len(c.text) < maxNoise {
			from = iotest.OneByteReader(from)
		}
		got, err := io.ReadAll(verbatim(io.NopCloser(from), c.whole, c.clean))
		if err != nil || string(got) != c.want {
			t.Errorf("verbatim(%.80q) = %.80q (%d bytes), %v; want %.80q (%d)", c.text, got, len(got), err, c.want,
				len(c.want))
		}
	}
}
