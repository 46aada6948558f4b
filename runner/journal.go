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

	"github.com/xstate-engine/xstate/runner/kernel"
	"github.com/xstate-engine/xstate/state"
)

// The spool is a folder in the store for what passes between kernel and engine: values, and copies of files that are
// about to be written. Before a node's first write to a path, the kernel notes the path and the copy in a journal
// there. The engine clears the journal when its own records hold what the node wrote. It uses the journal in the same
// way where it restores a file.
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
	dir, err := filepath.Abs(e.scratchDir())
	if err != nil {
		return err
	}
	if e.spool, err = os.MkdirTemp(dir, e.spoolPrefix()); err != nil {
		return err
	}
	e.spoolLock, _, err = state.LockFolder(e.spool)
	return err
}

// dropSpool removes the spool, unless recoverFiles is to read its journal.
func (e *Engine) dropSpool() {
	if e.spool == "" {
		return
	}
	if info, err := os.Stat(filepath.Join(e.spool, journalName)); err != nil || info.Size() == 0 {
		os.RemoveAll(e.spool)
	}
	if e.spoolLock != nil {
		_ = e.spoolLock.Release() // the lock of a folder holds no data
	}
	e.spool, e.spoolLock = "", nil
}

// announce notes in the journal that a file of the program is about to be restored.
func (e *Engine) announce(path string) error {
	if e.spool == "" {
		if err := e.makeSpool(); err != nil {
			return err
		}
	}
	f, err := os.OpenFile(filepath.Join(e.spool, journalName), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	line, err := json.Marshal(map[string]string{"path": path})
	if err == nil {
		_, err = f.Write(append(line, '\n'))
	}
	return err
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

// keepFiles stores the records of files, if they changed.
func (e *Engine) keepFiles() error {
	if !e.unsaved() || e.cfg.OnFiles == nil {
		return nil
	}
	if err := e.cfg.OnFiles(e.cfg.Files); err != nil {
		return err
	}
	e.saved = maps.Clone(e.cfg.Files)
	return nil
}

func (e *Engine) clearJournal() error {
	if e.spool == "" {
		return nil
	}
	err := os.Truncate(filepath.Join(e.spool, journalName), 0)
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
	if err := e.readJournal(filepath.Join(spool, journalName)); err != nil {
		return fmt.Errorf("take over what a killed run was writing: %w", err)
	}
	if err := os.RemoveAll(spool); err != nil {
		return fmt.Errorf("remove what a killed run left: %w", err)
	}
	return nil
}

func (e *Engine) readJournal(path string) error {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
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
		_ = os.Remove(line.Path + temporary)
		name := e.baseState.Short(line.Path)
		fw, err := e.beforeWrite(line.Path, line.Before)
		if err != nil {
			return err
		}
		fw.after = e.baseState.OnDisk(name)
		e.noteWrite(name, fw)
	}
	if err := lines.Err(); err != nil {
		return err
	}
	return e.keepFiles()
}
