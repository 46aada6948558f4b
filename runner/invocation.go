package runner

import (
	"io"
	"os"
	"path/filepath"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/state"
)

// Invocation is what a program is started with, besides its environment. Its parts are inputs: a node that looks at the
// arguments reads the key conf:argv, and one that reads the standard input reads the part that it looked at
// (stdin:FROM-TO) and its start position (conf:stdin), and writes its end position.
type Invocation struct {
	Arguments []string     `cbor:"args,omitempty"`  // without the program's name
	Stdin     state.Digest `cbor:"stdin,omitempty"` // content of the standard input; "" means that it is empty
	StdinFile string       `cbor:"-"`               // a file with that content; "" means that the store has it
}

// Keys of what a program was started with.
const (
	argumentsKey   depgraph.Key = "conf:argv" // without the program's name, which is conf:argv0
	programNameKey depgraph.Key = "conf:argv0"
	positionKey    depgraph.Key = "conf:stdin" // in the standard input
)

// started reports whether a key is of the arguments or of the position in the standard input.
func started(k depgraph.Key) bool {
	return k == argumentsKey || k == programNameKey || k == positionKey
}

// CodeNoStdin is the code of errors about a standard input of which the store lacks the content.
const CodeNoStdin state.Code = "stdin-lost"

// content returns the standard input, as far as there is one.
func (in Invocation) content(store *state.Store) []byte {
	if in.StdinFile != "" {
		data, _ := os.ReadFile(in.StdinFile) // if it is gone, a run cannot start a kernel
		return data
	}
	if in.Stdin == "" {
		return nil
	}
	r, ok, err := store.OpenBlob(in.Stdin)
	if err != nil || !ok {
		return nil
	}
	defer r.Close()
	data, err := io.ReadAll(r)
	if err != nil {
		return nil
	}
	return data
}

// spool writes the standard input to a file in a folder, and returns the file; "" where the input is empty.
func (in Invocation) spool(store *state.Store, folder string) (string, error) {
	if in.Stdin == "" {
		return "", nil
	}
	path := filepath.Join(folder, "stdin")
	if ok, err := store.BlobToFile(in.Stdin, path); ok || err != nil {
		return path, err
	}
	return "", &state.Error{
		Code:    CodeNoStdin,
		Message: "the store does not have the standard input of the program",
		Hint:    "`xstate run FILE --stdin FILE` gives it again",
	}
}
