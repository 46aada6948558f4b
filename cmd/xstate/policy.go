package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/xstate-engine/xstate/internal/api"
	"github.com/xstate-engine/xstate/runner/sandbox/policy"
	"github.com/xstate-engine/xstate/state"
)

func (a *app) policyVerb() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "policy",
		Short: "show what programs may do here",
		Long: `Policy shows the bounds of a program in this folder, and the line of each setting. They come from
the file xstate.toml of the user (~/.config/xstate/) and from those at and above the program. The file of a folder
only narrows, unless that of the user names the folder in sandbox.trust. docs/sandbox.md describes levels and files.`,
		Example: `  xstate policy
  xstate policy --sandbox strict
  xstate policy trust .`,
		Args: takes(0, 0, ""),
		RunE: func(*cobra.Command, []string) error { return a.showPolicy() },
	}
	a.sandboxFlag(cmd.Flags(), "policy")
	check := &cobra.Command{
		Use:   "check [FILE]",
		Short: "check a policy file",
		Long: `Check reads a policy file (default: the files that count here) and shows what it makes where it is
trusted. It exits with 2 if the file is malformed or contradicts itself, and with 3 if this system cannot enforce
it.`,
		Example: `  xstate policy check
  xstate policy check ~/.config/xstate/xstate.toml
  xstate policy check xstate.toml --sandbox strict`,
		Args: takes(0, 1, "one FILE"),
		RunE: func(_ *cobra.Command, args []string) error { return a.checkPolicy(args) },
	}
	a.sandboxFlag(check.Flags(), "policy")
	trust := &cobra.Command{
		Use:   "trust FOLDER",
		Short: "trust the policy file of a folder",
		Long: `Trust shows what the file xstate.toml of a folder grants to programs there, and asks you at the terminal.
With yes it adds the folder to sandbox.trust of your own file (~/.config/xstate/xstate.toml). Sources of
tools that the file names are then started with your rights. Remove the folder there to trust it no longer.`,
		Example: `  xstate policy trust .
  xstate policy trust ~/analysis`,
		Args: takes(1, 1, "a FOLDER"),
		RunE: func(cmd *cobra.Command, args []string) error { return a.trustFolder(cmd.Context(), args[0]) },
	}
	cmd.AddCommand(former(check, "doctor --policy"), trust)
	return cmd
}

// showPolicy shows the policy of programs in the caller's folder.
func (a *app) showPolicy() error {
	folder, err := a.here()
	if err != nil {
		return err
	}
	o, err := a.policyOptions(folder, "")
	if err != nil {
		return err
	}
	p, err := policy.Read(o)
	if err != nil {
		return err
	}
	return a.printPolicy(p, folder)
}

func (a *app) checkPolicy(args []string) error {
	if len(args) == 0 {
		return a.showPolicy()
	}
	name, err := a.abs(args[0])
	if err != nil {
		return err
	}
	if _, err := a.stat(args[0]); err != nil {
		return &usageError{err: err, hint: "`xstate doctor POLICYFILE`"}
	}
	folder := filepath.Dir(name)
	o, err := a.policyOptions(folder, "")
	if err != nil {
		return err
	}
	p, err := policy.Check(name, sameFile(name, o.User), o)
	if err != nil {
		return err
	}
	return a.printPolicy(p, folder)
}

func sameFile(a, b string) bool {
	x, err := os.Stat(a)
	y, bad := os.Stat(b)
	return err == nil && bad == nil && os.SameFile(x, y)
}

