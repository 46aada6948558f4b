package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/xstate-engine/xstate/internal/api"
	"github.com/xstate-engine/xstate/internal/term"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/keys"
	"github.com/xstate-engine/xstate/state/provenance"
)

// importFlags say whom an import believes.
type importFlags struct {
	trust bool
	key   string
}

func (a *app) importVerb() *cobra.Command {
	var f importFlags
	cmd := &cobra.Command{
		Use:   "import ARCHIVE",
		Short: "add the session of an archive to the store",
		Long: `Import adds the session of an archive, which export wrote, to the store: the nearest one at or above the
working directory, or one that import makes there. It verifies first that every step follows from the one before, that
every text has its digest, and all else that xstate doctor --check verifies. It takes the whole history or nothing.
Damaged results are left out and computed again. If the store has the session already, with fewer steps, it gets the
rest.

Whoever made an archive can have written anything into it. So its results serve only its own session, and are shown as
foreign, until xstate run --verify finds them equal to a run from scratch. Its values are loaded only as data: numbers,
texts, containers and plain arrays. With --key or --trust its results serve every session, and its values are loaded
as your own are, which may run code of the author. Import it again with --trust or --key to believe what is there.`,
		Example: `  xstate import session.zip
  xstate import session.zip --key colleague.pub
  xstate import session.zip --store elsewhere`,
		Args: takes(1, 1, "an ARCHIVE, which xstate export --out FILE.zip makes"),
		RunE: func(cmd *cobra.Command, args []string) error { return a.importArchive(cmd.Context(), args[0], f) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.key, "key", "", "believe an archive that the public key in `FILE` has signed, and refuse others")
	flags.BoolVar(&f.trust, "trust", false, "believe the archive, because you know who made it")
	return cmd
}

// importOptions reads the key that an import trusts.
func (a *app) importOptions(f importFlags) (o provenance.ImportOptions, err error) {
	if o.Trust = f.trust; f.key == "" {
		return o, nil
	}
	text, err := a.readKey(f.key)
	if err == nil {
		o.Key, err = keys.Public(text)
	}
	return o, err
}

func (a *app) importArchive(ctx context.Context, name string, f importFlags) (err error) {
	options, err := a.importOptions(f)
	if err != nil {
		return err
	}
	file, err := os.Open(a.path(name))
	if err != nil {
		return &state.Error{
			Code:    api.CodeNoFile,
			Message: fmt.Sprintf("%s cannot be read: %v", name, reason(err)),
			Hint:    "name an archive, which `xstate export --out FILE.zip` makes",
		}
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return &state.Error{
			Code:    api.CodeNotAFile,
			Message: name + " is not a file",
			Hint:    "name an archive, which `xstate export --out FILE.zip` makes",
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
	found, err := provenance.Import(ctx, store.State(), archive, options)
	if err != nil {
		return err
	}
	if a.ui.JSON {
		return a.ui.Document(importDocument(dir, found))
	}
	a.ui.Talk(
		"imported session %s up to step %d, verified; %s new",
		found.Session,
		found.Head,
		term.Plural(found.Steps, "step"),
	)
	a.tellImported(found)
	return nil
}

func importDocument(store string, found *provenance.Imported) api.Import {
	return api.Import{
		Version: api.Version,
		Store:   store,
		Session: found.Session,
		Step:    found.Head,
		Hash:    found.Hash,
		New:     found.Steps,
		Skipped: found.Skipped,
		Trust:   found.Trust.Tier.String(),
		Signer:  found.Trust.Signer,
	}
}

// tellImported says what an import brought beside steps, and whom it believes.
func (w *printer) tellImported(found *provenance.Imported) {
	w.ui.Talk("the hash of its last step is %s", found.Hash)
	switch {
	case found.Trust.Signer != "":
		w.ui.Talk("its results are believed: the key %s has signed them", term.Short(found.Trust.Signer))
	case found.Trust.Tier == state.TierTrusted:
		w.ui.Talk("its results are believed: you trust the archive")
	case found.Trust.Tier == state.TierForeign:
		w.ui.Talk("its results are foreign: they serve only this session, until xstate run --verify confirms them")
	}
	if found.Skipped > 0 {
		w.ui.Talk("left out: %s of damaged results, which are computed again", term.Plural(found.Skipped, "piece"))
	}
}
