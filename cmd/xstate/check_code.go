package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/internal/api"
	"github.com/xstate-engine/xstate/internal/checkers"
	"github.com/xstate-engine/xstate/internal/lang"
	"github.com/xstate-engine/xstate/internal/term"
	"github.com/xstate-engine/xstate/patch"
	"github.com/xstate-engine/xstate/runner"
	"github.com/xstate-engine/xstate/runner/kernel"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/output"
	"github.com/xstate-engine/xstate/state/query"
)

// checkSession is the name of the session whose program is the last checks of code.
const checkSession = "code-checks"

type checkCodeFlags struct {
	with    []string
	timeout time.Duration
	origin  xstate.Origin
}

func (a *app) checkCodeVerb() *cobra.Command {
	var f checkCodeFlags
	cmd := &cobra.Command{
		Use:   "check-code FILE…",
		Short: "run linters and type checkers whose inputs changed",
		Long: `Check-code runs the linters and type checkers that are installed for the language of each file: ruff,
mypy, ty, pyright and pylint for Python, eslint and tsc for JavaScript and TypeScript, shellcheck for Bash. It looks for
them in .venv/bin and node_modules/.bin of the folder, then on PATH. --with chooses among them.

Each check is a node: a checker with the files that it read, also modules that they import, its configuration, and
places where a configuration would be. It runs again only if one of them changed. Caches of checkers are off.

Findings are printed with the block of the program that they are in, and whether the check before had them. They are
kept as outputs of the session ` + checkSession + `. Exit code 1 means that there are errors or warnings, or that a
checker failed.`,
		Example: `  xstate check-code analysis.py
  xstate check-code --with ruff,mypy *.py
  xstate patch analysis.py answer.md && xstate check-code analysis.py`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return a.checkCode(cmd.Context(), args, f) },
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringSliceVar(&f.with, "with", nil, "only the checkers with these `NAMES`")
	flags.DurationVar(&f.timeout, "timeout", 0, "stop a check that runs longer than this `DURATION`")
	a.sandboxFlag(flags, "check-code")
	a.originFlags(cmd, &f.origin)
	return cmd
}

func (a *app) checkCode(ctx context.Context, args []string, f checkCodeFlags) error {
	for _, name := range f.with {
		if !slices.Contains(checkers.Names(), name) {
			return &usageError{err: fmt.Errorf("there is no checker %q", name),
				hint: "`--with` takes " + strings.Join(checkers.Names(), ", ")}
		}
	}
	a.bounds.executes = true
	folder, err := a.folderOfChecks()
	if err != nil {
		return err
	}
	o, err := a.openMade(ctx, checkSession, folder, "", "keeps the results of the checks in %s")
	if err != nil {
		return err
	}
	defer o.Close()
	files, err := o.filesToCheck(args, folder)
	if err != nil {
		return err
	}
	names := f.with
	if len(names) == 0 {
		names = checkers.Names()
	}
	find := func(name string) string { return a.checkerIn(folder, name) }
	checks := checkers.Checks(files, names, find)
	if len(checks) == 0 {
		return &state.Error{Code: api.CodeNoChecker,
			Message: "no checker of " + strings.Join(files, ", ") + " is installed",
			Hint: "install one, such as ruff, eslint or shellcheck: it is sought in .venv/bin, node_modules/.bin and " +
				"on PATH"}
	}
	found, err := o.check(ctx, checks, f)
	if err != nil {
		return err
	}
	for _, file := range files {
		if !checkers.Read(checks, file) {
			found.Unchecked = append(found.Unchecked, file)
		}
	}
	if a.ui.JSON {
		err = a.ui.Document(found)
	} else {
		a.printFindings(found, folder)
	}
	bad := slices.ContainsFunc(found.Findings, func(f api.CodeFinding) bool { return f.Severity != "note" })
	if err == nil && (bad || found.Failed > 0) {
		return outcome(exitFailed)
	}
	return err
}

// folderOfChecks is where checkers run: the folder of the store, so that the same file is the same from each folder
// below, or else the working directory.
func (a *app) folderOfChecks() (string, error) {
	folder, err := a.here()
	if err != nil || a.store != "" {
		return folder, err
	}
	dir, found, err := a.storeDir(folder)
	if found {
		folder = filepath.Dir(dir)
	}
	return folder, err
}

