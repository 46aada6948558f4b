package web

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/xstate-engine/xstate/runner/journal"
	"github.com/xstate-engine/xstate/runner/kernel"
	"github.com/xstate-engine/xstate/runner/sandbox/proxy"
)

// MaxBody bounds what is recorded of a request or an answer, in bytes. A larger one passes, and counts as the network.
const MaxBody = 32 << 20

// live is a request that a program makes and waits for. The call of the journal finds it in its context: what says who
// asks must not be among the arguments.
type live struct {
	w       http.ResponseWriter
	request *http.Request
	body    []byte
	up      proxy.Upstream

	mu    sync.Mutex // held while the source has the writer
	began bool       // the program has the head of the answer, and the body as far as it came
	whole bool       // the program has all of an answer that is not recorded
	lost  *Answer    // that does not count
	err   error
}

type liveKey struct{}

// passOn sends a request on that is too large to be recorded.
func passOn(w http.ResponseWriter, r *http.Request, body io.Reader, up proxy.Upstream) {
	up.Pass(r.URL.Host)
	length := r.ContentLength
	r = r.Clone(r.Context())
	r.RequestURI, r.Header, r.Body, r.ContentLength = "", onward(r.Header), io.NopCloser(body), length
	reply, err := up.RoundTrip(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer reply.Body.Close()
	for name, values := range reply.Header {
		w.Header()[name] = values
	}
	for _, name := range hop {
		w.Header().Del(name)
	}
	w.WriteHeader(reply.StatusCode)
	_, _ = io.Copy(w, reply.Body)
}

// broken says why no answer came. A request that did not reach the server did not happen.
func (l *live) broken(err error) error {
	var dial *net.OpError
	if proxy.Denied(err) || errors.As(err, &dial) && dial.Op == "dial" || isLookup(err) {
		return fmt.Errorf("%w: %w", journal.ErrNotSent, err)
	}
	return err
}

func isLookup(err error) bool {
	var lookup *net.DNSError
	return errors.As(err, &lookup)
}

// receive reads the body of an answer. One that is streamed goes to the program as it comes.
func (l *live) receive(reply *http.Response, answer *Answer, key []byte) error {
	streamed := reply.ContentLength < 0 && reply.Request.Method != http.MethodHead || isStream(reply)
	if streamed {
		if err := answer.head(l.w, key); err != nil {
			return err
		}
		l.began = true
	}
	var kept []byte
	buffer := make([]byte, 32<<10)
	for {
		n, err := reply.Body.Read(buffer)
		if kept = append(kept, buffer[:n]...); len(kept) > MaxBody && !l.began {
			if err := answer.head(l.w, key); err != nil {
				return err
			}
			l.began = true
			l.push(kept)
		} else if l.began && n > 0 {
			l.push(buffer[:n])
		}
		if len(kept) > MaxBody {
			l.up.Pass(l.request.URL.Host)
			_, err := io.Copy(l.w, reply.Body)
			l.whole = err == nil
			return fmt.Errorf("the answer has more than %d bytes, so it is not recorded", MaxBody)
		}
		if err == io.EOF {
			answer.Body = bodyOf(kept)
			return nil
		}
		if err != nil {
			return fmt.Errorf("the answer broke off after %d bytes: %w", len(kept), err)
		}
	}
}

func isStream(reply *http.Response) bool {
	kind, _, _ := mime.ParseMediaType(reply.Header.Get("Content-Type"))
	return kind == "text/event-stream"
}

// push gives the program a part of a body.
func (l *live) push(part []byte) {
	c := http.NewResponseController(l.w)
	_ = c.SetWriteDeadline(time.Now().Add(patience))
	_, _ = l.w.Write(part) // where the program went away, the context ends
	_ = c.Flush()
}

// patience is how long a program may leave a part unread. The rest is then read for the record alone: the program's
// code may have ended.
const patience = 30 * time.Second

// finish gives the program the outcome of the call.
func (l *live) finish(reply kernel.CallReply, key []byte) {
	switch {
	case l.whole, reply.Error == nil && l.began:
	case reply.Error == nil:
		l.serve(reply.Result, key)
	case reply.Suspended:
		l.say(http.StatusServiceUnavailable, reply)
	case l.lost != nil && l.began: // the program has it already
	case l.lost != nil:
		l.write(l.lost, key)
	case reply.Error.Code == journal.CodeDenied || proxy.Denied(l.err):
		l.say(http.StatusForbidden, reply)
	case reply.Error.Code == journal.CodeRefused: // a person said so
		l.say(http.StatusFailedDependency, reply)
	case l.err != nil || l.began: // as it came to us
		panic(http.ErrAbortHandler)
	default:
		l.say(http.StatusServiceUnavailable, reply)
	}
}

// serve writes a recorded answer. A person may have said in other words what the server returned.
func (l *live) serve(result json.RawMessage, key []byte) {
	var answer Answer
	if json.Unmarshal(result, &answer) != nil || answer.Status < 100 || answer.Status > 999 {
		text := string(result)
		answer = Answer{Status: http.StatusOK, Headers: map[string][]string{"content-type": {"application/json"}},
			Body: &Body{Text: &text}}
	}
	l.write(&answer, key)
}

func (l *live) write(answer *Answer, key []byte) {
	if err := answer.head(l.w, key); err != nil {
		http.Error(l.w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	_, _ = l.w.Write(answer.Body.Bytes())
}

// say answers the program with the reason why the server's answer is missing.
func (l *live) say(status int, reply kernel.CallReply) {
	text := "xstate: " + reply.Error.Message
	if reply.Error.Hint != "" {
		text += "\n" + reply.Error.Hint
	}
	if l.began {
		panic(http.ErrAbortHandler)
	}
	http.Error(l.w, text, status)
}
