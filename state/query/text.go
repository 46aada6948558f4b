package query

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/xstate-engine/xstate/patch"
	"github.com/xstate-engine/xstate/state"
)

// Text returns the program after step n as a file. data is the present content of the file: Text keeps what it holds
// besides code. Without data, Text writes a new file of the kind that name implies.
func (h *History) Text(ctx context.Context, n state.StepNumber, name string, data []byte) ([]byte, error) {
	blocks, err := h.ProgramAt(ctx, n)
	if err != nil {
		return nil, err
	}
	return h.TextOf(ctx, PatchBlocks(blocks), name, data)
}

// TextOf is Text for a program that is not recorded as a step yet.
func (h *History) TextOf(ctx context.Context, blocks []patch.Block, name string, data []byte) ([]byte, error) {
	blocks = patch.InFile(blocks)
	if len(blocks) == 0 { // it could not be read again
		return nil, &state.Error{
			Code:    state.Code(patch.CodeEmpty),
			Message: "the program has no block then, and a file without code is none",
			Hint:    "`xstate log` lists the steps; with `--keep-file` the file stays as it is",
		}
	}
	if data == nil {
		kind, err := FileKind(name)
		if err != nil {
			return nil, err
		}
		if err := patch.CheckFile(name, blocks); err != nil {
			return nil, err
		}
		return patch.New(kind, blocks, nil)
	}
	file, err := patch.Parse(name, data)
	if err != nil {
		return nil, err
	}
	now, _, err := h.Blocks(ctx)
	if err != nil {
		return nil, err
	}
	return file.With(patch.Identify(patch.InFile(now), file.Blocks), blocks)
}

// FileKind returns the kind of file that a program is written as.
func FileKind(name string) (patch.Kind, error) {
	if _, ok := patch.FileDialect(name, nil); ok {
		return patch.KindCells, nil
	}
	switch strings.ToLower(filepath.Ext(name)) {
	case ".ipynb":
		return patch.KindNotebook, nil
	case ".md", ".markdown":
		return patch.KindMarkdown, nil
	}
	return "", &state.Error{
		Code:    state.Code(patch.CodeUnsupported),
		Message: fmt.Sprintf("a program cannot be written as %s", name),
		Hint:    "name " + patch.FileKinds(),
	}
}

// Unrecorded returns how a file differs from the present program of the session.
func (h *History) Unrecorded(ctx context.Context, name string, data []byte) ([]patch.Edit, error) {
	file, err := patch.Parse(name, data)
	if err != nil {
		return nil, err
	}
	now, _, err := h.Blocks(ctx)
	if err != nil {
		return nil, err
	}
	return patch.Match(patch.InFile(now), file.Blocks), nil
}

// Short returns the first 12 digits of a digest.
func Short(d state.Digest) string { return string(d[:min(12, len(d))]) }
