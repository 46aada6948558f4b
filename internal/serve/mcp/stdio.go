package mcp

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"sync"
)

// maxMessage is the longest message that a client may send over standard input, in bytes.
const maxMessage = 64 << 20

// shared is a writer of whole messages for several goroutines.
type shared struct {
	mu sync.Mutex
	w  io.Writer
}

func (s *shared) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.w.Write(p)
}

// Close does nothing: the process's standard output stays open.
func (s *shared) Close() error { return nil }

// messages passes on the lines of in that are JSON. Another line gets an error as its answer. Without this one wrong
// line would end the session, and the kernels with it.
func messages(in io.Reader, answers io.Writer) io.ReadCloser {
	r, w := io.Pipe()
	go func() {
		lines := bufio.NewReader(in)
		for {
			line, err := readLine(lines)
			switch {
			case errors.Is(err, bufio.ErrTooLong):
				refuse(answers, "the message is too long")
				continue
			case len(line) > 0 && !json.Valid(line):
				refuse(answers, "parse error: the line is no JSON")
			case len(line) > 0:
				if _, bad := w.Write(append(line, '\n')); bad != nil {
					return
				}
			}
			if err != nil {
				w.CloseWithError(err)
				return
			}
		}
	}()
	return r
}

// readLine reads a line without its end. Of one that is too long it reads all and keeps nothing.
func readLine(r *bufio.Reader) (line []byte, err error) {
	for n := 0; ; {
		part, more, err := r.ReadLine()
		if err != nil {
			return line, err
		}
		if n += len(part); n <= maxMessage {
			line = append(line, part...)
		} else {
			line = nil
		}
		if more {
			continue
		}
		if n > maxMessage {
			return nil, bufio.ErrTooLong
		}
		return line, nil
	}
}

// refuse answers a line that is no message, as JSON-RPC says.
func refuse(w io.Writer, message string) {
	answer, err := json.Marshal(map[string]any{
		"jsonrpc": "2.0", "id": nil, "error": map[string]any{"code": -32700, "message": message},
	})
	if err == nil {
		_, _ = w.Write(append(answer, '\n')) // a client that is gone closes in, too
	}
}
