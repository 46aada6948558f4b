package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/internal/api"
	"github.com/xstate-engine/xstate/internal/term"
	"github.com/xstate-engine/xstate/runner/remote"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/provenance"
)

func (a *app) pullVerb() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "pull",
		Short: "get a session from the cache that another machine pushed",
		Long: `Pull gets what was pushed last of a session to the cache of the settings (remote.cache), by you or by a
key that you trust (remote.trust). It goes into the store: the nearest one at or above the program's file, or one that
pull makes there. Pull verifies all that import does, and believes the results because the key has signed them. If the
store has the session already, with fewer steps, it gets the rest. If each has steps that the other lacks, pull refuses.

It brings no files into the folder: the program comes by other ways, as with git, and xstate run continues it.`,
		Example: `  xstate pull analysis.py
  xstate run analysis.py`,
		Args: takes(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.pull(cmd.Context()) },
	}
	return a.ofSession(cmd)
}

// puller pulls a session into a store.
type puller struct {
	app   *app
	refs  *remote.Refs
	dir   string        // of the store
	store *xstate.Store // nil: nothing has made it yet
	name  string        // of the session
	last  *remote.Last
}

func (a *app) pull(ctx context.Context) (err error) {
	folder, err := a.folderOf()
	if err != nil {
		return err
	}
	p := &puller{app: a}
	if p.refs, err = a.openRefs(folder); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.refs.Close()) }()
	dir, found, err := a.storeDir(folder)
	if err != nil {
		return err
	}
	p.dir = dir
	defer func() {
		if p.store != nil {
			err = errors.Join(err, a.closeStore(p.store))
		}
	}()
	if found {
		if p.store, err = a.openStore(ctx, dir, state.Options{}); err != nil {
			return err
		}
	}
	imported, err := p.pull(ctx)
	if err != nil {
		return err
	}
	return p.tell(imported)
}

