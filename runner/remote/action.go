package remote

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	reapi "github.com/bazelbuild/remote-apis/build/bazel/remote/execution/v2"
	"google.golang.org/protobuf/proto"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/state"
)

// Task is one node of a program, with what an interpreter needs to be at its place, or a run of the whole program.
type Task struct {
	Session   string             `cbor:"session"`
	File      string             `cbor:"file,omitempty"` // the program's, from the workspace; "": it has none
	Seed      uint64             `cbor:"seed"`
	Observe   string             `cbor:"observe,omitempty"` // see kernel.Launch
	Arguments []string           `cbor:"arguments,omitempty"`
	Environ   []string           `cbor:"environ,omitempty"` // see InterpreterEnviron
	Seconds   float64            `cbor:"seconds,omitempty"` // that the node may take; 0: any
	Program   []TaskBlock        `cbor:"program"`
	Whole     bool               `cbor:"whole,omitempty"` // all nodes that are not given execute
	At        int                `cbor:"at"`              // else the index of the node among those of the program
	Weak      state.Digest       `cbor:"weak"`            // its fingerprint for the caller
	Given     map[int]*TaskGiven `cbor:"given"`           // the results of other nodes, by index
	// Cache is the address of the cache as the caller has it. Trusted are the ids and Keys the public keys that signed
	// what is given.
	Cache string   `cbor:"cache"`
	Keys  [][]byte `cbor:"keys"`
}

// InterpreterEnviron returns the variables, of NAME=value, that interpreters look at by themselves. They are a part of
// what names an interpreter, so a worker has those of its caller.
func InterpreterEnviron(environ []string) []string {
	return slices.DeleteFunc(slices.Clone(environ), func(line string) bool { return !ofInterpreter(line) })
}

// OtherEnviron returns the other ones.
func OtherEnviron(environ []string) []string {
	return slices.DeleteFunc(slices.Clone(environ), ofInterpreter)
}

func ofInterpreter(line string) bool {
	name, _, _ := strings.Cut(line, "=")
	return name == "TZ" || name == "LANG" || slices.ContainsFunc([]string{"PYTHON", "NODE_", "LC_"},
		func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}

// TaskBlock is a block of a program.
type TaskBlock struct {
	ID      state.BlockID    `cbor:"id"`
	Dialect depgraph.Dialect `cbor:"dialect,omitempty"`
	Source  string           `cbor:"source"`
}

// TaskGiven names a result that a worker takes as it is. The worker's own result says what it read, so a wrong one
// among those given makes a result that no one asks for.
type TaskGiven struct {
	Weak   state.Digest `cbor:"weak"`
	Strong state.Digest `cbor:"strong"`
	Keys   *Keys        `cbor:"keys"`
}

// Input is a file of an Action. Its path is from the input root, with slashes.
type Input struct {
	Path string
	Open func() (io.ReadCloser, error)
}

// workerPath is where a server of the API looks for xstate, and xstate for an interpreter: it gives a command no other
// environment than that of the Action.
const workerPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// The layout of an input root.
const (
	taskFile = "task"
	// WorkspaceFolder has the files of the workspace that the node may read.
	WorkspaceFolder = "workspace"
)

// content is a blob of an Action, which is read once to name it and once to send it.
type content struct {
	ref  state.BlobRef
	open func() (io.ReadCloser, error)
}

func contentOf(data []byte) content {
	return content{state.BlobRef{Digest: state.DigestOf(data), Size: int64(len(data))},
		func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil }}
}

func contentOfMessage(m proto.Message) (content, error) {
	data, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	return contentOf(data), err
}

// Action is what a worker is to execute.
type Action struct {
	Task     *Task
	Inputs   []Input
	Platform map[string]string // properties that a worker must have
	// Withheld reports whether a content must not leave the machine; nil: any may.
	Withheld func(io.Reader) (bool, error)
}

