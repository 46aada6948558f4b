package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
)

const (
	protoFile      = "api/xstate/v1/documents.proto"
	pythonFile     = "clients/python/src/xstate_engine/documents.py"
	typeScriptFile = "clients/typescript/src/documents.ts"
)

func main() {
	if err := generate(); err != nil {
		fmt.Fprintln(os.Stderr, "messages:", err)
		os.Exit(1)
	}
}

// generate writes the files anew, the first with the numbers that it has.
func generate() error {
	all, err := servedMessages()
	if err != nil {
		return err
	}
	return errors.Join(
		write(protoFile, all.File),
		write(pythonFile, func([]byte) []byte { return all.Python() }),
		write(typeScriptFile, func([]byte) []byte { return all.TypeScript() }),
	)
}

// write changes a file if its text is not what make returns.
func write(name string, make func(present []byte) []byte) error {
	present, err := os.ReadFile(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if text := make(present); !bytes.Equal(text, present) {
		return os.WriteFile(name, text, 0o644)
	}
	return nil
}