// pull imports what the cache has of the session, unless the store has it.
func (p *puller) pull(ctx context.Context) (found *provenance.Imported, err error) {
	if p.name, err = p.choose(ctx); err != nil {
		return nil, err
	}
	if p.last, err = p.refs.Last(ctx, p.name); err != nil {
		return nil, err
	}
	if p.last.Ref == nil {
		return nil, p.noRef()
	}
	if found, err = p.known(ctx); found != nil || err != nil {
		return found, err
	}
	file, err := os.CreateTemp("", "xstate-*")
	if err != nil {
		return nil, fmt.Errorf("write the archive: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close(), os.Remove(file.Name())) }()
	ref := &p.last.Ref.Record
	if err := p.refs.Fetch(ctx, ref, file); err != nil {
		return nil, err
	}
	archive, err := provenance.OpenArchive(file, ref.Archive.Size)
	if err != nil {
		return nil, err // and make no store
	}
	return p.take(ctx, archive)
}

// choose returns the name of the session. The store may not have it, or there may be no store.
func (p *puller) choose(ctx context.Context) (string, error) {
	session := p.app.session
	if p.store != nil {
		name, err := p.app.choose(ctx, p.store)
		if state.CodeOf(err) != state.CodeNoSession {
			return name, err
		}
	}
	if session == "" {
		return "", &usageError{err: errors.New("`xstate pull` needs the name of a session, because the store has none"),
			hint: "for example: `xstate pull analysis.py`"}
	}
	if !slices.Contains(programKinds, filepath.Ext(session)) {
		return session, nil
	}
	path, err := p.app.abs(session)
	name := sessionName(p.dir, path)
	if filepath.IsAbs(name) { // outside of the store's folder: no other machine has such a name
		return session, err
	}
	return name, err
}

// noRef says that the cache has nothing of the session to believe.
func (p *puller) noRef() error {
	e := &state.Error{
		Code:    remote.CodeNoRef,
		Message: fmt.Sprintf("the cache %s has no session %q", p.refs.Address(), p.name),
		Hint:    "`xstate push` puts it there, from a store that has it",
	}
	if len(p.last.Unknown) > 0 {
		var ids []string
		for _, id := range p.last.Unknown {
			ids = append(ids, term.Short(id))
		}
		e.Message += " by a trusted key: it was pushed by " + strings.Join(ids, ", ") + ", which is not trusted"
		e.Hint = "if you know whose it is, add the file of its public half to `remote.trust` in your settings"
	}
	return e
}

// memoPulled is the space of the memos that say which archive of a session was imported.
const memoPulled = "remote-pulled"

// known returns what an import would find if the store has all that the cache has; else nil. Steps that the store has
// may have come without values, or from an archive that nothing vouched for.
func (p *puller) known(ctx context.Context) (*provenance.Imported, error) {
	if p.store == nil {
		return nil, nil
	}
	ref, store := &p.last.Ref.Record, p.store.State()
	meta, err := store.Session(ctx, p.name)
	if state.CodeOf(err) == state.CodeNoSession {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	has, err := store.HasStep(ctx, p.name, ref.Head, ref.Hash)
	if err != nil || !has || meta.Trust.Tier == state.TierForeign {
		return nil, err
	}
	pulled, _ := store.Memo(memoPulled, p.name)
	if ref.Values && meta.Head == ref.Head && string(pulled) != string(ref.Archive.Digest) {
		return nil, nil
	}
	return &provenance.Imported{
		ArchiveInfo: provenance.ArchiveInfo{Session: p.name, Head: ref.Head, Hash: ref.Hash},
		Trust:       meta.Trust.Trust,
	}, nil
}

// take imports the archive of the last ref.
func (p *puller) take(ctx context.Context, archive *provenance.ArchiveFile) (*provenance.Imported, error) {
	ref := &p.last.Ref.Record
	if archive.Session != p.name || archive.Head != ref.Head || archive.Hash != ref.Hash {
		return nil, &state.Error{
			Code:    remote.CodeDamaged,
			Message: fmt.Sprintf("the archive in the cache is not that of step %d of session %q", ref.Head, p.name),
			Hint:    "ask the owner of the key " + term.Short(p.last.Ref.Signer) + "; nothing was imported",
		}
	}
	if p.store == nil {
		store, err := p.app.openStore(ctx, p.dir, state.Options{})
		if err != nil {
			return nil, err
		}
		p.store = store
	}
	found, err := provenance.Import(ctx, p.store.State(), archive,
		provenance.ImportOptions{Trust: true, Signer: p.last.Ref.Signer})
	switch state.CodeOf(err) {
	case state.CodeConflict, state.CodeSessionExists:
		return nil, &state.Error{
			Code:    remote.CodeDiverged,
			Message: fmt.Sprintf("session %q has other steps in this store than in the cache", p.name),
			Hint:    "nothing was imported; for another store: `xstate pull " + term.Quoted(p.name) + " --store DIR`",
			Err:     err,
		}
	}
	if err == nil {
		_ = p.store.State().PutMemo(memoPulled, p.name, []byte(ref.Archive.Digest)) // without it, values come again
	}
	return found, err
}

// tell prints what was imported.
func (p *puller) tell(found *provenance.Imported) error {
	a, ref := p.app, &p.last.Ref.Record
	if a.ui.JSON {
		return a.ui.Document(api.Pull{
			Import: importDocument(p.dir, found), Cache: p.refs.Address(), Number: p.last.Number,
			Pushed: time.Unix(ref.Time, 0).UTC(), Unknown: p.last.Unknown,
		})
	}
	a.tellUnknown(p.refs.Address(), p.name, p.last.Unknown)
	if found.Steps == 0 {
		a.ui.Talk("nothing new: the store has session %s up to step %d", found.Session, found.Head)
		return nil
	}
	a.ui.Talk("pulled session %s up to step %d, verified; %s new", found.Session, found.Head,
		term.Plural(found.Steps, "step"))
	a.tellImported(found)
	return nil
}