// PutAction puts an Action into the cache: the command `xstate execute`, and an input root with the task and the files
// of the workspace.
func (c *Cache) PutAction(ctx context.Context, a *Action) (state.BlobRef, error) {
	a.Task.Cache, a.Task.Keys = c.Address(), nil
	for _, id := range c.signers {
		a.Task.Keys = append(a.Task.Keys, c.trusted[id])
	}
	task := contentOf(state.Encode(a.Task))
	files := map[string]content{}
	for _, in := range append(slices.Clone(a.Inputs), Input{taskFile, task.open}) {
		ref, err := a.measure(&in)
		if err != nil {
			return ref, err
		}
		if in.Path == taskFile {
			files[taskFile] = task
		} else {
			files[path.Join(WorkspaceFolder, in.Path)] = content{ref, in.Open}
		}
	}
	folders := []string{WorkspaceFolder} // it is there even if it is empty
	root, all, err := treeOf(files, folders)
	if err != nil {
		return state.BlobRef{}, err
	}
	command, err := contentOfMessage(&reapi.Command{Arguments: []string{"xstate", "execute"},
		EnvironmentVariables: []*reapi.Command_EnvironmentVariable{{Name: "PATH", Value: workerPath}}})
	if err != nil {
		return state.BlobRef{}, err
	}
	action, err := contentOfMessage(&reapi.Action{CommandDigest: digestMessage(command.ref),
		InputRootDigest: digestMessage(root), DoNotCache: true, Platform: platformOf(a.Platform)})
	if err != nil {
		return state.BlobRef{}, err
	}
	return action.ref, c.send(ctx, append(all, command, action))
}

// measure returns the digest of an input. It fails for one that must not leave the machine.
func (a *Action) measure(in *Input) (ref state.BlobRef, err error) {
	r, err := in.Open()
	if err != nil {
		return ref, fmt.Errorf("read %s: %w", in.Path, err)
	}
	defer r.Close()
	h := sha256.New()
	n := &counter{r: io.TeeReader(r, h)}
	if a.Withheld != nil {
		if held, err := a.Withheld(n); err != nil || held {
			return ref, errors.Join(errWithheld, err)
		}
	}
	if _, err := io.Copy(io.Discard, n); err != nil {
		return ref, fmt.Errorf("read %s: %w", in.Path, err)
	}
	return state.BlobRef{Digest: state.Digest(hex.EncodeToString(h.Sum(nil))), Size: n.n}, nil
}

func platformOf(properties map[string]string) *reapi.Platform {
	p := &reapi.Platform{}
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		p.Properties = append(p.Properties, &reapi.Platform_Property{Name: name, Value: properties[name]})
	}
	return p
}

func digestMessage(ref state.BlobRef) *reapi.Digest {
	return &reapi.Digest{Hash: string(ref.Digest), SizeBytes: ref.Size}
}

func refOfMessage(d *reapi.Digest) state.BlobRef {
	return state.BlobRef{Digest: state.Digest(d.GetHash()), Size: d.GetSizeBytes()}
}

// treeOf returns the digest of a folder with files and empty folders, and all contents that it is made of.
func treeOf(files map[string]content, folders []string) (root state.BlobRef, all []content, err error) {
	d := &reapi.Directory{}
	below := map[string]map[string]content{}
	for _, name := range folders {
		below[name] = map[string]content{}
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		first, rest, deeper := strings.Cut(name, "/")
		if deeper {
			if below[first] == nil {
				below[first] = map[string]content{}
			}
			below[first][rest] = files[name]
			continue
		}
		d.Files = append(d.Files, &reapi.FileNode{Name: name, Digest: digestMessage(files[name].ref)})
		all = append(all, files[name])
	}
	for _, name := range slices.Sorted(maps.Keys(below)) {
		ref, parts, err := treeOf(below[name], nil)
		if err != nil {
			return root, nil, err
		}
		d.Directories = append(d.Directories, &reapi.DirectoryNode{Name: name, Digest: digestMessage(ref)})
		all = append(all, parts...)
	}
	x, err := contentOfMessage(d)
	return x.ref, append(all, x), err
}

// send sends the contents that the store does not have.
func (c *Cache) send(ctx context.Context, all []content) error {
	byRef := map[state.BlobRef]content{}
	for _, x := range all {
		byRef[x.ref] = x
	}
	refs := slices.SortedFunc(maps.Keys(byRef), func(a, b state.BlobRef) int {
		return strings.Compare(string(a.Digest), string(b.Digest))
	})
	return c.sendMissing(ctx, refs, func(ref state.BlobRef) (io.ReadCloser, error) { return byRef[ref].open() })
}

