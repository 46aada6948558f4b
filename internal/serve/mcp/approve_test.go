package mcp

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/xstate-engine/xstate/internal/api"
	"github.com/xstate-engine/xstate/internal/verb"
	"github.com/xstate-engine/xstate/state"
)

// TestSeal: only what this server asked, in a call of this tool with these arguments, can be decided.
func TestSeal(t *testing.T) {
	s, other := &server{secret: []byte("ours")}, &server{secret: []byte("theirs")}
	args := json.RawMessage(`{"code":"x"}`)
	a := asked{Tool: "exec", Args: state.DigestOf(args), Calls: []state.CallID{7}}
	sealed, err := s.seal(a)
	if err != nil {
		t.Fatal(err)
	}
	if got, ok := s.unseal(sealed, "exec", args); !ok || !slices.Equal(got.Calls, a.Calls) {
		t.Errorf("unseal = %+v, %v, want %+v", got, ok, a)
	}
	text, sum, _ := strings.Cut(sealed, ".")
	plain, _ := base64.RawURLEncoding.DecodeString(text)
	changed := base64.RawURLEncoding.EncodeToString([]byte(strings.Replace(string(plain), "[7]", "[8]", 1))) + "." + sum
	foreign, _ := other.seal(a)
	for what, bad := range map[string]string{
		"changed": changed, "of another server": foreign, "unsigned": text, "empty": "",
	} {
		if _, ok := s.unseal(bad, "exec", args); ok {
			t.Errorf("a state that is %s is taken", what)
		}
	}
	for _, x := range [][2]string{{"run", string(args)}, {"exec", `{"code":"y"}`}} {
		if _, ok := s.unseal(sealed, x[0], json.RawMessage(x[1])); ok {
			t.Errorf("a state is taken for %s of %s", x[0], x[1])
		}
	}
}

// TestForgedAnswer: an answer without a question of this server decides nothing, and one to a question does.
func TestForgedAnswer(t *testing.T) {
	yes := &verb.Approve{Calls: []state.CallID{7}, By: "the user", Choice: "yes"}
	for forged, want := range map[bool][]verb.Request{true: nil, false: {yes}} {
		var got []verb.Request
		s := newServer(context.Background(), answering(api.Approve{}, &got), Options{})
		r := &sdk.CallToolRequest{Params: &sdk.CallToolParamsRaw{Name: "run", Arguments: json.RawMessage(`{}`)}}
		r.Params.InputResponses = sdk.InputResponseMap{"call-7": &sdk.ElicitResult{Action: "accept",
			Content: map[string]any{"choice": "yes"}}}
		a := asked{Tool: "run", Args: state.DigestOf(r.Params.Arguments), Calls: []state.CallID{7}}
		from := s
		if forged {
			from = &server{secret: []byte("theirs")}
		}
		sealed, err := from.seal(a)
		if err != nil {
			t.Fatal(err)
		}
		before, _ := s.unseal(sealed, "run", r.Params.Arguments)
		bad := s.decide(t.Context(), r, before)
		if d := cmp.Diff(want, got); bad != nil || d != "" {
			t.Errorf("forged %v: decide = %v, and asks (-want +got):\n%s", forged, bad, d)
		}
	}
}
