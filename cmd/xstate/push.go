package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/xstate-engine/xstate/internal/api"
	"github.com/xstate-engine/xstate/internal/term"
	"github.com/xstate-engine/xstate/runner"
	"github.com/xstate-engine/xstate/runner/remote"
	"github.com/xstate-engine/xstate/runner/sandbox/policy"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/provenance"
)

func (a *app) pushVerb() *cobra.Command {
	values := false
	cmd := &cobra.Command{
		Use:   "push",
		Short: "put a session into the cache, for another machine to pull",
		Long: `Push puts the whole session into the cache of the settings (remote.cache): what xstate export writes as
.zip, signed with your key. With --values it adds the present values of the program and the content of files. Who trusts
your key (remote.trust) gets it with xstate pull.

A push only adds to what the cache has. If that has steps which your store does not have, push refuses: pull first.
Pushes by keys that you do not trust do not count.`,
		Example: `  xstate push analysis.py
  xstate push analysis.py --values`,
		Args: takes(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.push(cmd.Context(), values) },
	}
	cmd.Flags().BoolVar(&values, "values", false, "also values and the content of files")
	return a.ofSession(cmd)
}

// openRefs opens the cache of the settings that count for a folder.
func (a *app) openRefs(folder string) (*remote.Refs, error) {
	o, err := a.policyOptions(folder, "")
	if err != nil {
		return nil, err
	}
	p, err := policy.Read(o)
	if err != nil {
		return nil, err
	}
	for _, remark := range p.Remarks() {
		a.ui.Talk("%s", remark)
	}
	if p.Remote.Address == "" {
		return nil, &state.Error{
			Code:    api.CodeNoCache,
			Message: "the settings name no cache that the session can travel through",
			Hint: "put these two lines into " + policy.UserFile(a.env) + ": `[remote]` and " +
				"`cache = \"FOLDER, grpc://HOST:PORT or s3://BUCKET\"`",
		}
	}
	return remote.OpenRefs(p.Remote.With(a.env))
}

// tellUnknown says which pushes do not count.
func (w *printer) tellUnknown(cache, session string, unknown []string) {
	for _, id := range unknown {
		w.ui.Talk("the cache %s has pushes of %s that are signed by the key %s, which is not trusted (remote.trust)",
			cache, session, term.Short(id))
	}
}

func (a *app) push(ctx context.Context, values bool) error {
	return a.look(ctx, func(o *opened) (err error) {
		folder, err := a.folderOf()
		if err != nil {
			return err
		}
		refs, err := a.openRefs(folder)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, refs.Close()) }()
		doc, err := pushed(ctx, o, refs, values)
		if err != nil {
			return err
		}
		if a.ui.JSON {
			return a.ui.Document(doc)
		}
		a.tellUnknown(doc.Cache, doc.Session, doc.Unknown)
		if !doc.Pushed {
			a.ui.Talk("nothing to push: the cache %s has session %s up to step %d", doc.Cache, doc.Session, doc.Step)
			return nil
		}
		a.ui.Talk("pushed session %s up to step %d to the cache %s: %s", doc.Session, doc.Step, doc.Cache,
			term.Size(doc.Bytes))
		a.ui.Talk("the hash of its last step is %s", doc.Hash)
		return nil
	})
}

// pushed pushes a session, unless the cache has all of it.
func pushed(ctx context.Context, o *opened, refs *remote.Refs, values bool) (*api.Push, error) {
	name := o.history.Name()
	follows := func(ref *remote.Ref) (bool, error) {
		return o.store.State().HasStep(ctx, name, ref.Head, ref.Hash)
	}
	last, err := refs.Check(ctx, name, follows)
	if err != nil {
		return nil, err
	}
	doc := &api.Push{Version: api.Version, Session: name, Cache: refs.Address(), Unknown: last.Unknown}
	has, err := hasAll(ctx, o, refs, last.Ref, values)
	if err != nil {
		return nil, err
	}
	var ref *remote.Ref
	if has {
		ref, doc.Number = &last.Ref.Record, last.Number
	} else {
		ref, doc.Number, err = pushArchive(ctx, o, refs, values, follows)
		doc.Pushed = true
	}
	if err != nil {
		return nil, err
	}
	doc.Step, doc.Hash, doc.Values, doc.Bytes = ref.Head, ref.Hash, ref.Values, ref.Archive.Size
	return doc, nil
}

// hasAll reports whether the last push has all that the next one would have. A cache may have freed the archive.
func hasAll(
	ctx context.Context, o *opened, refs *remote.Refs, last *remote.Found[remote.Ref], values bool,
) (bool, error) {
	head, hash, err := o.store.State().Head(ctx, o.history.Name())
	if err != nil || last == nil {
		return false, err
	}
	if ref := &last.Record; ref.Head == head && ref.Hash == hash && (ref.Values || !values) {
		return refs.Has(ctx, ref.Archive)
	}
	return false, nil
}

// pushArchive writes the archive of a session into a temporary file, whose digest must be known before it is sent.
func pushArchive(
	ctx context.Context, o *opened, refs *remote.Refs, values bool, follows remote.Follows,
) (ref *remote.Ref, number int, err error) {
	file, err := os.CreateTemp("", "xstate-*")
	if err != nil {
		return nil, 0, fmt.Errorf("write the archive: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close(), os.Remove(file.Name())) }()
	var options provenance.ArchiveOptions
	if values {
		options.Values = runner.StoredValues
	}
	hash := sha256.New()
	bytes := counting{Writer: io.MultiWriter(file, hash)}
	info, err := provenance.Archive(ctx, o.history, &bytes, options)
	if err != nil {
		return nil, 0, err
	}
	ref = &remote.Ref{
		Session: info.Session, Head: info.Head, Hash: info.Hash, Values: info.Values, Time: time.Now().Unix(),
		Archive: state.BlobRef{Digest: state.Digest(hex.EncodeToString(hash.Sum(nil))), Size: bytes.n},
	}
	number, err = refs.Push(ctx, ref, file, follows)
	return ref, number, err
}
