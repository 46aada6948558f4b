package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/internal/api"
	"github.com/xstate-engine/xstate/internal/parents"
	"github.com/xstate-engine/xstate/internal/serve/page"
	"github.com/xstate-engine/xstate/internal/term"
	"github.com/xstate-engine/xstate/internal/verb"
	"github.com/xstate-engine/xstate/patch"
	"github.com/xstate-engine/xstate/runner"
	"github.com/xstate-engine/xstate/runner/beneath"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/keys"
	"github.com/xstate-engine/xstate/state/provenance"
	"github.com/xstate-engine/xstate/state/query"
)

type exportFlags struct {
	at                       verb.Moment
	format, out, images, key string
	values, noOutputs, force bool
	withFailed               bool
}

// formatArchive is the format of a whole session; the others are of a program at a step.
const formatArchive = "archive"

// endings map the suffix of a file name to a format. Source code is a script of a program in its language.
var endings = map[string]string{
	".md":       "md",
	".markdown": "md",
	".ipynb":    "ipynb",
	".html":     "html",
	".htm":      "html",
	".json":     "prov",
	".zip":      formatArchive,
}

// formatOf returns the format of a file of that name, or "".
func formatOf(name string) string {
	if patch.IsSource(name) {
		return string(provenance.FormatScript)
	}
	return endings[strings.ToLower(filepath.Ext(name))]
}

