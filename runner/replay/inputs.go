package replay

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/runner"
	"github.com/xstate-engine/xstate/runner/beneath"
	"github.com/xstate-engine/xstate/runner/journal"
	"github.com/xstate-engine/xstate/state"
)

// inputs are the parts of the workspace that the nodes of a program read and none of them had written, by file name.
type inputs struct {
	content map[string]state.Digest // what it held
	present map[string]state.Digest // whether it existed, if the program checked no more
	listed  map[string]state.Digest // what the directory listed, with what the program had made of it by then
	modes   map[string]state.Digest
	times   map[string]state.Digest
	written map[string]bool // what some node wrote
}

// calls returns the outcomes that the run's calls had, and which tools it lacked. One that came while the program ran
// is not lacked.
func (x *replaying) calls() journal.Then {
	then := journal.Then{Outcomes: map[state.CallPlace]state.Digest{}, Lacked: map[journal.Named]bool{}}
	for _, ref := range x.order {
		t := x.recorded[ref].trace
		if t == nil {
			continue
		}
		for _, a := range t.Reads {
			if at, ok := state.CallPlaceOf(a.Key); ok {
				then.Outcomes[at] = a.Digest
			}
			if kind, name, tool := runner.ToolOf(a.Key); tool {
				named := journal.Named{Kind: kind, Name: name}
				was, known := then.Lacked[named]
				then.Lacked[named] = a.Digest == state.Absent && (was || !known)
			}
		}
	}
	return then
}

// readInputs collects the inputs from the record.
func (x *replaying) readInputs() *inputs {
	in := &inputs{
		content: map[string]state.Digest{},
		present: map[string]state.Digest{},
		listed:  map[string]state.Digest{},
		modes:   map[string]state.Digest{},
		times:   map[string]state.Digest{},
		written: map[string]bool{},
	}
	for _, ref := range x.order {
		t := x.recorded[ref].trace
		if t == nil {
			continue
		}
		for _, a := range t.Reads {
			into := map[string]map[string]state.Digest{"file": in.content, "stat": in.present, "dir": in.listed,
				"mode": in.modes, "time": in.times}[a.Key.Space()]
			name := a.Key.Name()
			if into == nil || filepath.IsAbs(name) || in.written[name] {
				continue
			}
			if _, known := into[name]; !known {
				into[name] = a.Digest
			}
		}
		for _, a := range t.Writes {
			if a.Key.Space() == "file" {
				in.written[a.Key.Name()] = true
			}
		}
	}
	return in
}