// filesToCheck returns paths relative to the folder in which checkers run.
func (o *opened) filesToCheck(args []string, folder string) (files []string, err error) {
	for _, arg := range args {
		path, err := o.abs(arg)
		if err != nil {
			return nil, err
		}
		if info, err := os.Stat(path); err != nil || info.IsDir() {
			return nil, &state.Error{Code: api.CodeNoFile, Message: fmt.Sprintf("there is no file %q", arg),
				Hint: "name files, not a folder: `src/*.py`"}
		}
		if path, err = filepath.Rel(folder, path); err != nil {
			return nil, err
		}
		files = append(files, filepath.ToSlash(path))
	}
	slices.Sort(files)
	return slices.Compact(files), nil
}

// checkerIn returns the path of a checker, and "" if it is not installed.
func (c caller) checkerIn(folder, name string) string {
	var places []string
	for _, place := range []string{".venv/bin", "venv/bin", "node_modules/.bin"} {
		places = append(places, filepath.Join(folder, place))
	}
	list := strings.Join(append(places, c.env("PATH")), string(filepath.ListSeparator))
	path, err := kernel.LookPath(name, list)
	if err != nil {
		return ""
	}
	return path
}

// check brings the checks up to date, as the program of the session.
func (o *opened) check(ctx context.Context, checks []checkers.Check, f checkCodeFlags) (*api.CheckCode, error) {
	before, err := o.findingsBefore(ctx, checks)
	if err != nil {
		return nil, err
	}
	blocks := make([]patch.Block, len(checks))
	for i, c := range checks {
		blocks[i] = patch.Block{Title: titleOf(c), Dialect: string(lang.Bash), Source: c.Source}
	}
	if _, err := o.session.Load(ctx, blocks, f.origin); err != nil {
		return nil, err
	}
	out, results, step, err := o.runChecks(ctx, checks, f)
	if err != nil {
		return nil, err
	}
	if out.Stopped != nil {
		return nil, out.Stopped
	}
	found := &api.CheckCode{Version: api.Version, Session: checkSession, Step: step.Number, Checks: []api.CodeCheck{},
		Findings: []api.CodeFinding{}, Seconds: out.Seconds, Saved: out.Saved}
	programs := map[string][]patch.Block{}
	for i, c := range checks {
		b := &out.Blocks[i]
		row := api.CodeCheck{Checker: c.Checker, Files: c.Files, Status: b.Status.String(), Reason: b.Reason,
			Seconds: b.Seconds, Findings: len(results[i].findings)}
		if err := results[i].err; err != nil {
			row.Error = err.Error()
			found.Failed++
		}
		if b.Status == state.StatusReused {
			found.Reused++
		} else {
			found.Ran++
		}
		found.Checks = append(found.Checks, row)
		was, compared := before[titleOf(c)]
		for _, f := range results[i].findings {
			placed := api.CodeFinding{Finding: f}
			o.placeFinding(ctx, &placed, programs)
			if key := findingKey(f); was[key] > 0 {
				was[key]--
			} else if compared {
				placed.New = true
				found.New++
			}
			found.Findings = append(found.Findings, placed)
		}
	}
	return found, nil
}

// checkResult is what a check found, or why it has no result.
type checkResult struct {
	findings []checkers.Finding
	err      error
}

// runChecks runs the program of the checks, and returns the result of each. It makes checks again that failed in an
// earlier run, for their checkers may have been killed, and those during which a file was edited.
func (o *opened) runChecks(
	ctx context.Context, checks []checkers.Check, f checkCodeFlags,
) (out *xstate.Outcome, results []checkResult, step xstate.Step, err error) {
	options := runner.RunOptions{Timeout: f.timeout}
	for range 3 {
		out, step, err = o.session.Run(ctx, options, f.origin)
		if err != nil || out.Stopped != nil {
			break
		}
		edited := false
		options.Pins = map[xstate.BlockID]runner.Pin{}
		results = make([]checkResult, len(checks))
		for i, c := range checks {
			b, r := &out.Blocks[i], &results[i]
			r.findings, r.err = findingsOf(c, b.Outputs, o.session.Folder())
			edited = edited || slices.Contains(b.Marks, state.MarkEdited)
			if r.err != nil && b.Status == state.StatusReused {
				options.Pins[b.ID] = runner.PinAlways
			}
		}
		if !edited && len(options.Pins) == 0 {
			break
		}
	}
	return out, results, step, err
}

func titleOf(c checkers.Check) string { return c.Checker + " " + strings.Join(c.Files, " ") }

// findingKey is by what a finding is known when lines above it come and go.
func findingKey(f checkers.Finding) checkers.Finding {
	f.Line, f.Column = 0, 0
	return f
}

