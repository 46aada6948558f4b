package source

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"

	"github.com/xstate-engine/xstate/runner/journal"
)

// The library hands out the structured content of a result as maps and floats. So 1.0 became 1, whole numbers beyond
// 2^53 others, and members lost their order. A verbatim reader passes the messages of a server on and writes
// structured content as a text in an object of one member, which the library leaves as it is.

// verbatimMember is the name of that member.
const verbatimMember = "xstate.verbatim"

// frameLimit bounds a message of a server: a result of the greatest size, quoted once more, with what is around it.
const frameLimit = 2*journal.MaxResult + 1<<20

// verbatimLimit bounds a message of a server after that: its quotes and backslashes are escaped once more.
const verbatimLimit = 2 * frameLimit

// maxNoise bounds the lines between two messages that are left out, in bytes. A server that writes more is none.
const maxNoise = 1 << 20

// verbatim returns a reader of messages, each on a separate line, after "data:" or not. If whole is set, the reader has
// one message, on any number of lines. If clean is set, lines that begin no message are left out: many servers greet on
// their standard output, and other clients pass that over.
func verbatim(from io.ReadCloser, whole, clean bool) io.ReadCloser {
	return &verbatimReader{Closer: from, from: bufio.NewReaderSize(from, 64<<10), whole: whole, clean: clean}
}

type verbatimReader struct {
	io.Closer
	from         *bufio.Reader
	whole, clean bool
	noise        int    // bytes left out since the last message
	left         []byte // to be read
	err          error  // after that
}

func (v *verbatimReader) Read(p []byte) (int, error) {
	for len(v.left) == 0 && v.err == nil {
		v.next()
	}
	if len(v.left) == 0 {
		return 0, v.err
	}
	n := copy(p, v.left)
	v.left = v.left[n:]
	return n, nil
}

// next takes the next line. One beyond the limit is passed on in pieces, for the library to refuse.
func (v *verbatimReader) next() {
	var line []byte
	for {
		piece, err := v.from.ReadSlice('\n')
		line = append(line, piece...)
		v.err = err
		if errors.Is(err, bufio.ErrBufferFull) {
			v.err = nil
		}
		if v.err != nil || err == nil && !v.whole || len(line) > frameLimit {
			break
		}
	}
	v.left = line
	if !v.clean || isMessage(line) {
		v.noise = 0
	} else if v.noise += len(line); v.noise <= maxNoise {
		v.left = nil
		return
	}
	if bytes.Contains(line, []byte(`"structuredContent"`)) {
		v.left = quoteStructured(line)
	}
}

// isMessage reports whether a line is a message. Of a long line the beginning decides.
func isMessage(line []byte) bool {
	line = bytes.TrimSpace(line)
	return len(line) > 0 && (line[0] == '{' || line[0] == '[') &&
		(len(line) > 64<<10 || bytes.Contains(line, []byte(`"jsonrpc"`)) && json.Valid(line))
}

// quoteStructured returns a message with its structured content as a text. Any other line stays as it is.
func quoteStructured(line []byte) []byte {
	text := bytes.TrimLeft(bytes.TrimPrefix(bytes.TrimSpace(line), []byte("data:")), " ")
	var message, result map[string]json.RawMessage
	if json.Unmarshal(text, &message) != nil || json.Unmarshal(message["result"], &result) != nil ||
		result["structuredContent"] == nil || string(result["structuredContent"]) == "null" {
		return line
	}
	var err error
	if result["structuredContent"], err = json.Marshal(
		map[string]string{verbatimMember: string(result["structuredContent"])}); err != nil {
		return line
	}
	if message["result"], err = json.Marshal(result); err != nil {
		return line
	}
	written, err := json.Marshal(message)
	if err != nil {
		return line
	}
	at := bytes.Index(line, text)
	return append(append(bytes.Clone(line[:at]), written...), line[at+len(text):]...)
}

// structuredOf returns structured content as the server wrote it.
func structuredOf(content any) any {
	if m, ok := content.(map[string]any); ok && len(m) == 1 {
		if text, ok := m[verbatimMember].(string); ok && json.Valid([]byte(text)) {
			return json.RawMessage(text)
		}
	}
	return content
}
