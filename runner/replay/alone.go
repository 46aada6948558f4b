package replay

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/xstate-engine/xstate/internal/lang"
	"github.com/xstate-engine/xstate/runner"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/output"
	"github.com/xstate-engine/xstate/state/query"
)

// Alone is a comparison of what a run printed with what the interpreter alone prints, which knows nothing of xstate. It
// is made where the program may run a second time, and would print the same.
type Alone struct {
	Script   bool   `json:"script"` // the program is one that its interpreter alone can run
	Compared bool   `json:"compared"`
	Why      string `json:"why,omitempty"` // it was not: a sentence without its end
	Command  string `json:"command,omitempty"`
}

// maxAlone is how long the interpreter alone may take beyond twice what the run took.
const maxAlone = time.Minute

// CompareAlone runs the program of a session by its interpreter alone, in its folder, and compares the standard output
// with that of an outcome. It records nothing. The difference is nil where both are equal, or were not compared.
func CompareAlone(ctx context.Context, s *Subject, have *runner.Outcome) (Alone, *Difference, error) {
	cfg, err := s.Config(ctx, false)
	if err != nil {
		return Alone{}, nil, err
	}
	command, why := aloneBy(&cfg, have)
	if why == "" {
		why = repeats(have)
	}
	if why == "" && listsStore(&cfg, have) {
		why = "the program lists the folder with the store in it"
	}
	if why != "" {
		return Alone{Script: cfg.Ends, Why: why}, nil, nil
	}
	a := Alone{Script: true, Command: filepath.Base(command[0]) + " " + filepath.Base(cfg.File)}
	ctx, stop := context.WithTimeout(ctx, maxAlone+2*time.Duration(have.Seconds*float64(time.Second)))
	defer stop()
	printed, err := printedAlone(ctx, &cfg, command)
	if err != nil {
		a.Why = fmt.Sprintf("%s does not run: %v", a.Command, err)
		return a, nil, nil
	}
	ours, theirs := query.Text(printedBy(have)), query.Text(printed)
	a.Compared = true
	if ours == theirs {
		return a, nil, nil
	}
	return a, &Difference{What: "output", Have: ours, Want: theirs, Alone: true}, nil
}

// aloneBy returns the command that runs the program without xstate; or why there is none.
func aloneBy(cfg *runner.Config, have *runner.Outcome) (command []string, why string) {
	switch {
	case !cfg.Ends:
		return nil, "the program is no script"
	case cfg.Bounds != nil:
		return nil, "the program is bounded"
	case cfg.Invocation.Stdin != "" || cfg.Invocation.StdinFile != "":
		return nil, "the program has a standard input"
	case len(have.Blocks) == 0:
		return nil, "the program is empty"
	}
	dialect := have.Blocks[0].Dialect
	if v, ok := lang.Of(dialect); !ok || !v.Alone {
		return nil, fmt.Sprintf("the interpreter alone reads no %s", dialect)
	}
	l, err := cfg.Languages.Of(dialect)
	if err != nil {
		return nil, err.Error()
	}
	command = []string{l.Command()}
	if l.Name() == "python" {
		command = append(command, "-B") // it leaves no bytecode in the folder
	}
	file := cfg.File
	if rel, err := filepath.Rel(cfg.Workspace, file); err == nil && filepath.IsLocal(rel) {
		file = rel // as the program finds it in its arguments
	}
	return append(append(command, file), cfg.Invocation.Arguments...), ""
}

// repeats returns why a second execution of what a run was seen to do might do harm, or print something else.
func repeats(have *runner.Outcome) string {
	for i := range have.Blocks {
		b := &have.Blocks[i]
		if len(b.AllMarks) > 0 {
			return fmt.Sprintf("block %s is volatile (%s)", b.ID, strings.Join(b.AllMarks, ", "))
		}
		if b.Err != nil || b.Status == state.StatusBlocked {
			return fmt.Sprintf("block %s fails", b.ID)
		}
		for t := range results(b) {
			if why := repeatable(t); why != "" {
				return fmt.Sprintf("block %s %s", b.ID, why)
			}
		}
	}
	return ""
}

func repeatable(t *state.Trace) string {
	for _, a := range slices.Concat(t.Reads, t.Writes) {
		if _, call := state.CallPlaceOf(a.Key); call || a.Key.Space() == "effect" {
			return "makes calls"
		}
		if a.Key.Space() == "rng" {
			return "draws random numbers"
		}
	}
	for _, a := range t.Writes {
		if a.Key.Space() == "file" {
			return "writes files"
		}
	}
	return ""
}

// listsStore reports whether a program listed the folder that holds the store, where its interpreter alone sees that.
func listsStore(cfg *runner.Config, have *runner.Outcome) bool {
	store, err := filepath.EvalSymlinks(cfg.Store.Dir())
	if err == nil {
		store, err = filepath.Abs(store)
	}
	if err != nil {
		return false
	}
	for i := range have.Blocks {
		for t := range results(&have.Blocks[i]) {
			for _, a := range t.Reads {
				path := a.Key.Name()
				if !filepath.IsAbs(path) {
					path = filepath.Join(cfg.Workspace, path)
				}
				if a.Key.Space() == "dir" && path == filepath.Dir(store) {
					return true
				}
			}
		}
	}
	return false
}

// printedAlone runs a command as the program is started, and returns its standard output.
func printedAlone(ctx context.Context, cfg *runner.Config, command []string) ([]output.Output, error) {
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Dir = cfg.Workspace
	cmd.Env = cfg.ProgramEnviron()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	var out limited
	cmd.Stdout = &out
	err := cmd.Run()
	if ctx.Err() != nil {
		return nil, errors.New("it takes too long")
	}
	if err != nil && !errors.As(err, new(*exec.ExitError)) {
		return nil, err
	}
	if out.Len() > output.Limit {
		return nil, errors.New("it prints too much")
	}
	text := strings.ToValidUTF8(out.String(), "\uFFFD")
	return output.Join([]output.Output{{Kind: "stdout", Text: text}}), nil
}

// limited keeps a little more than what is recorded of an output.
type limited struct{ bytes.Buffer }

func (l *limited) Write(data []byte) (int, error) {
	if l.Len() <= output.Limit {
		l.Buffer.Write(data)
	}
	return len(data), nil
}

// printedBy is the standard output of a run.
func printedBy(have *runner.Outcome) []output.Output {
	var all []output.Output
	for i := range have.Blocks {
		for _, o := range have.Blocks[i].Outputs {
			if o.Kind == "stdout" {
				all = append(all, o)
			}
		}
	}
	return output.Join(all)
}
