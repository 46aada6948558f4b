package provenance_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/internal/xstatetest"
	"github.com/xstate-engine/xstate/state/provenance"
)

// agentTrace is a trace record of Agent Trace 0.1, with the fields that its schema has and no other.
type agentTrace struct {
	Version   string
	ID        string
	Timestamp time.Time
	Tool      struct{ Name, Version string }
	Files     []struct {
		Path          string
		Conversations []struct {
			URL         string
			Contributor struct {
				Type  string
				Model string `json:"model_id"`
			}
			Ranges []struct {
				Start int    `json:"start_line"`
				End   int    `json:"end_line"`
				Hash  string `json:"content_hash"`
			}
			Related []struct{ Type, URL string }
		}
	}
	Metadata map[string]any
}

// TestAgentTrace: the record is as its schema has it, its ranges cover every line of every block once, each has the
// content that its hash says, and is by the model that blame names.
func TestAgentTrace(t *testing.T) {
	a := xstatetest.NewAgents(t, 3, "ann", "bob")
	for range 12 {
		a.Edit(a.R.IntN(2), a.Program())
	}
	text, err := a.Session.History().Text(t.Context(), a.Head(), "prog.py", nil)
	if err != nil {
		t.Fatal(err)
	}
	text = append([]byte("# by hand\n\n"), text...)
	data, err := provenance.Export(
		t.Context(),
		a.Session.History(),
		a.Head(),
		provenance.FormatAgentTrace,
		provenance.ExportOptions{File: "src/prog.py", Data: text},
	)
	if err != nil {
		t.Fatal(err)
	}
	var r agentTrace
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&r); err != nil {
		t.Fatal(err)
	}
	if !regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`).MatchString(r.ID) ||
		r.Version != "0.1.0" ||
		r.Timestamp.IsZero() {
		t.Errorf("version %q, id %q, timestamp %v", r.Version, r.ID, r.Timestamp)
	}
	if len(r.Files) != 1 || r.Files[0].Path != "src/prog.py" {
		t.Fatalf("files are %+v", r.Files)
	}
	lines := strings.Split(string(text), "\n")
	by := map[int]string{}
	for _, c := range r.Files[0].Conversations {
		if c.Contributor.Type != "ai" && c.Contributor.Type != "unknown" ||
			(c.Contributor.Type == "ai") != (c.Contributor.Model != "") ||
			len(c.Related) == 0 {
			t.Errorf("conversation %+v", c)
		}
		for _, x := range c.Related {
			if u, err := url.Parse(x.URL); err != nil || u.Scheme != "urn" || x.Type == "" {
				t.Errorf("related %+v", x)
			}
		}
		for _, x := range c.Ranges {
			if want := fmt.Sprintf("sha256:%x",
				sha256.Sum256([]byte(strings.Join(lines[x.Start-1:x.End], "\n")+"\n"))); x.Hash != want {
				t.Errorf("hash of lines %d to %d = %s, want %s", x.Start, x.End, x.Hash, want)
			}
			for n := x.Start; n <= x.End; n++ {
				if _, twice := by[n]; twice {
					t.Errorf("line %d is in two ranges", n)
				}
				by[n] = c.Contributor.Model
			}
		}
	}
	at := 0
	for _, b := range a.Program() {
		blame, err := a.Session.History().Blame(t.Context(), a.Head(), xstate.BlockID(b.ID))
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range blame {
			for lines[at] != l.Text {
				if model, known := by[at+1]; known {
					t.Errorf("line %d, of no block, is by %q", at+1, model)
				}
				at++
			}
			if at++; by[at] != l.Origin.Model {
				t.Errorf("line %d is by %q, want %q", at, by[at], l.Origin.Model)
			}
		}
	}
}
