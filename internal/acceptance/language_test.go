package acceptance

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/internal/xstatetest"
	"github.com/xstate-engine/xstate/patch"
	"github.com/xstate-engine/xstate/runner/kernel"
)

// TestUnknownLanguage: a block in R was once taken in, and run as Python.
func TestUnknownLanguage(t *testing.T) {
	dir := t.TempDir()
	s := xstatetest.OpenSession(t, xstatetest.OpenStore(t, filepath.Join(dir, xstate.StoreName)),
		xstate.SessionOptions{Workspace: dir})
	_, err := s.Load(t.Context(), []patch.Block{{ID: "a", Dialect: "R", Source: "x <- 1\n"}}, xstate.Origin{})
	var found *xstate.Error
	if !errors.As(err, &found) || found.Code != kernel.CodeUnknownLanguage {
		t.Fatalf("Load of a block in R: %v, want an error of code %s", err, kernel.CodeUnknownLanguage)
	}
	if !strings.Contains(found.Message, `"R"`) || !strings.Contains(found.Hint, "ipython, javascript, python") {
		t.Errorf("Load of a block in R: %q, hint %q; want the language, and those that there are", found.Message,
			found.Hint)
	}
	if steps, err := s.Load(t.Context(), []patch.Block{{ID: "a", Source: "x = 1\n"}}, xstate.Origin{}); err != nil {
		t.Errorf("Load of a block that names no language: %d steps, %v; want Python", len(steps), err)
	}
}
