package main

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/xstate-engine/xstate/internal/api"
	"github.com/xstate-engine/xstate/internal/term"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/keys"
	"github.com/xstate-engine/xstate/state/provenance"
)

type evidenceVerifyFlags struct{ key, folder string }

func (a *app) evidenceVerifyVerb() *cobra.Command {
	var f evidenceVerifyFlags
	cmd := &cobra.Command{
		Use:   "verify FILE --key KEY",
		Short: "verify a signed statement, offline",
		Long: `Verify reads a statement that xstate evidence --key signed, verifies its signature with the public key,
and prints what it states. It needs no store and no network. With --folder it also compares the files that the statement
names, results and inputs, with those in a folder.

The exit code is 4 if the signature does not verify or a file differs.`,
		Example: `  xstate evidence verify report.intoto.json --key pub.pem
  xstate evidence verify report.intoto.json --key pub.pem --folder .`,
		Args: takes(1, 1, "the FILE of a statement"),
		RunE: func(_ *cobra.Command, args []string) error { return a.verifyEvidence(args[0], f) },
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&f.key, "key", "", "the public key in `FILE`: PEM, or a line of OpenSSH")
	flags.StringVar(&f.folder, "folder", "", "compare the files that it names with those in `DIR`")
	return cmd
}

func (a *app) verifyEvidence(path string, f evidenceVerifyFlags) error {
	if f.key == "" {
		return &usageError{
			err:  errors.New("xstate evidence verify needs --key KEY, the public key of the signer"),
			hint: "`xstate evidence verify FILE --key pub.pem`",
		}
	}
	text, err := a.readKey(f.key)
	if err != nil {
		return err
	}
	key, err := keys.Public(text)
	if err != nil {
		return err
	}
	data, err := a.readFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return &state.Error{
			Code:    api.CodeNoFile,
			Message: fmt.Sprintf("there is no file %s", path),
			Hint:    "check the name of the statement",
		}
	} else if err != nil {
		return &state.Error{Code: api.CodeUnreadable, Message: err.Error(), Hint: "check the name of the statement"}
	}
	st, err := provenance.VerifyStatement(data, key)
	if err != nil {
		return err
	}
	files, differs := []api.VerifiedFile{}, false
	if f.folder != "" {
		files, differs = compareFiles(st, a.path(f.folder))
	}
	if a.ui.JSON {
		err = a.ui.Document(
			api.VerifiedStatement{
				Version:   api.Version,
				Verified:  true,
				KeyID:     keys.ID(key),
				Statement: st,
				Files:     files,
			},
		)
	} else {
		a.printStatement(st, files)
		a.ui.Talk("the signature verifies, by key %s", term.Short(keys.ID(key)))
	}
	if err == nil && differs {
		a.ui.Talk("some files differ from the statement")
		return outcome(exitDiverged)
	}
	return err
}

func (w *printer) printStatement(st *provenance.Statement, files []api.VerifiedFile) {
	status := map[string]string{}
	for _, x := range files {
		status[x.Name] = x.Status
	}
	p := &st.Predicate
	list := func(title string, resources []provenance.Resource) {
		w.evidenceList(title, func(add func(...string)) {
			for _, r := range resources {
				digest := ""
				for _, d := range r.Digest {
					digest = d
				}
				add(r.Name, term.Short(digest), status[r.Name])
			}
		})
	}
	w.ui.Print(
		"%v %v after step %v of session %v\n",
		p.BuildDefinition.ExternalParameters["sort"],
		p.BuildDefinition.ExternalParameters["of"],
		p.BuildDefinition.ExternalParameters["step"],
		p.BuildDefinition.ExternalParameters["session"],
	)
	list("subject", st.Subject)
	list("rests on", p.BuildDefinition.ResolvedDependencies)
	w.evidenceList("told", func(add func(...string)) {
		for _, r := range p.RunDetails.Byproducts {
			add(
				r.Name,
				fmt.Sprint(firstOf(r.Annotations, "outcome", "status")),
				fmt.Sprint(firstOf(r.Annotations, "reason", "kind")),
			)
		}
	})
	w.ui.Print("invocation %s\n", p.RunDetails.Metadata.InvocationID)
}

func firstOf(notes map[string]any, names ...string) any {
	for _, name := range names {
		if v, ok := notes[name]; ok {
			return v
		}
	}
	return ""
}

// compareFiles compares files that a statement names by the SHA-256 of their content with those in a folder.
func compareFiles(st *provenance.Statement, folder string) (files []api.VerifiedFile, differs bool) {
	files = []api.VerifiedFile{}
	for _, r := range slices.Concat(st.Subject, st.Predicate.BuildDefinition.ResolvedDependencies) {
		want := r.Digest["sha256"]
		name := filepath.FromSlash(r.Name)
		if want == "" || !provenance.NamesFile(r) || !filepath.IsLocal(name) {
			continue
		}
		x := api.VerifiedFile{Name: r.Name, Status: "equal"}
		data, err := os.ReadFile(filepath.Join(folder, name))
		if sum := sha256.Sum256(data); err != nil {
			x.Status = "missing"
		} else if hex.EncodeToString(sum[:]) != want {
			x.Status = "differs"
		}
		differs = differs || x.Status != "equal"
		files = append(files, x)
	}
	return files, differs
}