func findingsOf(c checkers.Check, outputs []output.Output, folder string) ([]checkers.Finding, error) {
	var stdout, stderr strings.Builder
	for _, x := range outputs {
		switch x.Kind {
		case "stdout":
			stdout.WriteString(x.Text)
		case "stderr":
			stderr.WriteString(x.Text)
		}
	}
	return c.Findings(stdout.String(), stderr.String(), folder)
}

// findingsBefore counts the findings of the same checks as they were last, by title.
func (o *opened) findingsBefore(
	ctx context.Context, checks []checkers.Check,
) (map[string]map[checkers.Finding]int, error) {
	head, err := o.head(ctx)
	if err != nil || head == 0 {
		return nil, err
	}
	snapshot, err := o.history.At(ctx, head)
	if err != nil {
		return nil, err
	}
	before := map[string]map[checkers.Finding]int{}
	for _, b := range snapshot.Blocks {
		i := slices.IndexFunc(checks, func(c checkers.Check) bool { return titleOf(c) == b.Title })
		if i < 0 || b.RanAt == 0 {
			continue
		}
		findings, err := findingsOf(checks[i], b.Outputs, o.session.Folder())
		if err != nil {
			continue // it failed: there is nothing to compare with
		}
		counts := map[checkers.Finding]int{}
		for _, f := range findings {
			counts[findingKey(f)]++
		}
		before[b.Title] = counts
	}
	return before, nil
}

// placeFinding finds the block that a finding is in. programs holds the blocks of files that were read before.
func (o *opened) placeFinding(ctx context.Context, f *api.CodeFinding, programs map[string][]patch.Block) {
	blocks, known := programs[f.File]
	if !known {
		blocks = o.blocksOf(ctx, inFolder(o.session.Folder(), f.File))
		programs[f.File] = blocks
	}
	for i, b := range slices.Backward(blocks) {
		if b.Line > 0 && b.Line <= f.Line {
			f.Block, f.BlockLine = cmp.Or(b.ID, b.Title, fmt.Sprintf("[%d]", i+1)), f.Line-b.Line+1
			return
		}
	}
}

// inFolder is the path of a file of a finding.
func inFolder(folder, file string) string {
	if filepath.IsAbs(file) {
		return file
	}
	return filepath.Join(folder, filepath.FromSlash(file))
}

// blocksOf returns the blocks of a file, with the ids that its session gives them if there is one.
func (o *opened) blocksOf(ctx context.Context, path string) []patch.Block {
	blocks := slices.Clone(o.blocksIn(path))
	meta, err := o.store.State().Session(ctx, sessionName(o.store.State().Dir(), path))
	if err != nil {
		return blocks
	}
	recorded, _, err := query.New(o.store.State(), meta, "").Blocks(ctx)
	if err != nil {
		return blocks
	}
	ids := map[string][]string{} // by source
	for _, b := range recorded {
		ids[b.Source] = append(ids[b.Source], b.ID)
	}
	for i := range blocks {
		if same := ids[blocks[i].Source]; len(same) > 0 {
			blocks[i].ID, ids[blocks[i].Source] = same[0], same[1:]
		}
	}
	return blocks
}

func (a *app) printFindings(found *api.CheckCode, folder string) {
	for _, f := range found.Findings {
		rule, _, _ := strings.Cut(f.Message, "\n")
		if f.Rule != "" {
			rule += "  " + f.Rule
		}
		where := f.Checker
		if f.Block != "" {
			where += fmt.Sprintf(", block %s line %d", f.Block, f.BlockLine)
		}
		if f.New {
			where += ", new"
		}
		severity := f.Severity
		if severity == "error" {
			severity = a.ui.Red(severity)
		}
		file := a.fromHere(inFolder(folder, f.File))
		a.ui.Print("%s:%d:%d: %s: %s  (%s)\n", file, f.Line, f.Column, severity, rule, where)
	}
	for _, c := range found.Checks {
		if c.Error != "" {
			a.ui.Talk("%s failed: %s", titleOf(checkers.Check{Checker: c.Checker, Files: c.Files}), c.Error)
		}
	}
	if len(found.Unchecked) > 0 {
		a.ui.Talk("no checker here reads %s", strings.Join(found.Unchecked, ", "))
	}
	text := fmt.Sprintf("ran %s, reused %d", term.Plural(found.Ran, "check"), found.Reused)
	if found.Saved > 0 {
		text += fmt.Sprintf(" (%s saved)", term.Seconds(found.Saved))
	}
	text += ": " + term.Plural(len(found.Findings), "finding")
	if found.New > 0 {
		text += fmt.Sprintf(", %d new", found.New)
	}
	a.ui.Talk("%s", text)
}
