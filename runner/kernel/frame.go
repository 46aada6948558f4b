package kernel

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"os"
)

// A frame is 4 bytes header length, 8 bytes body length (both big-endian), a JSON header, a body of raw bytes.
// The other half is python/xstate_kernel/ground/frames.py for Python.

// maxHeader bounds what a frame may claim, so that a garbled one is an error and not an allocation.
const (
	maxHeader = 256 << 20
	maxBody   = 1 << 32
)

func writeFrame(w io.Writer, header any, body []byte) error {
	text, err := json.Marshal(header)
	if err != nil {
		return fmt.Errorf("encode frame: %w", err)
	}
	if Debugged("kernel") {
		fmt.Fprintf(os.Stderr, "xstate: to the kernel: %s and %d bytes\n", text, len(body))
	}
	return writeText(w, text, body)
}

// writeText writes a frame whose header is a text in JSON.
func writeText(w io.Writer, text, body []byte) error {
	frame := make([]byte, 12, 12+len(text)+len(body))
	binary.BigEndian.PutUint32(frame, uint32(len(text)))
	binary.BigEndian.PutUint64(frame[4:], uint64(len(body)))
	frame = append(frame, text...)
	frame = append(frame, body...)
	_, err := w.Write(frame)
	return err
}

func readFrame(r io.Reader) (header json.RawMessage, body []byte, err error) {
	var prefix [12]byte
	if _, err := io.ReadFull(r, prefix[:]); err != nil {
		return nil, nil, err
	}
	n, m := binary.BigEndian.Uint32(prefix[:]), binary.BigEndian.Uint64(prefix[4:])
	if n > maxHeader || m > maxBody {
		return nil, nil, fmt.Errorf("garbled frame: it claims %d and %d bytes", n, m)
	}
	header = make([]byte, n)
	if _, err := io.ReadFull(r, header); err != nil {
		return nil, nil, fmt.Errorf("frame header: %w", err)
	}
	if m > 0 {
		body = make([]byte, m)
		if _, err := io.ReadFull(r, body); err != nil {
			return nil, nil, fmt.Errorf("frame body: %w", err)
		}
	}
	return header, body, nil
}
