package source

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/xstate-engine/xstate/runner/journal"
)

// readStream reads an answer that comes as server-sent events (WHATWG HTML, 9.2), and hands on the text as it comes.
func readStream(body io.Reader, api provider, onPiece func(string)) (r reply, err error) {
	lines := bufio.NewReaderSize(&limited{io.NopCloser(body), journal.MaxResult}, 64<<10)
	var data []byte
	for {
		line, err := lines.ReadBytes('\n')
		if len(bytes.TrimSpace(line)) > 0 {
			if field, value, _ := bytes.Cut(bytes.TrimRight(line, "\r\n"), []byte(":")); string(field) == "data" {
				data = append(append(data, bytes.TrimPrefix(value, []byte(" "))...), '\n')
			}
		} else if len(data) > 0 { // an empty line ends an event
			piece, err := api.event(bytes.TrimSpace(data), &r)
			if err != nil {
				return r, err
			}
			if data = data[:0]; piece != "" {
				r.text += piece
				onPiece(piece)
			}
		}
		switch {
		case r.ended:
			return r, nil
		case errors.Is(err, io.EOF):
			return r, fmt.Errorf("the stream broke off after %d bytes of text", len(r.text))
		case err != nil:
			return r, err
		}
	}
}
