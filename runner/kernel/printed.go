package kernel

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
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

// Watch keeps the files of the output streams within bounds until done is closed. It looks at them once in every; a
// shorter interval costs more.
func (p *Process) Watch(every time.Duration, done <-chan struct{}) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-done:
			return
		case <-tick.C:
		}
		for _, f := range p.printed {
			if info, err := f.file.Stat(); err == nil && info.Size() > printedLimit {
				_ = f.file.Truncate(printedKeep) // or the next tick tries again
			}
		}
	}
}

// Begin forgets what was printed before the node that is about to run.
func (p *Process) Begin() {
	for _, f := range p.printed {
		f.sent = 0
	}
}

// Sent notes that the interpreter has sent what the file of a stream holds, up to a byte.
func (p *Process) Sent(stream string, upto int64) {
	for _, f := range p.printed {
		if f.stream == stream {
			f.sent = upto
		}
	}
}

// Unsent returns what a dead interpreter had printed and not sent. have is what came before.
func (p *Process) Unsent(have []Output) []Output {
	var left []Output
	for _, f := range p.printed {
		if o, ok := f.unsent(have); ok {
			left = append(left, o)
		}
	}
	return left
}

func (p *printed) unsent(have []Output) (Output, bool) {
	left := outputChars
	for _, o := range have {
		if o.Kind == p.stream {
			left -= len(o.Text)
		}
	}
	data, err := io.ReadAll(io.NewSectionReader(p.file, p.sent, printedLimit))
	if err != nil || len(data) == 0 || left <= 0 {
		return Output{}, false
	}
	text := strings.ToValidUTF8(string(data), "\uFFFD")
	if len(text) > left {
		text = strings.ToValidUTF8(text[:left], "") + outputCut
	}
	return Output{Kind: p.stream, Text: text}, true
}
