package xstate_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/internal/xstatetest"
	"github.com/xstate-engine/xstate/internal/xstatetest/turns"
)

// TestLanguages gives the sessions of testdata/languages to three judges after each step: a run from scratch and the
// blocks that must run, as TestPrograms does, and the interpreter alone. That one executes all blocks as one program,
// with a line between any two. What each block prints, and how the first block that fails does so, must be equal.
func TestLanguages(t *testing.T) {
	files, err := filepath.Glob("testdata/languages/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no programs in testdata/languages: %v", err)
	}
	for i, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txtar")
		if testing.Short() && i%20 != 0 || !turns.Come(name) {
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
			options := xstate.SessionOptions{Seed: 7, Policy: bounded()}
			judge := newOracle(steps, options)
			for _, mode := range modesOf(name, false, 2) {
				t.Run(mode, func(t *testing.T) {
					found := runProgram(t, steps, judge, mode)
					files := map[string][]byte{}
					for j, s := range steps {
						s.AddTo(files)
						if what := unlikeAlone(t, files, steps[0].Judge, found[j]); what != "" {
							t.Errorf("step %d: %s", j, what)
						}
					}
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
