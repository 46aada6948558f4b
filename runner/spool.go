package runner

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"

	"github.com/xstate-engine/xstate/internal/parents"
	"github.com/xstate-engine/xstate/runner/beneath"
	"github.com/xstate-engine/xstate/runner/kernel"
	"github.com/xstate-engine/xstate/runner/sandbox"
	"github.com/xstate-engine/xstate/state"
)

// The spool is a folder in the store for what passes between kernel and engine: values, and copies of files that are
// about to be written. Before a node's first write to a path, the kernel notes the path and the copy in a journal
// there. The engine clears the journal when its own records hold what the node wrote. It uses the journal in the same
// way when it restores a file.
//
// A journal that is not empty and that no engine owns shows what was under way when the engine or the kernel was
// killed. Without it, a half-written file would be taken for one that a person edited. The journal is written, not
// synced: it outlives the processes, not the machine. An engine locks its spool, so a spool that can be locked was left
// behind.
const journalName = "writing"

func (e *Engine) spoolPrefix() string {
	return "spool-" + string(state.DigestOf([]byte(e.cfg.Session))[:12]) + "-"
}

func (e *Engine) makeSpool() error {
	path, lock, err := e.newSpool()
	if err != nil {
		return err
	}
	if e.spool, err = beneath.Open(path); err != nil {
		_ = lock.Release()
		return err
	}
	e.spoolLock = lock
	return nil
}

// newSpool makes a folder and locks it.
func (e *Engine) newSpool() (path string, lock *state.Lock, err error) {
	dir, err := filepath.EvalSymlinks(e.scratchDir()) // see kernel/spool.go
	if err == nil {
		dir, err = filepath.Abs(dir)
	}
	if err == nil {
		path, err = os.MkdirTemp(dir, e.spoolPrefix())
	}
	if err == nil {
		lock, _, err = state.LockFolder(path)
	}
	return path, lock, err
}

// dropSpool removes the spool, unless recoverFiles is to read its journal.
func (e *Engine) dropSpool() {
	if e.spool == nil {
		return
	}
	info, err := e.spool.Info(journalName)
	if errors.Is(err, fs.ErrNotExist) || err == nil && info.Size == 0 {
		removeSpool(e.spool.Path())
	}
	if e.spoolLock != nil {
		_ = e.spoolLock.Release() // the lock of a folder holds no data
	}
	_ = e.spool.Close()
	e.spool, e.spoolLock = nil, nil
}

// removeSpool removes a folder of the store in which a program wrote.
func removeSpool(path string) error {
	store, err := beneath.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer store.Close()
	return store.RemoveAll(filepath.Base(path))
}

// openIn opens a file that a kernel names in its spool. The program may make the kernel name any other: to open that is
// no right of the program's.
func openIn(spool *beneath.Folder, path string) (*os.File, error) {
	if spool == nil {
		return nil, errNotInSpool
	}
	if name := parents.Below(spool.Path(), path); name != "" {
		return spool.File(name)
	}
	return nil, errNotInSpool
}

var errNotInSpool = errors.New("the interpreter names a file that is not in its folder")

// discardFrom removes a file of the spool.
func discardFrom(spool *beneath.Folder, path string) {
	if spool == nil {
		return
	}
	if name := parents.Below(spool.Path(), path); name != "" {
		_ = spool.Remove(name) // or the end of the spool removes it
	}
}

// announce notes in the journal that a file of the program is about to be restored.
func (e *Engine) announce(path string) error {
	if e.spool == nil {
		if err := e.makeSpool(); err != nil {
			return err
		}
	}
	line, err := json.Marshal(map[string]string{"path": path})
	if err != nil {
		return err
	}
	return e.spool.Append(journalName, append(line, '\n'))
}

// saveFiles stores the records of files, if they changed, and clears the journal. A run whose results are discarded
// does so only at its end: if it is killed, the files are not what the recorded results say.
func (w *walk) saveFiles() error {
	if w.o.Discard {
		return nil
	}
	return w.e.saveFiles()
}

