package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
)

func main() {
	if err := generate("api/xstate/v1/documents.proto"); err != nil {
		fmt.Fprintln(os.Stderr, "messages:", err)
		os.Exit(1)
	}
}

// generate writes the file anew, with the numbers that it has.
func generate(name string) error {
	present, err := os.ReadFile(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	text, err := File(present)
	if err != nil || bytes.Equal(text, present) {
		return err
	}
	return os.WriteFile(name, text, 0o644)
}
