package artifact

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"

	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/query"
)

// digestFile returns the digest of what a file holds, as traces have it. A folder is none.
func digestFile(path string) (state.Digest, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "", &state.Error{
			Code:    state.CodeInvalid,
			Message: fmt.Sprintf("%s is no file, but a folder or the like", path),
			Hint:    "name the files in it, such as " + filepath.Base(path) + "/*",
		}
	}
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // which a pipe would make wait
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return state.Digest(hex.EncodeToString(h.Sum(nil))), nil
}

func NoArtifact(h *query.History, declared *state.Declaration, name string) error {
	names := Names(declared)
	e := &state.Error{
		Code:    CodeNoArtifact,
		Message: fmt.Sprintf("session %q has no artifact %q", h.Name(), name),
		Hint:    "`xstate artifact declare NAME --kind KIND BLOCK|FILE…` declares one",
	}
	if len(names) > 0 {
		e.Hint = query.DidYouMean(name, names) + "its artifacts are: " + query.Shorten(names)
	}
	return e
}

func Names(d *state.Declaration) []string {
	var names []string
	if d != nil {
		for _, a := range d.All {
			names = append(names, a.Name)
		}
	}
	return names
}

// CodeNoArtifact is the code of errors about an artifact that is not declared.
const CodeNoArtifact state.Code = "no-artifact"
