package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/xstate-engine/xstate/internal/api"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/provenance"
)

func (a *app) importVerb() *cobra.Command {
	return &cobra.Command{
		Use:   "import ARCHIVE",
		Short: "add the session of an archive to the store",
		Long: `Import adds the session of an archive, which export wrote, to the store: the nearest one at or above the
working directory, or one that import makes there. It verifies first that every step follows from the one before, that
every text has its digest, and all else that xstate check verifies. It takes the whole history or nothing. Damaged
results are left out and computed again. If the store has the session already, with fewer steps, it gets the rest.

Code in an archive runs when its program runs, and when its values are loaded: import only what you would run.`,
		Example: `  xstate import session.zip
  xstate import session.zip --store elsewhere`,
		Args: takes(1, 1, "an ARCHIVE, which xstate export --out FILE.zip makes"),
		RunE: func(cmd *cobra.Command, args []string) error { return a.importArchive(cmd.Context(), args[0]) },
	}
}

func (a *app) importArchive(ctx context.Context, name string) (err error) {
	file, err := os.Open(a.path(name))
	if err != nil {
		return &state.Error{
			Code:    codeNoFile,
			Message: fmt.Sprintf("%s cannot be read: %v", name, reason(err)),
			Hint:    "name an archive, which xstate export --out FILE.zip makes",
		}
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return &state.Error{
			Code:    codeNotAFile,
			Message: name + " is not a file",
			Hint:    "name an archive, which xstate export --out FILE.zip makes",
		}
	}
	archive, err := provenance.OpenArchive(file, info.Size())
	if err != nil {
		return err // and make no store
	}
	folder, err := a.here()
	if err != nil {
		return err
	}
	dir, _, err := a.storeDir(folder)
	if err != nil {
		return err
	}
	store, err := a.openStore(ctx, dir, state.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.closeStore(store)) }()
	found, err := provenance.Import(ctx, store.State(), archive)
	if err != nil {
		return err
	}
	if a.ui.json {
		return a.ui.document(
			api.Import{
				Version: api.Version,
				Store:   dir,
				Session: found.Session,
				Step:    found.Head,
				Hash:    found.Hash,
				New:     found.Steps,
				Skipped: found.Skipped,
			},
		)
	}
	a.ui.talk(
		"imported session %s up to step %d, verified; %s new",
		found.Session,
		found.Head,
		plural(found.Steps, "step"),
	)
	a.ui.talk("the hash of its last step is %s", found.Hash)
	if found.Skipped > 0 {
		a.ui.talk("left out: %s of damaged results, which are computed again", plural(found.Skipped, "piece"))
	}
	return nil
}
