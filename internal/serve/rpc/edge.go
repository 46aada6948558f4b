package rpc

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/xstate-engine/xstate/internal/api"
)

// maxBody is the largest request.
const maxBody = 16 << 20

// readable refuses requests that no method can read, with a code and a hint.
func readable(next http.Handler) http.Handler {
	errorWriter := connect.NewErrorWriter()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if f := unreadable(r); f != nil {
			_ = errorWriter.Write(w, r, f.asError()) // the client is gone
			return
		}
		next.ServeHTTP(w, r)
	})
}

// unreadable says why no method can read a request; nil if one can.
func unreadable(r *http.Request) *failure {
	m := methods()[r.URL.Path]
	switch {
	case m == nil:
		return fail(api.CodeNoMethod, "paths are /xstate.v1.SERVICE/METHOD; docs/api.md lists them",
			"there is no method %q", r.URL.Path)
	case r.Method == http.MethodGet && reads(m):
		if q := r.URL.Query(); !q.Has("encoding") || !q.Has("message") {
			return misused(errors.New(`GET needs the parameters encoding and message: ?encoding=json&message={}`))
		}
		return nil
	case r.Method != http.MethodPost:
		return misused(fmt.Errorf("%s takes POST, not %s", m.Name(), r.Method))
	}
	if e := r.Header.Get("Content-Encoding"); e != "" && e != "identity" {
		return misused(fmt.Errorf("the body is compressed (%.40q), and nothing compressed is read here", e))
	}
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if kinds := kindsOf(m); !slices.Contains(kinds, kind) {
		return misused(fmt.Errorf("%s takes content of the type %s, not %.80q",
			m.Name(), strings.Join(kinds[:2], " or "), r.Header.Get("Content-Type")))
	}
	if r.ContentLength > maxBody {
		return tooLarge()
	}
	return nil
}

func kindsOf(m protoreflect.MethodDescriptor) []string {
	kinds := []string{"application/json", "application/proto"}
	if m.IsStreamingServer() {
		kinds = []string{"application/connect+json", "application/connect+proto"}
	}
	for _, protocol := range []string{"application/grpc", "application/grpc-web"} {
		kinds = append(kinds, protocol, protocol+"+proto", protocol+"+json")
	}
	return kinds
}

func tooLarge() *failure {
	return fail(api.CodeTooLarge, "write large data into a file of the workspace",
		"the body has more than %d bytes", maxBody)
}

// Bounded bounds what a client costs: it gives up one that neither reads nor writes for the time of patience, and
// bodies that are too large. It must be around all handlers of a server, because a deadline stays with the connection.
func Bounded(next http.Handler, patience time.Duration) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		control := http.NewResponseController(w)
		r = r.WithContext(r.Context()) // a copy
		r.Body = &patientBody{ReadCloser: r.Body, control: control, patience: patience, left: maxBody}
		_ = control.SetWriteDeadline(time.Now().Add(patience))
		next.ServeHTTP(&patientWriter{w, control, patience}, r)
		_ = control.SetWriteDeadline(time.Now().Add(patience)) // for what is still buffered
	})
}

// patientWriter waits for its client for a while at each piece of an answer. So one that stalls holds its call, and the
// memory of one event, no longer.
type patientWriter struct {
	http.ResponseWriter
	control  *http.ResponseController
	patience time.Duration
}

func (w *patientWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *patientWriter) Write(p []byte) (n int, err error) {
	for piece := range slices.Chunk(p, 1<<16) {
		_ = w.control.SetWriteDeadline(time.Now().Add(w.patience)) // not all connections have one
		k, err := w.ResponseWriter.Write(piece)
		if n += k; err != nil {
			return n, err
		}
	}
	return n, nil
}

func (w *patientWriter) Flush() {
	_ = w.control.SetWriteDeadline(time.Now().Add(w.patience))
	_ = w.control.Flush() // the next write reports the error
}

// patientBody reads a body of bounded size. Its errors are those that a client gets.
type patientBody struct {
	io.ReadCloser
	control  *http.ResponseController
	patience time.Duration
	left     int
}

func (b *patientBody) Read(p []byte) (int, error) {
	_ = b.control.SetReadDeadline(time.Now().Add(b.patience))
	n, err := b.ReadCloser.Read(p[:min(len(p), b.left+1)])
	if b.left -= n; b.left < 0 {
		return 0, tooLarge().asError()
	}
	if err != nil { // a deadline that stays would end the call
		_ = b.control.SetReadDeadline(time.Time{})
		if !errors.Is(err, io.EOF) {
			err = misused(fmt.Errorf("the body ends early: %w", err)).asError()
		}
	}
	return n, err
}