// layOut creates the copy of the workspace: the files that the program read, with their recorded content, and no
// others. It takes content from the store first, then from the present workspace. A file that the record lacks must be
// absent, or the replay would test another program.
func (x *replaying) layOut() error {
	if err := os.MkdirAll(x.folder, 0o777); err != nil {
		return err
	}
	if err := x.open(); err != nil {
		return err
	}
	in := x.readInputs()
	for name, d := range in.content {
		if err := x.putInput(name, d); err != nil {
			return err
		}
	}
	for name, d := range in.present {
		if _, known := in.content[name]; known || d == state.Absent {
			continue
		}
		if err := x.putPresent(name, d == "directory"); err != nil {
			return err
		}
	}
	for name, d := range in.listed {
		if err := x.putListed(in, depgraph.Key("dir:"+name), d); err != nil {
			return err
		}
	}
	for name, d := range in.modes {
		var mode uint32
		if _, err := fmt.Sscanf(string(d), "%o", &mode); err == nil {
			if err := x.copy.Chmod(name, fs.FileMode(mode)); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
	for name, d := range in.times {
		if err := x.putTime(name, d); err != nil {
			return err
		}
	}
	return nil
}

// open opens the copy of the workspace and the workspace itself.
func (x *replaying) open() (err error) {
	if x.copy, err = beneath.Open(x.folder); err != nil {
		return err
	}
	x.present, err = beneath.Open(x.config.Workspace)
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	gone := filepath.Join(x.root, "gone")
	if err := os.MkdirAll(gone, 0o700); err != nil {
		return err
	}
	x.present, err = beneath.Open(gone)
	return err
}

// putTime sets the file time that the program saw, if it is recorded.
func (x *replaying) putTime(name string, d state.Digest) error {
	data, ok, err := x.subject.Store().Blob(d)
	if err != nil || !ok {
		return err
	}
	var at int64
	if _, err := fmt.Sscanf(string(data), "time %d", &at); err != nil || at == 0 {
		return nil
	}
	if err := x.putPresent(name, false); err != nil {
		return err
	}
	return x.copy.SetTime(name, time.Unix(0, at))
}

// putInput creates one file with its recorded content. If that content is lost, it uses the present content and reports
// it.
func (x *replaying) putInput(name string, d state.Digest) error {
	target, isLink := strings.CutPrefix(string(d), "symlink:")
	switch {
	case d == state.Absent:
		return nil
	case d == "directory":
		return x.copy.MkdirAll(name, 0o777)
	case isLink:
		return x.made(name, func() error { return x.copy.Symlink(target, name) })
	}
	return x.made(name, func() error {
		err := x.copy.Replace(name, x.attributes(name, d), func(c *beneath.Content) error {
			ok, err := x.subject.Store().CopyBlob(c, d)
			if err == nil && !ok {
				err = errNotKept
			}
			return err
		})
		if !errors.Is(err, errNotKept) {
			return err
		}
		have, err := x.takeFile(name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			x.miss(Missing{Step: x.step.Number, What: "file:" + name, Why: "it is gone, and its content was not kept"})
			return nil
		case err != nil:
			return err
		case have != d:
			x.miss(
				Missing{
					Step: x.step.Number,
					What: "file:" + name,
					Why: "it has been changed since, and its former content was not kept; replayed with what it is " +
						"now",
				},
			)
		}
		return nil
	})
}

var errNotKept = errors.New("the store does not have the content")

func (x *replaying) made(name string, do func() error) error {
	if _, err := x.copy.Info(name); err == nil {
		return nil
	}
	if err := x.copy.MkdirAll(path.Dir(name), 0o777); err != nil {
		return err
	}
	return do()
}

// attributes are the permissions and the time of a file from the store, as far as they are known.
func (x *replaying) attributes(name string, d state.Digest) beneath.Attributes {
	a := beneath.Attributes{Mode: 0o644}
	if info, err := x.present.Info(name); err == nil && !info.Link() {
		a = beneath.Attributes{Mode: info.Mode.Perm(), Time: info.Time}
	}
	if r := x.files[name]; r.Base == d && r.Time != 0 {
		a.Time = time.Unix(0, r.Time)
	}
	if a.Time.IsZero() {
		a.Time = x.step.Time
	}
	return a
}

// putPresent creates a path for which the program only checked the existence.
func (x *replaying) putPresent(name string, directory bool) error {
	return x.made(name, func() error {
		if r, written := x.files[name]; written && r.Base != state.Absent {
			return x.putInput(name, r.Base)
		}
		info, err := x.present.Info(name)
		if directory || err == nil && info.Mode.IsDir() {
			return x.copy.Mkdir(name, 0o777)
		}
		if err == nil && info.Regular() {
			_, err = x.takeFile(name)
			return err
		}
		return x.copy.Replace(name, beneath.Attributes{Mode: 0o644}, func(*beneath.Content) error { return nil })
	})
}

// putListed creates the entries of a directory that the program listed.
func (x *replaying) putListed(in *inputs, k depgraph.Key, d state.Digest) error {
	if d == state.Absent {
		return nil
	}
	dir, counts := k.Listing()
	if err := x.copy.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	names, err := x.listing(dir, d)
	if err != nil {
		return err
	}
	for _, name := range names {
		if !counts(name) {
			continue
		}
		full := filepath.Join(dir, name)
		d, known := in.content[full]
		made := in.written[full] || isAbove(in.written, full)
		if x.files[full].Base == state.Absent && (!known && made || known && d == state.Absent) {
			continue // the program made it
		}
		if err := x.putPresent(full, false); err != nil {
			return err
		}
	}
	return nil
}

// isAbove reports whether a file that was written lies in a folder.
func isAbove(written map[string]bool, folder string) bool {
	for name := range written {
		if strings.HasPrefix(name, folder+"/") {
			return true
		}
	}
	return false
}

// listing returns the names that a directory listed: the recorded ones, else the present ones.
func (x *replaying) listing(dir string, d state.Digest) ([]string, error) {
	data, ok, err := x.subject.Store().Blob(d)
	if err != nil {
		return nil, err
	}
	if ok {
		return quotedList(strings.TrimPrefix(string(data), "listing ")), nil
	}
	entries, err := x.present.Names(dir)
	if err != nil {
		x.miss(Missing{Step: x.step.Number, What: "dir:" + dir, Why: "it is gone, and what it listed was not kept"})
		return nil, nil
	}
	var names []string
	for _, name := range entries {
		r, written := x.files[filepath.Join(dir, name)]
		if name != ".xstate" && name != "__pycache__" && (!written || r.Base != state.Absent) {
			names = append(names, name)
		}
	}
	return names, nil
}

// quotedList reads a list as %q prints it.
func quotedList(text string) []string {
	var names []string
	text = strings.TrimPrefix(text, "[")
	for {
		quoted, err := strconv.QuotedPrefix(strings.TrimPrefix(text, " "))
		if err != nil {
			return names
		}
		text = strings.TrimPrefix(text, " ")[len(quoted):]
		if name, err := strconv.Unquote(quoted); err == nil {
			names = append(names, name)
		}
	}
}

// takeFile copies a regular file of the workspace with its permissions and time, and returns the digest of what it
// copied.
func (x *replaying) takeFile(name string) (state.Digest, error) {
	src, err := x.present.File(name)
	if errors.Is(err, beneath.ErrNotRegular) {
		return "", fs.ErrNotExist
	}
	if err != nil {
		return "", err
	}
	defer src.Close()
	info, err := beneath.Described(src)
	if err != nil {
		return "", err
	}
	h := sha256.New()
	attributes := beneath.Attributes{Mode: info.Mode.Perm(), Time: info.Time}
	err = x.copy.Replace(name, attributes, func(c *beneath.Content) error {
		_, err := io.Copy(io.MultiWriter(c, h), src)
		return err
	})
	return state.Digest(hex.EncodeToString(h.Sum(nil))), err
}

// removeAll removes a folder in which a program may have taken permissions away.
func removeAll(folder string) {
	in, err := beneath.Open(filepath.Dir(folder))
	if err != nil {
		return
	}
	defer in.Close()
	_ = in.RemoveAll(filepath.Base(folder))
}