func (a *app) exportVerb() *cobra.Command {
	var f exportFlags
	cmd := &cobra.Command{
		Use:   "export",
		Short: "write a program, its provenance or a whole session into a file",
		Long: `Export writes the program after a step, with the outputs of its blocks, as a script with "# %%" cells
(.py; .ts, .sh and so on for a program in that language), a document (.md), a notebook (.ipynb, nbformat 4.5) or a page
(.html). All but the page read as that program. The text around blocks comes from the program's file as it is now:
Markdown cells, their pictures, "# %% [markdown]" cells.
Blocks that failed, and blocks that need these, are left out, so that what is written runs and gives the same; export
names them, and --with-failed keeps them. A page has all blocks.
Pictures of a document go to the folder FILE_files, or to --images. A page is that of ui: the program with what
each block read and wrote, the graph, the history and the values. It needs no other file and no xstate, and nothing that
the program put out runs in it.

As .json it writes the provenance of the program in PROV-JSON (W3C): versions, values and files are entities; edits,
runs and executions are activities; authors are agents. With --format agent-trace it writes who wrote which lines of the
program's file, as a record of Agent Trace 0.1.

As .zip it writes the whole session: the history byte for byte, texts, outputs, and what executions read and wrote. With
--values it adds the present values of the program and the content of files. xstate import reads it into another
store.`,
		Example: `  xstate export --at-step 5 --out then.py
  xstate export --out report.html
  xstate export --format ipynb > now.ipynb
  xstate export --out provenance.json
  xstate export --format agent-trace --out trace.json
  xstate export --out session.zip --values`,
		Args: takes(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.export(cmd.Context(), f) },
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	momentFlags(cmd, &f.at)
	flags.StringVarP(&f.out, "out", "o", "", "write into `FILE` (default: stdout)")
	flags.StringVar(
		&f.format,
		"format",
		"",
		"py, md, ipynb, html, prov, agent-trace or archive (default: by the ending of FILE)",
	)
	flags.StringVar(&f.images, "images", "", "with md: put pictures into the folder `DIR` (default: FILE_files)")
	flags.BoolVar(&f.noOutputs, "no-outputs", false, "leave out the outputs of blocks")
	flags.BoolVar(&f.withFailed, "with-failed", false,
		"keep blocks that failed, and those that these blocked, in a script, document or notebook")
	flags.BoolVar(&f.values, "values", false, "with an archive: also values and the content of files")
	flags.StringVar(&f.key, "key", "", "with an archive: sign it with the private key in `FILE`")
	flags.BoolVar(&f.force, "force", false, "overwrite an existing FILE")
	_ = cmd.RegisterFlagCompletionFunc(
		"format",
		cobra.FixedCompletions(append(formats(), formatArchive), cobra.ShellCompDirectiveNoFileComp),
	)
	return a.ofSession(cmd)
}

func formats() []string {
	var list []string
	for _, f := range provenance.Formats {
		list = append(list, string(f))
	}
	return list
}

// check completes the flags, and refuses those that do not go together.
func (f *exportFlags) check(json bool) error {
	if f.format == "" {
		f.format = formatOf(f.out)
	}
	hint := "use `--format` " + strings.Join(formats(), ", ") + " or " + formatArchive
	switch {
	case f.format == "" && f.out != "":
		return &usageError{err: fmt.Errorf("the name %s does not say which format to write", f.out), hint: hint}
	case f.format == "":
		return &usageError{err: errors.New("`xstate export` needs `--out FILE` or `--format`"), hint: hint}
	case f.format != formatArchive && !slices.Contains(formats(), f.format):
		return &usageError{err: fmt.Errorf("there is no format %q", f.format), hint: hint}
	case f.format == formatArchive && (f.at.AtStep != nil || f.at.At != "" || f.noOutputs):
		return &usageError{
			err:  errors.New("an archive holds the whole session"),
			hint: "leave out `--at-step`, `--at` and `--no-outputs`; `xstate fork` makes a session that ends at a step",
		}
	case f.images != "" && f.format != string(provenance.FormatMarkdown):
		return &usageError{err: errors.New("`--images` needs `--format md`"), hint: "other formats hold their pictures"}
	case f.format != formatArchive && f.values:
		return &usageError{err: errors.New("`--values` needs an archive"),
			hint: "`xstate query --value NAME` prints one"}
	case f.format != formatArchive && f.key != "":
		return &usageError{err: errors.New("`--key` needs an archive"),
			hint: "`xstate evidence OF --key KEY` signs what is known of a result"}
	case json && f.out == "":
		return &usageError{
			err:  errors.New("--json needs --out FILE, because the document goes to stdout"),
			hint: "`xstate export --out FILE --json`",
		}
	}
	return nil
}

func (a *app) export(ctx context.Context, f exportFlags) error {
	if err := f.check(a.ui.JSON); err != nil {
		return err
	}
	return a.lookAt(ctx, f.at, func(o *opened, n xstate.StepNumber) error {
		doc := api.Export{Version: api.Version, Session: o.history.Name(), Step: n, Format: f.format}
		if f.out != "" {
			if _, err := os.Lstat(a.path(f.out)); !errors.Is(err, fs.ErrNotExist) && !f.force {
				return &state.Error{
					Code:    api.CodeFileExists,
					Message: fmt.Sprintf("the file %s exists already", f.out),
					Hint:    "choose another name, or overwrite it with `--force`",
				}
			}
		}
		var err error
		if f.format == formatArchive {
			err = a.exportArchive(ctx, o, f, &doc)
		} else {
			err = a.exportProgram(ctx, o, f, &doc)
		}
		if err != nil || f.out == "" {
			return err
		}
		if a.ui.JSON {
			return a.ui.Document(doc)
		}
		a.ui.Talk("wrote %s, %s, step %d of %s", f.out, term.Size(doc.Bytes), doc.Step, doc.Session)
		if doc.Hash != "" {
			a.ui.Talk("the hash of its last step is %s", doc.Hash)
		}
		return nil
	})
}

func (a *app) exportProgram(ctx context.Context, o *opened, f exportFlags, doc *api.Export) error {
	options := provenance.ExportOptions{NoOutputs: f.noOutputs, NoFailed: f.runs() && !f.withFailed}
	if src, err := o.readSource(o.file); err == nil {
		options.Data = src.data
		options.Program, _ = patch.Parse(src.name, src.data) // what cannot be read has no texts
		options.Open = f.opener(o.caller, o.history.Workspace(), filepath.Dir(src.path))
	}
	if provenance.Format(f.format) == provenance.FormatAgentTrace {
		options.File = o.fromRoot(o.file)
	}
	folder := f.imageFolder()
	if folder != "" {
		options.Images = &provenance.ImageFolder{Link: f.link(folder)}
	}
	if provenance.Format(f.format) == provenance.FormatScript {
		s, err := o.history.At(ctx, doc.Step)
		if err == nil {
			err = patch.CheckFile(f.out, query.SnapshotBlocks(s))
		}
		if err != nil {
			return err
		}
	}
	if f.runs() {
		if err := a.tellFailed(ctx, o, doc.Step, f.withFailed); err != nil {
			return err
		}
	}
	data, err := o.exported(ctx, doc.Step, provenance.Format(f.format), options)
	if err != nil {
		return err
	}
	if options.Images != nil {
		if err := writeImages(o.history.Workspace(), a.path(folder), options.Images.Files); err != nil {
			return err
		}
	}
	if doc.Bytes = int64(len(data)); f.out == "" {
		a.ui.File(string(data))
		return nil
	}
	if doc.File, err = a.abs(f.out); err != nil {
		return err
	}
	return writeText(o.history.Workspace(), doc.File, data)
}

// mostSteps is how many steps a page has.
const mostSteps = 500

// exported returns the program in a format.
func (o *opened) exported(
	ctx context.Context, n xstate.StepNumber, format provenance.Format, options provenance.ExportOptions,
) ([]byte, error) {
	if format != provenance.FormatHTML {
		return provenance.Export(ctx, o.history, n, format, options)
	}
	s := page.Standalone{}
	var err error
	if s.Snapshot, s.Parts, err = provenance.Page(ctx, o.history, n, options); err != nil {
		return nil, err
	}
	d, err := o.history.Dependencies(ctx, n)
	if err != nil {
		return nil, err
	}
	s.Graph = api.GraphAt(o.history.Name(), n, d.Graph)
	if s.Steps, err = o.history.Log(ctx, n+1, mostSteps); err != nil {
		return nil, err
	}
	s.Earlier = len(s.Steps) == mostSteps
	return s.HTML()
}

// runs reports whether what is written can be run as the program.
func (f *exportFlags) runs() bool {
	return slices.Contains([]provenance.Format{provenance.FormatScript, provenance.FormatMarkdown,
		provenance.FormatNotebook}, provenance.Format(f.format))
}

// tellFailed says which blocks of the program failed, and which need these: that they are left out, or kept.
func (a *app) tellFailed(ctx context.Context, o *opened, n xstate.StepNumber, kept bool) error {
	s, err := o.history.At(ctx, n)
	if err != nil {
		return err
	}
	with := func(status string) (ids []string) {
		for i := range s.Blocks {
			if s.Blocks[i].Status == status {
				ids = append(ids, string(s.Blocks[i].ID))
			}
		}
		return ids
	}
	var said []string
	for _, of := range []struct {
		status state.Status
		what   string
	}{{state.StatusFailed, "that failed"}, {state.StatusBlocked, "that these blocked"}} {
		if ids := with(of.status.String()); len(ids) > 0 {
			said = append(said, fmt.Sprintf("%s %s: %s", term.Plural(len(ids), "block"), of.what, query.Shorten(ids)))
		}
	}
	if stale := with(query.StatusStale); len(stale) > 0 {
		a.ui.Talk("left out what %s put out before, which is stale: %s", term.Plural(len(stale), "block"),
			query.Shorten(stale))
	}
	switch {
	case len(said) > 0 && kept:
		a.ui.Talk("it holds %s", strings.Join(said, ", and "))
	case len(said) > 0:
		a.ui.Talk("left out %s; --with-failed keeps them", strings.Join(said, ", and "))
	}
	return nil
}

// imageFolder is the folder for the pictures of a document; "" if the export has none.
func (f *exportFlags) imageFolder() string {
	switch {
	case f.format != string(provenance.FormatMarkdown):
		return ""
	case f.images != "" || f.out == "":
		return f.images
	}
	return strings.TrimSuffix(f.out, filepath.Ext(f.out)) + "_files"
}

// link is a folder as a document names it.
func (f *exportFlags) link(folder string) string {
	if rel, err := filepath.Rel(filepath.Dir(f.out), folder); err == nil {
		folder = rel
	}
	return strings.ReplaceAll(filepath.ToSlash(folder), " ", "%20")
}

// opener reads the pictures that texts of the program's file link to: files of the session's folder, or of the one of
// the program's file where that lies elsewhere. No link is followed, so that a document does not hold what a program
// led to. A document beside that file keeps these links, and then the opener is nil.
func (f *exportFlags) opener(c caller, workspace, folder string) func(string) ([]byte, error) {
	out, err := c.abs(filepath.Dir(f.out))
	if f.format != string(provenance.FormatHTML) && err == nil && out == folder {
		return nil
	}
	return func(name string) ([]byte, error) {
		root := realPath(workspace)
		rel, err := filepath.Rel(root, filepath.Join(realPath(folder), filepath.FromSlash(name)))
		if err != nil || parents.Below(root, realPath(folder)) == "" {
			root, rel = folder, filepath.FromSlash(name)
		}
		in, err := beneath.Open(root)
		if err != nil {
			return nil, err
		}
		defer in.Close()
		if info, err := in.Info(rel); err != nil || info.Size > mostPicture {
			return nil, cmp.Or(err, fs.ErrInvalid)
		}
		return in.ReadFile(rel)
	}
}

// mostPicture is the largest picture that a document holds, in bytes.
const mostPicture = 64 << 20

// writeImages writes the pictures of a document into a folder, which it makes if there is any.
func writeImages(workspace, folder string, files map[string][]byte) error {
	if len(files) == 0 {
		return nil
	}
	in, name, err := outside(workspace, folder)
	if err == nil {
		defer in.Close()
		err = in.MkdirAll(name, 0o777)
	}
	if err != nil {
		return unwritten(folder, err)
	}
	for _, file := range slices.Sorted(maps.Keys(files)) {
		err := in.Replace(filepath.Join(name, file), beneath.Attributes{Mode: 0o666 &^ beneath.Umask()},
			func(c *beneath.Content) error { _, err := c.Write(files[file]); return err })
		if err != nil {
			return unwritten(filepath.Join(folder, file), err)
		}
	}
	return nil
}

// writeFiles writes files into a folder, which it makes if there is any.
func writeFiles(folder string, files map[string][]byte) error {
	if len(files) == 0 {
		return nil
	}
	if written := writtenInBounds(folder); written != "" {
		return writeImages(written, folder, files)
	}
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return unwritten(folder, err)
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := writeFile(filepath.Join(folder, name), files[name]); err != nil {
			return err
		}
	}
	return nil
}

