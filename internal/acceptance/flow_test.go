package acceptance

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/internal/xstatetest"
	"github.com/xstate-engine/xstate/internal/xstatetest/await"
	"github.com/xstate-engine/xstate/runner/sandbox/policy"
	"github.com/xstate-engine/xstate/state/flow"
)

// TestFlow runs workflows of testdata/flow with scripted models. It must find what the file says: the planted
// fault with its sources, and nothing in a sound one. unseen are calls with what they had to rely on others for.
func TestFlow(t *testing.T) {
	const folder = "../../testdata/flow"
	files, err := filepath.Glob(folder + "/workflows/*.txtar")
	if err != nil || len(files) < 13 {
		t.Fatalf("%d workflows, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			script, err := filepath.Abs(folder + "/answers.jsonl")
			if err != nil {
				t.Fatal(err)
			}
			o := xstate.SessionOptions{Python: xstatetest.Pythons()[0], Workspace: t.TempDir(),
				Policy: &policy.Policy{Level: policy.Off, Calls: policy.Calls{
					Models: map[string]policy.Model{"default": {API: "script", Script: script}}}}}
			if err := os.CopyFS(filepath.Join(o.Workspace, "docs"), os.DirFS(folder+"/docs")); err != nil {
				t.Fatal(err)
			}
			given := map[string][]byte{}
			for _, f := range archive.Files {
				given[f.Name] = f.Data
			}
			finds, unseen := given["finds"], given["unseen"]
			delete(given, "finds")
			delete(given, "unseen")
			xstatetest.WriteFiles(t, o.Workspace, given)
			store := xstatetest.OpenStore(t, filepath.Join(o.Workspace, xstate.StoreName))
			session := xstatetest.OpenSession(t, store, o)
			out := xstatetest.RunFile(t, t.Context(), session, o.Workspace, given, await.Long)
			for _, b := range out.Blocks {
				if b.Err != nil {
					t.Fatalf("block %s: %v", b.ID, b.Err)
				}
			}
			_, head, err := session.History().Program(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			f, err := flow.Of(t.Context(), session.History(), head, 0)
			if err != nil {
				t.Fatal(err)
			}
			var have []string
			for _, x := range f.Findings {
				have = append(have, strings.Join(append([]string{x.Code}, x.Sources...), " "))
			}
			if d := gocmp.Diff(linesOf(finds), have); d != "" {
				t.Errorf("findings (-want +have):\n%s", d)
			}
			for _, line := range linesOf(unseen) {
				i := slices.IndexFunc(f.Calls, func(c flow.CallFlow) bool {
					return strings.HasPrefix(line, fmt.Sprintf("%d: ", c.ID))
				})
				if i < 0 {
					t.Errorf("there is no call of %q", line)
					continue
				}
				have := fmt.Sprintf("%d: %s", f.Calls[i].ID, strings.Join(f.Calls[i].Unseen, " "))
				if have != line {
					t.Errorf("unseen:\n%s\nwant\n%s", have, line)
				}
			}
		})
	}
}

func linesOf(text []byte) []string {
	if len(text) == 0 {
		return nil
	}
	return strings.Split(strings.TrimSpace(string(text)), "\n")
}
