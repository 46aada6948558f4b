package mcp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"sync"
)

// maxMessage is the longest message that a client may send over standard input, in bytes.
const maxMessage = 64 << 20

// shared is a writer of whole messages for several goroutines. The answer to a request that the client has cancelled is
// left out: the protocol wants none.
type shared struct {
	mu        sync.Mutex
	w         io.Writer
	requested map[string]bool // ids of requests without an answer → whether it was cancelled
	batches   bool            // the client speaks the one version of the protocol that has them
}

func (s *shared) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cancelled(p) {
		return len(p), nil
	}
	return s.w.Write(p)
}

// message is what counts here of a message of JSON-RPC.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		RequestID json.RawMessage `json:"requestId"`
		Version   string          `json:"protocolVersion"`
	} `json:"params"`
}

// cancelled reports whether a message answers a request that was cancelled.
func (s *shared) cancelled(p []byte) bool {
	var m message
	if len(s.requested) == 0 || json.Unmarshal(p, &m) != nil || m.Method != "" {
		return false
	}
	was := s.requested[string(m.ID)]
	delete(s.requested, string(m.ID))
	return was
}

// follow notes what a message of the client asks for. It returns why the message is none; "": it is one.
func (s *shared) follow(line []byte) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if line = bytes.TrimSpace(line); line[0] == '[' && s.batches {
		return ""
	}
	var m message
	if line[0] != '{' {
		return "invalid request: a message is an object; this version of the protocol has no batches"
	}
	if json.Unmarshal(line, &m) != nil {
		return "" // a message with wrong types, which the protocol answers
	}
	switch {
	case m.Method == "initialize":
		s.batches = m.Params.Version == "2025-03-26"
	case m.Method == "notifications/cancelled":
		if _, waits := s.requested[string(m.Params.RequestID)]; waits {
			s.requested[string(m.Params.RequestID)] = true
		}
	}
	if m.Method != "" && len(m.ID) > 0 {
		s.requested[string(m.ID)] = false
	}
	return ""
}

// Close does nothing: the process's standard output stays open.
func (s *shared) Close() error { return nil }

// messages passes on the lines of in that are messages. Another line gets an error as its answer. Without this one
// wrong line would end the session, and the kernels with it.
func messages(in io.Reader, answers *shared) io.ReadCloser {
	r, w := io.Pipe()
	go func() {
		lines := bufio.NewReader(in)
		for {
			line, err := readLine(lines)
			switch {
			case errors.Is(err, bufio.ErrTooLong):
				refuse(answers, notParsed, "the message is too long")
				continue
			case len(line) > 0 && !json.Valid(line):
				refuse(answers, notParsed, "parse error: the line is no JSON")
			case len(line) > 0:
				if why := answers.follow(line); why != "" {
					refuse(answers, notValid, why)
				} else if _, bad := w.Write(append(line, '\n')); bad != nil {
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

// Codes of JSON-RPC.
const (
	notParsed = -32700
	notValid  = -32600
)

// refuse answers a line that is not a message, as JSON-RPC says.
func refuse(w io.Writer, code int, message string) {
	answer, err := json.Marshal(map[string]any{
		"jsonrpc": "2.0", "id": nil, "error": map[string]any{"code": code, "message": message},
	})
	if err == nil {
		_, _ = w.Write(append(answer, '\n')) // a client that is gone closes in, too
	}
}