// fromRoot is a path from the root of the repository that it lies in, else from the working directory.
func (c caller) fromRoot(path string) string {
	for folder := range parents.Up(filepath.Dir(path)) {
		if _, err := os.Stat(filepath.Join(folder, ".git")); err == nil {
			if rel, err := filepath.Rel(folder, path); err == nil {
				return filepath.ToSlash(rel)
			}
		}
	}
	return filepath.ToSlash(c.fromHere(path))
}

func (a *app) exportArchive(ctx context.Context, o *opened, f exportFlags, doc *api.Export) error {
	var options provenance.ArchiveOptions
	if f.values {
		options.Values = runner.StoredValues
	}
	if f.key != "" {
		text, err := a.readKey(f.key)
		if err != nil {
			return err
		}
		if options.Key, err = keys.Private(text); err != nil {
			return err
		}
	}
	if f.out == "" {
		var b bytes.Buffer
		_, err := provenance.Archive(ctx, o.history, &b, options)
		if err == nil {
			a.ui.File(b.String())
		}
		return err
	}
	path, err := a.abs(f.out)
	if err != nil {
		return err
	}
	var info *provenance.ArchiveInfo
	bytes := counting{}
	err = writeOut(o.history.Workspace(), path, func(w io.Writer) (err error) {
		bytes.Writer = w
		info, err = provenance.Archive(ctx, o.history, &bytes, options)
		return err
	}, true) // it holds what the store does
	if err != nil {
		return err
	}
	doc.Step, doc.Hash, doc.File, doc.Bytes = info.Head, info.Hash, path, bytes.n
	return nil
}

// counting counts the bytes that are written.
type counting struct {
	io.Writer
	n int64
}

func (c *counting) Write(data []byte) (int, error) {
	n, err := c.Writer.Write(data)
	c.n += int64(n)
	return n, err
}