func (e *Engine) saveFiles() error {
	if err := e.keepFiles(); err != nil {
		return err
	}
	return e.clearJournal()
}

// keepFiles stores the records of files, if they changed and all that they say is known.
func (e *Engine) keepFiles() error {
	if !e.unsaved() || e.cfg.OnFiles == nil {
		return nil
	}
	if err := e.baseState.Failure(); err != nil {
		return err
	}
	if err := e.cfg.OnFiles(e.cfg.Files); err != nil {
		return err
	}
	e.saved = maps.Clone(e.cfg.Files)
	return nil
}

func (e *Engine) clearJournal() error {
	if e.spool == nil {
		return nil
	}
	err := e.spool.Truncate(journalName)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// recoverFiles takes over what killed kernels of this session had begun to write.
func (e *Engine) recoverFiles() error {
	dir, err := filepath.Abs(e.scratchDir())
	if err != nil {
		return err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("look for files that a killed run was writing: %w", err)
	}
	for _, entry := range entries {
		spool := filepath.Join(dir, entry.Name())
		if !strings.HasPrefix(entry.Name(), e.spoolPrefix()) {
			continue
		}
		if err := e.takeOver(spool); err != nil {
			return err
		}
	}
	return nil
}

// takeOver reads and removes a spool, unless an engine owns it.
func (e *Engine) takeOver(spool string) error {
	lock, free, err := state.LockFolder(spool)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !free {
		return nil
	}
	if err != nil {
		return fmt.Errorf("lock what a killed run left: %w", err)
	}
	defer lock.Release()
	folder, err := beneath.Open(spool)
	if err != nil {
		return fmt.Errorf("open what a killed run left: %w", err)
	}
	defer folder.Close()
	if err := e.readJournal(folder); err != nil {
		return fmt.Errorf("take over what a killed run was writing: %w", err)
	}
	if err := removeSpool(spool); err != nil {
		return fmt.Errorf("remove what a killed run left: %w", err)
	}
	return nil
}

func (e *Engine) readJournal(spool *beneath.Folder) error {
	f, err := spool.File(journalName)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, beneath.ErrNotRegular) {
		return nil // in the second case, the program destroyed it
	}
	if err != nil {
		return err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var line struct {
			Path   string             `json:"path"`
			Before *kernel.FileBefore `json:"before"`
		}
		if json.Unmarshal(lines.Bytes(), &line) != nil || line.Path == "" {
			continue // cut off: the write that it would announce did not happen
		}
		name := e.baseState.Short(line.Path)
		if _, known := e.cfg.Files[name]; !known && !e.mayWrite(line.Path) {
			continue // a line of the program's
		}
		if err := e.takeOverFile(name, line.Path, line.Before, spool); err != nil {
			return err
		}
	}
	if err := lines.Err(); err != nil {
		return err
	}
	return e.keepFiles()
}

// takeOverFile notes what a killed kernel, or engine, left of one file.
func (e *Engine) takeOverFile(name, path string, before *kernel.FileBefore, spool *beneath.Folder) error {
	if folder, in, err := e.baseState.Place(name); err == nil {
		_ = folder.Remove(in + beneath.Temporary)
	}
	fw, err := e.beforeWrite(path, before, spool)
	if errors.Is(err, errNotInSpool) || errors.Is(err, fs.ErrNotExist) || errors.Is(err, beneath.ErrNotRegular) {
		fw, err = fileWrite{}, nil // the program wrote the line, or removed the copy
	}
	if err != nil {
		return err
	}
	if fw.after, err = e.baseState.Look(name); err != nil {
		return err
	}
	e.noteWrite(name, fw)
	return nil
}

// mayWrite reports whether the bounds let the program write a file. The engine later restores the files that a kernel
// reports as written, with the engine's own rights. So a program that speaks for its kernel must not name a file of its
// choice.
func (e *Engine) mayWrite(path string) bool {
	return e.boundary.digest == "" || !sandbox.BoundsFiles() || sandbox.OwnsFile(e.cfg.Workspace, path) ||
		e.boundary.forbids("write", path) == ""
}
