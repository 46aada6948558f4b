package bench

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/patch"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/provenance"
	"github.com/xstate-engine/xstate/state/query"
)

// Program is a program with the edits that are made to it.
type Program struct {
	Name     string // the path as given; workload/size for a generated program
	Workload string // the workload of a generated program; otherwise "files" or "sessions"
	Folder   string // copied to where the program runs; "" means an empty folder
	File     string // its own file in Folder, for __file__; "" if it has none
	Versions []Version
}

// Version is the program after an edit.
type Version struct {
	Edit   Kind
	At     int           // the first block that changed
	Blocks []patch.Block // with ids, which edits preserve
}

// Codes of errors about the choice of what to measure.
const (
	CodeNothing    state.Code = "nothing-to-measure" // no program was found
	CodeNoWorkload state.Code = "no-workload"        // no workload has that name
	CodeNoStrategy state.Code = "no-strategy"        // no strategy has that name
	CodeNoPeer     state.Code = "no-peer"            // the interpreter does not have the peer installed
)

// FindPrograms returns the programs at paths: scripts, notebooks and Markdown files, each with a series of edits drawn
// by seed; archives of sessions, which bring their edits; and all of these below a folder. It calls skipped for files
// that are not programs.
func FindPrograms(
	ctx context.Context,
	paths []string,
	seed uint64,
	edits int,
	skipped func(path string, err error),
) ([]Program, error) {
	var found []Program
	for _, path := range paths {
		files, err := programFiles(path)
		if err != nil {
			return nil, &xstate.Error{
				Code:    CodeNothing,
				Message: fmt.Sprintf("%s cannot be read", path),
				Hint:    "name a folder, " + patch.FileKinds() + ", or an archive of a session",
				Err:     err,
			}
		}
		for _, file := range files {
			p, err := loadFile(ctx, file, seed, edits)
			if err != nil {
				skipped(file, err)
				continue
			}
			found = append(found, p...)
		}
	}
	if len(found) == 0 && len(paths) > 0 {
		return nil, &xstate.Error{Code: CodeNothing, Message: "there is no program in " + strings.Join(paths, ", "),
			Hint: "xstate bench takes .py, .ipynb and .md files, archives that xstate export made, and folders of " +
				"these"}
	}
	return found, nil
}

// programFiles returns a file, or the files below a folder that may be programs.
func programFiles(path string) ([]string, error) {
	var files []string
	err := filepath.WalkDir(path, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != path && ignored(d.Name()):
			return fs.SkipDir
		case !d.IsDir() && (name == path || slices.Contains([]string{".py", ".ipynb", archiveExt}, filepath.Ext(name))):
			files = append(files, name)
		}
		return nil
	})
	return files, err
}

const archiveExt = ".zip"

// ignored reports whether a folder of that name holds no part of a program.
func ignored(name string) bool {
	return strings.HasPrefix(name, ".") ||
		slices.Contains([]string{"__pycache__", "node_modules", "venv", "build", "xstate-bench"}, name)
}

// loadFile reads one program, or the session of an archive.
func loadFile(ctx context.Context, file string, seed uint64, edits int) ([]Program, error) {
	full, err := filepath.Abs(file)
	if err != nil {
		return nil, err
	}
	if filepath.Ext(file) == archiveExt {
		return archivedSession(ctx, file, full)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	parsed, err := patch.Parse(file, data)
	if err != nil {
		return nil, err
	}
	blocks := withIDs(parsed.Blocks)
	p := Program{
		Name:     filepath.ToSlash(file),
		Workload: "files",
		Folder:   filepath.Dir(full),
		Versions: Edits(filepath.Base(file), blocks, seed, edits),
	}
	if filepath.Ext(file) == ".py" {
		p.File = filepath.Base(file)
	}
	return []Program{p}, nil
}

// withIDs gives every block an id.
func withIDs(blocks []patch.Block) []patch.Block {
	blocks = slices.Clone(blocks)
	for i, id := range patch.Names(blocks) {
		blocks[i].ID = id
	}
	return blocks
}

// archivedSession returns the session of an archive, with a version for each run that followed edits. It imports the
// archive into a temporary store.
func archivedSession(ctx context.Context, file, full string) ([]Program, error) {
	data, err := os.Open(full)
	if err != nil {
		return nil, err
	}
	defer data.Close()
	info, err := data.Stat()
	if err != nil {
		return nil, err
	}
	archive, err := provenance.OpenArchive(data, info.Size())
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "xstate-bench-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	store, err := xstate.Open(ctx, filepath.Join(dir, xstate.StoreName), xstate.Options{})
	if err != nil {
		return nil, err
	}
	defer store.Close()
	imported, err := provenance.Import(ctx, store.State(), archive, provenance.ImportOptions{Trust: true})
	if err != nil {
		return nil, err
	}
	session, err := store.Existing(ctx, imported.Session, xstate.SessionOptions{Workspace: dir})
	if err != nil {
		return nil, err
	}
	defer session.Close()
	p := Program{Name: filepath.ToSlash(file), Workload: "sessions", Folder: filepath.Dir(full)}
	head, _, err := store.State().Head(ctx, imported.Session)
	if err != nil {
		return nil, err
	}
	for n := xstate.StepNumber(1); n <= head; n++ {
		step, err := store.State().Step(ctx, imported.Session, n)
		if err != nil {
			return nil, err
		}
		if step.Kind != state.KindRun && n < head {
			continue
		}
		kept, err := session.History().ProgramAt(ctx, n)
		if err != nil {
			return nil, err
		}
		p.addVersion(KindRecorded, query.PatchBlocks(kept))
	}
	if len(p.Versions) == 0 {
		return nil, errors.New("nothing was run in it")
	}
	return []Program{p}, nil
}

// addVersion adds a version, unless its blocks equal those of the version before.
func (p *Program) addVersion(kind Kind, blocks []patch.Block) {
	v := Version{Edit: kind, Blocks: blocks}
	if n := len(p.Versions); n == 0 {
		v.Edit = KindFirst
	} else if v.At = firstDifference(p.Versions[n-1].Blocks, blocks); v.At == len(blocks) &&
		len(blocks) == len(p.Versions[n-1].Blocks) {
		return
	}
	p.Versions = append(p.Versions, v)
}

// firstDifference returns the first position at which two lists differ in id or source.
func firstDifference(old, now []patch.Block) int {
	for i := range min(len(old), len(now)) {
		if old[i].ID != now[i].ID || old[i].Source != now[i].Source {
			return i
		}
	}
	return min(len(old), len(now))
}
