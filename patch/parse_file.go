package patch

import (
	"bytes"
	"path"
	"slices"
	"strings"
)

// Parse reads a program from the bytes of a file with one of the Extensions. If name has no extension, Parse detects
// the
// kind from the content. A block that does not parse is a block like any other. Errors are *ParseError.
func Parse(name string, data []byte) (*Program, error) {
	p, err := parse(name, data)
	if err != nil {
		err.Name = name
		return nil, err
	}
	return p, nil
}

func parse(name string, data []byte) (*Program, *ParseError) {
	read, err := reader(name, data)
	if err != nil {
		return nil, err
	}
	if err := checkText(data); err != nil {
		return nil, err
	}
	p, err := read(data)
	if err != nil {
		return nil, err
	}
	if len(p.Blocks) == 0 {
		return nil, empty("there is no code in this file")
	}
	p.dropRepeatedIDs()
	return p, nil
}

// reader returns the reader for a file.
func reader(name string, data []byte) (func([]byte) (*Program, *ParseError), *ParseError) {
	ext := strings.ToLower(path.Ext(strings.ReplaceAll(name, `\`, "/")))
	if ext == "" || ext == "."+strings.TrimPrefix(path.Base(name), ".") {
		ext = guess(data)
	}
	switch {
	case slices.Contains(notebookExtensions, ext):
		return readNotebook, nil
	case slices.Contains(markdownExtensions, ext):
		return readMarkdown, nil
	case sourceDialect(ext) != "":
		return func(data []byte) (*Program, *ParseError) { return readSource(data, ext) }, nil
	}
	return nil, unsupported(ext)
}

func unsupported(ext string) *ParseError {
	message := "the file has no extension, and its content is of no known kind"
	if ext != "" {
		message = "no reader for " + ext + " files"
	}
	return &ParseError{Code: CodeUnsupported, Message: message, Hint: "give " + FileKinds()}
}

// guess returns the extension that fits the content, or "".
func guess(data []byte) string {
	first, _, _ := bytes.Cut(data, []byte("\n"))
	switch {
	case bytes.HasPrefix(first, []byte("#!")):
		return interpreted(string(bytes.TrimRight(first, "\r")))
	case bytes.HasPrefix(bytes.TrimSpace(data), []byte("{")) && bytes.Contains(data, []byte(`"nbformat"`)):
		return ".ipynb"
	}
	return ""
}

// IsScript reports whether the content of a source file is a script, a program without cells.
func IsScript(data []byte) bool {
	for line := range bytes.Lines(data) {
		if l, _, ok := anyMarker(bytes.TrimRight(line, "\r\n")); ok { // it may be in a string
			p, err := Parse("a"+variant(string(l.Widest)).Extension(), data)
			return err == nil && p.Kind == KindScript
		}
	}
	return true
}
