package kernel

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/xstate-engine/xstate/state"
)

// printed is the file behind one of the interpreter's output streams. The interpreter sends what the file holds for as
// long as it lives. A child process or native code may write to the file without end.
type printed struct {
	stream string
	file   *os.File
	sent   int64 // bytes that came as events
}

const (
	// printedKeep is more than the driver sends of one stream of one node, so that the driver sees that there is more.
	printedKeep  = 17 << 20 // bytes
	printedLimit = 32 << 20 // bytes: a file that grows past this is cut
	outputCut    = "\n[xstate: output cut here]\n"
	outputChars  = 4 << 20 // characters kept of one stream of one node; equal to the driver's LIMIT
)

// newPrinted makes the files of stdout and stderr.
func newPrinted(folder string) (both [2]*printed, err error) {
	for i, stream := range []string{"stdout", "stderr"} {
		f, err := os.OpenFile(filepath.Join(folder, stream), os.O_RDWR|os.O_CREATE|os.O_TRUNC|os.O_APPEND, 0o600)
		if err != nil {
			return both, fmt.Errorf("make a file for what the program prints: %w", err)
		}
		both[i] = &printed{stream: stream, file: f}
	}
	return both, nil
}

// unsent returns what the stream holds and the interpreter did not send.
func (p *printed) unsent(have []state.Output) (state.Output, bool) {
	left := outputChars
	for _, o := range have {
		if o.Kind == p.stream {
			left -= len(o.Text)
		}
	}
	data, err := io.ReadAll(io.NewSectionReader(p.file, p.sent, printedLimit))
	if err != nil || len(data) == 0 || left <= 0 {
		return state.Output{}, false
	}
	text := strings.ToValidUTF8(string(data), "\uFFFD")
	if len(text) > left {
		text = strings.ToValidUTF8(text[:left], "") + outputCut
	}
	return state.Output{Kind: p.stream, Text: text}, true
}