func (w *printer) printPolicy(p *policy.Policy, folder string) error {
	if w.ui.JSON {
		return w.ui.Document(policyDocument(p, folder))
	}
	rows := [][]string{{"level", string(p.Level), w.shortPlace(p.LevelFrom)}}
	if p.Level == policy.Off && p.LevelFrom == "default" {
		rows[0][2] += "; run --sandbox, exec and serve bound what they run"
	}
	if p.Level != policy.Off {
		rows = append(rows, []string{"files.write", folder, "the folder of the program"})
	}
	for i := range p.Settings {
		s := &p.Settings[i]
		if s.Field == "sandbox.level" && s.Ignored == "" {
			continue
		}
		place := w.shortPlace(s.Place())
		if s.Ignored != "" {
			place += "  no effect: " + s.Ignored
		}
		rows = append(rows, []string{s.Field, s.Value, place})
	}
	w.ui.Table(rows)
	for _, l := range p.Lacks {
		w.ui.Print("not enforced: %s\n", l)
	}
	if d := p.Digest(); d != "" {
		w.ui.Print("digest %s\n", d[:16])
	}
	return nil
}

// shortPlace is a place in a file as people write it.
func (w *printer) shortPlace(place string) string {
	file, rest, found := strings.Cut(place, ":")
	if !found {
		return place
	}
	home := w.env("HOME")
	if below, ok := strings.CutPrefix(file, home+"/"); ok && home != "" && w.fromHere(file) == file {
		return "~/" + below + ":" + rest
	}
	return w.fromHere(file) + ":" + rest
}

func policyDocument(p *policy.Policy, folder string) api.Policy {
	d := api.Policy{
		Version: api.Version, Level: p.Level, LevelFrom: p.LevelFrom, Launcher: p.Launcher, Workspace: folder,
		Read: list(p.Read), Write: list(p.Write), Deny: list(p.Deny), Hosts: list(p.Hosts), Pass: list(p.Pass),
		Secrets: list(p.Secrets), Limits: p.LimitTexts(), Files: list(p.Files), Settings: list(p.Settings),
		Lacks: list(p.Lacks), Digest: p.Digest(),
	}
	return d
}

// list is a list that is not nil, for a document.
func list[T any](values []T) []T {
	if values == nil {
		return []T{}
	}
	return values
}

// trustFolder shows what the file of a folder grants, and adds the folder to those that the user trusts, if a person
// says yes. Nothing but a person at a terminal is asked: an agent must not grant itself what its own file says.
func (a *app) trustFolder(ctx context.Context, folder string) error {
	folder, err := a.abs(folder)
	if err != nil {
		return err
	}
	folder = realPath(folder)
	name := filepath.Join(folder, policy.FileName)
	if _, err := os.Stat(name); err != nil {
		return &state.Error{Code: api.CodeNoFile, Message: "there is no file " + a.fromHere(name),
			Hint: "docs/sandbox.md says what it may hold"}
	}
	o, err := a.policyOptions(folder, "")
	if err != nil {
		return err
	}
	if o.User == "" {
		return &usageError{err: fmt.Errorf("there is no folder for your own policy file"), hint: "set HOME"}
	}
	text, already, err := policy.Trust(o.User, o.Home, folder)
	if err != nil {
		return err
	}
	if already {
		a.ui.Talk("%s is trusted already", folder)
		return nil
	}
	grants, err := policy.Check(name, false, o)
	if err == nil {
		err = a.printPolicy(grants, folder)
	}
	if err != nil {
		return err
	}
	if !a.hasPerson() {
		return &usageError{err: fmt.Errorf("there is no terminal to ask at, so %s is not trusted", folder),
			hint: fmt.Sprintf("run it at a terminal, or write [sandbox] trust = [%q] into %s", folder, o.User)}
	}
	a.ui.Say(fmt.Sprintf("trust what %s grants? yes, or nothing: ", a.fromHere(name)))
	if answer, err := readLine(ctx, a.call.Stdin); answer != "yes" || err != nil {
		a.ui.Talk("%s is not trusted", folder)
		return err
	}
	if err := os.MkdirAll(filepath.Dir(o.User), 0o700); err != nil {
		return unwritten(o.User, err)
	}
	if err := writeFile(o.User, text); err != nil {
		return err
	}
	a.ui.Talk("%s is trusted: %s says so", folder, a.shortPlace(o.User+":1:1"))
	return nil
}
