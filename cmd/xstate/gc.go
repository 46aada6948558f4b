package main

import (
	"context"
	"errors"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/internal/api"
	"github.com/xstate-engine/xstate/runner/private"
	"github.com/xstate-engine/xstate/state"
)

func (a *app) gcVerb() *cobra.Command {
	var budget byteSize
	var dry bool
	var views []string
	cmd := &cobra.Command{
		Use:   "gc",
		Short: "free unused results, or results beyond a size",
		Long: `Gc frees disk space of cached results: blobs that nothing refers to, and what killed processes left. With
--max-bytes it also frees results until the rest fits. It begins with those that take the least time to compute again
for each byte, and among these with the least recently used. A program computes again what it then needs.

History (steps, sources, origins) is never freed, nor is what files held before a program wrote to them. Traces (what
nodes read and wrote) are freed when nothing else is left. Programs may run at the same time.

With --private, gc also removes the private folder of a SESSION (see fork --private), applied or not. Its history
stays.`,
		Example: `  xstate gc --dry-run
  xstate gc --max-bytes 2GB
  xstate gc --private variant-1 --private variant-2`,
		Args: takes(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.gc(cmd.Context(), state.CollectOptions{MaxBytes: budget.most(), DryRun: dry}, views)
		},
	}
	cmd.Flags().SortFlags = false
	cmd.Flags().Var(&budget, "max-bytes", "free results beyond this `SIZE`, such as 500MB or 2GiB")
	cmd.Flags().BoolVar(&dry, "dry-run", false, "report what would be freed, and free nothing")
	cmd.Flags().StringArrayVar(&views, "private", nil, "also remove the private folder of this `SESSION`")
	return cmd
}

func (a *app) gc(ctx context.Context, o state.CollectOptions, views []string) (err error) {
	folder, err := a.here()
	if err != nil {
		return err
	}
	dir, found, err := a.storeDir(folder)
	if err != nil {
		return err
	}
	if !found {
		return a.noStore(dir)
	}
	store, err := a.openStore(ctx, dir, state.Options{ReadOnly: o.DryRun})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.closeStore(store)) }()
	folders, err := collectViews(ctx, store, views, o.DryRun)
	if err != nil {
		return err
	}
	got, err := store.State().Collect(ctx, o)
	if err != nil {
		return err
	}
	a.notices(store)
	if a.ui.JSON {
		return a.ui.Document(api.Freed{
			Version: api.Version, Store: dir, DryRun: o.DryRun, Private: folders, Collected: got,
		})
	}
	a.printFreed("private", folders)
	a.printFreed("of no use", got.Useless)
	a.printFreed("results", got.Evicted)
	a.printFreed("traces", got.Traces)
	freed, leaves := "freed", "now take"
	if o.DryRun {
		freed, leaves = "would free", "would then take about"
	}
	a.ui.Talk(
		"%s %s of %s; results %s %s",
		freed,
		bytesText(got.Before-got.After),
		bytesText(got.Before),
		leaves,
		bytesText(got.After),
	)
	return nil
}

func (w *printer) printFreed(what string, f state.Freed) {
	if f.Count == 0 {
		return
	}
	w.ui.Print("%-10s  %6d  %10s", what, f.Count, bytesText(f.Bytes))
	if f.Seconds > 0 {
		w.ui.Print("  %s to compute again", time.Duration(f.Seconds*float64(time.Second)).Round(time.Millisecond))
	}
	w.ui.Print("\n")
}

func bytesText(n int64) string { return humanize.Bytes(uint64(max(n, 0))) }

// collectViews removes the private folders of sessions, and those that killed processes left.
func collectViews(ctx context.Context, store *xstate.Store, sessions []string, dry bool) (f state.Freed, err error) {
	for _, name := range sessions {
		v, err := private.Needed(ctx, store.State(), name)
		if err != nil {
			return f, err
		}
		bytes, err := v.Remove(ctx, dry)
		if err != nil {
			return f, err
		}
		f.Count, f.Bytes = f.Count+1, f.Bytes+bytes
	}
	count, bytes, err := private.Abandoned(ctx, store.State(), dry)
	f.Count, f.Bytes = f.Count+count, f.Bytes+bytes
	return f, err
}