// ParseAction reads the name of an Action, HASH/SIZE.
func ParseAction(text string) (ref state.BlobRef, err error) {
	hash, size, _ := strings.Cut(text, "/")
	ref.Digest = state.Digest(hash)
	if ref.Size, err = strconv.ParseInt(size, 10, 64); err != nil || ref.Size < 0 || !ref.Digest.IsContent() {
		return ref, &state.Error{Code: CodeNoAction,
			Message: fmt.Sprintf("%q is no digest HASH/SIZE of an action", text),
			Hint:    "`remote.launcher` of the caller has `{action}` in the place of the digest"}
	}
	return ref, nil
}

// ActionName is the inverse of ParseAction.
func ActionName(ref state.BlobRef) string { return fmt.Sprintf("%s/%d", ref.Digest, ref.Size) }

// CodeNoAction is the code of errors about an Action that cannot be found.
const CodeNoAction state.Code = "remote-no-action"

// errNoAction reports an Action of which the store lacks a part, or that is none of ours.
var errNoAction = &state.Error{Code: CodeNoAction, Message: "the cache does not have the action, or not all of it",
	Hint: "name the cache of the caller"}

// GetAction makes the input root of an Action in a folder, which exists and is empty.
func (c *Cache) GetAction(ctx context.Context, ref state.BlobRef, folder string) error {
	action := &reapi.Action{}
	if err := c.message(ctx, digestMessage(ref), action); err != nil {
		return err
	}
	return c.writeTree(ctx, action.GetInputRootDigest(), folder, 0)
}

// message reads a message from the store, which is verified by its digest.
func (c *Cache) message(ctx context.Context, d *reapi.Digest, m proto.Message) error {
	ref := refOfMessage(d)
	if ref.Size > maxRecord || !c.Fetch(ctx, []state.BlobRef{ref}) {
		return errNoAction
	}
	data, ok, err := c.o.Local.Blob(ref.Digest)
	if err == nil && !ok {
		err = errNoAction
	}
	if err != nil {
		return err
	}
	return proto.Unmarshal(data, m)
}

// mostDeep is how deep folders of an Action may be.
const mostDeep = 100

func (c *Cache) writeTree(ctx context.Context, d *reapi.Digest, folder string, depth int) error {
	tree := &reapi.Directory{}
	if err := c.message(ctx, d, tree); err != nil {
		return err
	}
	if depth > mostDeep || len(tree.Symlinks) > 0 {
		return errNoAction
	}
	var refs []state.BlobRef
	for _, f := range tree.Files {
		refs = append(refs, refOfMessage(f.GetDigest()))
	}
	if !c.Fetch(ctx, refs) {
		return errNoAction
	}
	for i, f := range tree.Files {
		name, err := below(folder, f.Name)
		if err != nil {
			return err
		}
		if ok, err := c.o.Local.BlobToFile(refs[i].Digest, name); err != nil || !ok {
			return errors.Join(errNoAction, err)
		}
	}
	for _, sub := range tree.Directories {
		name, err := below(folder, sub.Name)
		if err != nil {
			return err
		}
		if err := os.Mkdir(name, 0o755); err != nil {
			return err
		}
		if err := c.writeTree(ctx, sub.Digest, name, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// below returns the path of an entry of a folder. The name comes from others.
func below(folder, name string) (string, error) {
	if name != filepath.Base(name) || !filepath.IsLocal(name) || name == "." {
		return "", errNoAction
	}
	return filepath.Join(folder, name), nil
}

// mostTaskBytes bounds the size of a task.
const mostTaskBytes = 64 << 20

// ReadTask reads the task of an input root.
func ReadTask(folder string) (*Task, error) {
	f, err := os.Open(filepath.Join(folder, taskFile))
	if err != nil {
		return nil, &state.Error{Code: CodeNoAction, Message: "this folder is no input root of an action", Err: err,
			Hint: "name an action, or leave it to the caller to call execute"}
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, mostTaskBytes))
	if err != nil {
		return nil, err
	}
	task := &Task{}
	if err := state.Decode(data, task); err != nil {
		return nil, fmt.Errorf("%s: %w", f.Name(), err)
	}
	return task, nil
}
