package acceptance

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/internal/xstatetest"
	"github.com/xstate-engine/xstate/internal/xstatetest/sampling"
)

// TestLanguages gives the sessions of testdata/languages to three judges after each step: a run from scratch and the
// blocks that must run, as TestPrograms does, and the interpreter alone. That one executes all blocks as one program,
// with a line between any two. What each block prints, and how the first block that fails does so, must be equal.
func TestLanguages(t *testing.T) {
	files, err := filepath.Glob("../../testdata/languages/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no programs in testdata/languages: %v", err)
	}
	reportSessions(t)
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txtar")
		if testing.Short() && sampling.Of(sessionOf(file), 20) != 0 {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, interpreter := range interpretersOf(name) {
				if !has(interpreter) {
					t.Skipf("%s is not installed", interpreter)
				}
			}
			steps := xstatetest.ReadSteps(t, file)
			judge := newOracle(sessionOf(file), steps, xstate.SessionOptions{Seed: 7, Policy: bounded()})
			judge.alone = func(t *testing.T, _ int, files map[string][]byte, out *xstate.Outcome) string {
				return unlikeAlone(t, files, steps[0].Judge, out)
			}
			for _, mode := range modesOf(name) {
				t.Run(mode, func(t *testing.T) { runProgram(t, steps, judge, mode) })
			}
			if *update {
				updatePrints(t, file, steps, func(files map[string][]byte) (string, bool) {
					return alonePrints(t, steps[0].Judge, files)
				})
			}
		})
	}
}

// interpretersOf returns the programs that a session needs.
func interpretersOf(session string) []string {
	switch language, _, _ := strings.Cut(session, "-"); language {
	case "mix":
		return []string{"node", "bash"}
	case "sh":
		return []string{"bash"}
	}
	return []string{"node"}
}

func has(program string) bool {
	_, err := exec.LookPath(program)
	return err == nil
}
