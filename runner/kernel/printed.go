package kernel

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"unicode/utf8"

	"github.com/xstate-engine/xstate/state/output"
)

// Sink takes what a node puts out.
type Sink struct {
	Record func(output.Output) // what belongs to the result, in order
	Show   func(output.Output) // the same text as it happens; nil: no viewer
	End    func(Result)        // how the node ended, after its last output and before what it did is known; may be nil
	Calls  Calls               // answers the program's calls; nil: no tools
}

// show shows a text, and not the first bytes of it, which were shown.
func (s Sink) show(kind, text string, shown int64) {
	if s.Show != nil && shown < int64(len(text)) {
		s.Show(output.Output{Kind: kind, Text: text[max(0, shown):]})
	}
}

// printed is what the interpreter printed and may not have sent: the memory that it shares for the text that its code
// prints, and the files behind its output streams. A child process or native code may write to a file without end.
type printed struct {
	streams [2]source
	shared  source
}

// source is a file that the interpreter prints to. Offsets count the text of the running node.
type source struct {
	file  *os.File
	sent  int64 // bytes that came as events
	shown int64 // bytes that were shown; at least those that were sent
}

const (
	printedKeep  = output.Limit + 1<<20   // bytes: more than is recorded
	printedLimit = 2 * printedKeep        // bytes: a file that grows past this is cut
	sharedHeader = 16                     // bytes: how much text was sent before, and the stream
	sharedSize   = sharedHeader + 256<<10 // bytes
	shownAtOnce  = 64 << 10               // bytes of a file that are shown without being sent
)

var streamNames = [2]string{"stdout", "stderr"}

// newPrinted makes the files of stdout and stderr, and the one that the interpreter maps.
func newPrinted(folder string) (p printed, err error) {
	files := [3]*os.File{}
	for i, name := range []string{"stdout", "stderr", "shared"} {
		path := filepath.Join(folder, name)
		if err = WriteSpooled(path, nil); err == nil {
			files[i], err = EditSpooled(path)
		}
		if err == nil && i < len(p.streams) {
			err = setAppend(files[i])
		}
		if err != nil {
			return p, fmt.Errorf("make a file for what the program prints: %w", err)
		}
	}
	if _, err := files[2].Write(make([]byte, sharedSize)); err != nil { // a hole would kill its writer on a full disk
		return p, fmt.Errorf("make a file for what the program prints: %w", err)
	}
	p.streams[0].file, p.streams[1].file, p.shared.file = files[0], files[1], files[2]
	return p, nil
}

func (p *printed) files() []*os.File {
	return []*os.File{p.streams[0].file, p.streams[1].file, p.shared.file}
}

// begin forgets what was printed before the node that is about to run.
func (p *printed) begin() {
	for _, s := range []*source{&p.streams[0], &p.streams[1], &p.shared} {
		s.sent, s.shown = 0, 0
	}
}

// came takes text that the interpreter has sent, which is in a source up to a byte.
func (p *printed) came(kind string, shared bool, upto int64, data []byte, sink Sink) {
	s := &p.shared
	if !shared {
		s = &p.streams[0]
		if kind == streamNames[1] {
			s = &p.streams[1]
		}
	}
	sink.show(kind, valid(data), s.shown-(upto-int64(len(data))))
	s.sent, s.shown = upto, max(s.shown, upto)
	sink.Record(output.Output{Kind: kind, Text: valid(data)})
}

// look shows what was printed and has neither been sent nor shown.
func (p *printed) look(sink Sink) {
	if sink.Show == nil {
		return
	}
	if kind, text := p.sharedText(); p.shared.sent+int64(len(text)) > p.shared.shown {
		end, _, _ := bytes.Cut(text, []byte{0}) // more may follow a character that is zero, or not be written yet
		end = end[:wholeRunes(end)]
		if again, same := p.sharedText(); again == kind && bytes.HasPrefix(same, end) {
			sink.show(kind, valid(end), p.shared.shown-p.shared.sent)
			p.shared.shown = max(p.shared.shown, p.shared.sent+int64(len(end)))
		}
	}
	for i := range p.streams {
		s := &p.streams[i]
		data := make([]byte, shownAtOnce)
		n, _ := s.file.ReadAt(data, s.shown)
		n = wholeRunes(data[:n])
		sink.show(streamNames[i], valid(data[:n]), 0)
		s.shown += int64(n)
	}
}

// sharedText returns the text in the shared memory that was not sent.
func (p *printed) sharedText() (kind string, text []byte) {
	data := make([]byte, sharedSize)
	if _, err := io.ReadFull(io.NewSectionReader(p.shared.file, 0, sharedSize), data); err != nil {
		return "", nil
	}
	sent, stream := binary.NativeEndian.Uint64(data), binary.NativeEndian.Uint64(data[8:])
	if int64(sent) != p.shared.sent || stream >= uint64(len(streamNames)) {
		return "", nil // it is about to be sent, or an event that has it is on its way
	}
	return streamNames[stream], bytes.TrimRight(data[sharedHeader:], "\x00")
}

// rest takes what a dead interpreter had printed and not sent.
func (p *printed) rest(sink Sink) {
	if kind, text := p.sharedText(); len(text) > 0 {
		p.came(kind, true, p.shared.sent+int64(len(text)), text, sink)
	}
	for i := range p.streams {
		s := &p.streams[i]
		data, err := io.ReadAll(io.NewSectionReader(s.file, s.sent, printedLimit))
		if err == nil && len(data) > 0 {
			p.came(streamNames[i], false, s.sent+int64(len(data)), data, sink)
		}
	}
}

// keepWithin cuts the files that grew too large.
func (p *printed) keepWithin() {
	for _, s := range p.streams {
		if info, err := s.file.Stat(); err == nil && info.Size() > printedLimit {
			_ = s.file.Truncate(printedKeep) // or the next tick tries again
		}
	}
}

// wholeRunes returns the length of a text without the part of a character at its end.
func wholeRunes(text []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(text); n++ {
		if at := len(text) - n; utf8.RuneStart(text[at]) {
			if !utf8.FullRune(text[at:]) {
				return at
			}
			break
		}
	}
	return len(text)
}

// valid returns a text with U+FFFD for each byte that is not part of a character.
func valid(text []byte) string {
	if utf8.Valid(text) {
		return string(text)
	}
	return string([]rune(string(text)))
}
