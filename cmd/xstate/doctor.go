package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"github.com/xstate-engine/xstate/internal/api"
	"github.com/xstate-engine/xstate/internal/lang"
	"github.com/xstate-engine/xstate/internal/serve"
	"github.com/xstate-engine/xstate/internal/term"
	"github.com/xstate-engine/xstate/runner/kernel"
	"github.com/xstate-engine/xstate/runner/kernel/python"
	"github.com/xstate-engine/xstate/runner/remote"
	"github.com/xstate-engine/xstate/runner/sandbox"
	"github.com/xstate-engine/xstate/runner/sandbox/policy"
)

func (a *app) doctorVerb() *cobra.Command {
	var store, files bool
	var kept []string
	cmd := &cobra.Command{
		Use:   "doctor [POLICYFILE]",
		Short: "show what this system can observe and enforce; check the store and policy files",
		Long: `Doctor shows how exactly programs are observed here, and why not better; what the levels workspace
and strict enforce; how limits are enforced; the policy and the store of this folder; and the interpreters that are
found. It changes nothing.

` + checkLong + `

With a POLICYFILE, or --policy for the files that count here, it checks policy files, and shows what they make where
they are trusted. It then exits with 2 if a file is malformed or contradicts itself, and with 3 if this system cannot
enforce it.`,
		Example: `  xstate doctor
  xstate doctor --check --head 3f9a1c0e5b7d…
  xstate doctor xstate.toml --sandbox strict`,
		Args: takes(0, 1, "one POLICYFILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			err := cmp.Or(alone(cmd, "check", "policy", "sandbox"), alone(cmd, "head", "policy", "sandbox"))
			if len(args) == 0 {
				err = cmp.Or(err, needs(cmd, "policy", "sandbox"))
			}
			if err == nil && len(args) > 0 && (store || len(kept) > 0) {
				err = &usageError{err: errors.New("--check is of the store, and a POLICYFILE of a policy"),
					hint: "use one at a time"}
			}
			switch {
			case err != nil:
				return err
			case files || len(args) > 0:
				return a.checkPolicy(args)
			case store || len(kept) > 0:
				return a.check(cmd.Context(), kept)
			}
			return a.doctor(cmd.Context())
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.BoolVar(&store, "check", false, "verify that the store is undamaged")
	checkFlag(cmd, &kept)
	flags.BoolVar(&files, "policy", false, "check the policy files that count here")
	a.sandboxFlag(flags, "policy")
	return cmd
}

func (a *app) doctor(ctx context.Context) error {
	folder, err := a.here()
	if err != nil {
		return err
	}
	d := api.Doctor{
		Version: api.Version, XState: buildVersion(), System: systemName(), Offers: sandbox.Offered(), Folder: folder,
	}
	level, why := sandbox.Probe()
	d.Observe, d.Why, d.Walk = string(level), why, python.Walk()
	dir, found, err := a.storeDir(folder)
	if err == nil && found {
		d.Store = dir
	}
	for _, l := range []policy.Level{policy.Workspace, policy.Strict} {
		lacks := sandbox.Enforceable(sandbox.Spec{Folder: folder, Store: dir, Bounds: &sandbox.Bounds{}})
		d.Levels = append(d.Levels, api.LevelReport{Level: l, Runs: l != policy.Strict || len(lacks) == 0,
			Lacks: list(lacks)})
	}
	d.Limits = limitReports()
	if d.Store != "" {
		if client := serve.Find(dir); client != nil && client.Alive(ctx) {
			d.Server = client.Info.PID
		}
	}
	if o, err := a.policyOptions(folder, ""); err != nil {
		d.Policy = err.Error()
	} else if p, err := policy.Read(o); err != nil {
		d.Policy = err.Error()
	} else if p.Remote.Address != "" {
		report := remote.Describe(ctx, p.Remote.With(a.env))
		d.Cache = &report
	}
	d.Interpreters = a.interpreters(ctx, folder, dir)
	if a.ui.JSON {
		return a.ui.Document(d)
	}
	a.printDoctor(d)
	return nil
}

// systemName names the system and its version.
func systemName() string {
	name := runtime.GOOS + " " + runtime.GOARCH
	if release, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		name += " " + strings.TrimSpace(string(release))
	}
	return name
}

// limitReports says how each limit is enforced.
func limitReports() []api.LimitReport {
	if runtime.GOOS != "linux" {
		return []api.LimitReport{}
	}
	processes := "the system's limit for a user, and a count of the tree"
	if os.Geteuid() == 0 {
		processes = "a count of the tree: the system's limit does not count for root"
	}
	return []api.LimitReport{
		{Limit: "cpu", By: "a sum over the tree"}, {Limit: "wall", By: "a clock"},
		{Limit: "memory", By: "a sum over the tree, and the system's limit for each process"},
		{Limit: "processes", By: processes}, {Limit: "file_size", By: "the system's limit for each process"},
		{Limit: "files", By: "a count of the files made"}, {Limit: "output", By: "a count of the bytes"},
	}
}

// interpreters returns what is found for a program in a folder, the one that is used first. Of those on the path each
// version counts once, and only if it starts.
func (a *app) interpreters(ctx context.Context, folder, store string) []api.DoctorPython {
	found := []api.DoctorPython{}
	// A program in bounds may have made one of them.
	search := kernel.Search{Folder: folder, Environ: a.environ, Bounds: &sandbox.Bounds{},
		Cache: filepath.Join(a.tempDir(), "xstate-probe")}
	seen := map[string]bool{}
	add := func(path string, used bool) {
		real, err := filepath.EvalSymlinks(path)
		if err != nil || seen[real] {
			return
		}
		seen[real] = true
		p := api.DoctorPython{Path: path, Used: used}
		i, err := python.Identify(ctx, search, path)
		if p.Python = i.String(); err == nil && used {
			err = kernel.InterpretersOf(store, true).Check(path, false, "`--python "+path+"`")
		}
		if err != nil {
			p.Python, p.Problem = "", a.errorDocument(err).Message
		}
		if used || err == nil {
			found = append(found, p)
		}
	}
	if used, err := python.Find("", folder, a.env); err == nil {
		add(used, true)
	}
	for _, name := range []string{"python3", "python3.14", "python3.13", "python3.12", "python3.11", "python3.10"} {
		if path, err := kernel.LookPath(name, a.env("PATH")); err == nil {
			add(path, false)
		}
	}
	for _, other := range lang.All() {
		e, bad := kernel.Lookup(lang.Dialect(other.Name))
		if bad != nil || e.Name == python.Name {
			continue
		}
		at, err := e.Locate(search)
		if err != nil {
			continue
		}
		p := api.DoctorPython{Path: at.Path, Used: true}
		if l, err := e.Identify(ctx, search, at.Path); err != nil {
			p.Problem = a.errorDocument(err).Message
		} else {
			p.Python = l.String()
		}
		found = append(found, p)
	}
	return found
}

func (w *printer) printDoctor(d api.Doctor) {
	w.ui.Print("xstate %s on %s\n\n", d.XState, d.System)
	yes := func(ok bool, otherwise string) string {
		if ok {
			return "yes"
		}
		return strings.TrimRight("no: "+otherwise, ": ")
	}
	observed := d.Observe
	if d.Why != "" {
		observed += ": " + d.Why
	}
	landlock := yes(d.Landlock > 0, "Linux 5.13 and later have it")
	if d.Landlock > 0 {
		landlock = fmt.Sprintf("version %d", d.Landlock)
	}
	rows := [][]string{
		{"observation", observed},
		{"walk of values", d.Walk},
		{"Landlock", landlock},
		{"namespaces", yes(d.Namespaces, "this user may not make them")},
		{"sockets of programs", yes(d.Sockets, "the system denies pidfd_getfd")},
		{"bwrap", cmp.Or(d.Bubblewrap, yes(false, "it is not on the path"))},
	}
	for _, l := range d.Levels {
		text := "enforces files, network, environment and limits"
		if len(l.Lacks) > 0 {
			var why []string
			for _, x := range l.Lacks {
				why = append(why, x.String())
			}
			text = "does not enforce " + strings.Join(why, "; ")
			if !l.Runs {
				text = "refuses to run: it cannot enforce " + strings.Join(why, "; ")
			}
		}
		rows = append(rows, []string{"--sandbox " + string(l.Level), text})
	}
	for _, l := range d.Limits {
		rows = append(rows, []string{"limits." + l.Limit, l.By})
	}
	rows = append(rows, []string{"folder", d.Folder}, []string{"policy", "in order: xstate policy shows it"})
	if d.Policy != "" {
		rows[len(rows)-1][1] = d.Policy
	}
	store := "none yet"
	if d.Store != "" {
		store = w.fromHere(d.Store)
	}
	if d.Server > 0 {
		store += fmt.Sprintf(", served by process %d", d.Server)
	}
	rows = append(rows, []string{"store", store})
	if c := d.Cache; c != nil {
		rows = append(rows, []string{"cache", cacheText(c)})
		if c.Workers != "" {
			rows = append(rows, []string{"workers", c.Workers})
		}
	}
	for _, p := range d.Interpreters {
		text := p.Path + "  " + p.Python + p.Problem
		if p.Used {
			text += "  (used here)"
		}
		rows = append(rows, []string{"interpreter", text})
	}
	w.ui.Table(rows)
}

// cacheText says from which results are taken over, and what others need to take over those of this user.
func cacheText(c *remote.Report) string {
	text := c.Address
	switch {
	case c.Key != "":
		text += fmt.Sprintf(", signed by the key %s (%s)", term.Short(c.Key), c.KeyFile)
	case c.Problem == "":
		text += ", not signed yet: the first run makes the key, or nothing is uploaded"
	}
	for _, id := range c.Trusted {
		text += ", trusts " + term.Short(id)
	}
	if c.Problem != "" {
		text += ": " + c.Problem
	}
	return text
}
