package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/xstate-engine/xstate/runner/journal"
	"github.com/xstate-engine/xstate/runner/sandbox/policy"
	"github.com/xstate-engine/xstate/state"
)

// notSent is an error about a call that surely did not reach its tool.
type notSent struct{ error }

func (n notSent) Unwrap() []error { return []error{n.error, journal.ErrNotSent} }

// expand returns headers with the values of secrets.
func expand(headers map[string]string, o *Options) (http.Header, error) {
	full := http.Header{}
	for name, value := range headers {
		text, err := policy.Expand(value, o.getenv)
		if err != nil {
			return nil, &state.Error{Code: journal.CodeLost, Message: fmt.Sprintf("the header %s: %v", name, err),
				Hint: "set it in the environment of xstate"}
		}
		full.Set(name, strings.TrimSpace(text))
	}
	return full, nil
}

// headerClient is a client that adds headers to what it sends to the host of an address. No redirect takes them
// elsewhere. heard reads along, if it is not nil.
func headerClient(address string, headers http.Header, heard *orders) *http.Client {
	host := ""
	if u, err := url.Parse(address); err == nil {
		host = u.Scheme + "://" + u.Host
	}
	return &http.Client{Transport: &withHeaders{host, headers, heard}}
}

type withHeaders struct {
	host    string
	headers http.Header
	heard   *orders
}

func (w *withHeaders) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Scheme+"://"+r.URL.Host == w.host {
		r = r.Clone(r.Context())
		for name := range w.headers {
			r.Header.Set(name, w.headers.Get(name))
		}
	}
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	events := strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream")
	if !events {
		resp.Body = &limited{resp.Body, frameLimit}
	}
	if w.heard != nil && w.heard.listens() {
		resp.Body = w.heard.along(resp.Body)
	}
	if w.heard != nil {
		resp.Body = verbatim(resp.Body, !events, false)
	}
	return resp, nil
}

// limited is a body that fails if it is too long.
type limited struct {
	io.ReadCloser
	left int64
}

func (l *limited) Read(p []byte) (int, error) {
	if l.left <= 0 {
		return 0, tooLong()
	}
	n, err := l.ReadCloser.Read(p[:min(int64(len(p)), l.left)])
	l.left -= int64(n)
	return n, err
}

func tooLong() error {
	return &state.Error{Code: journal.CodeResult, Hint: "let the tool write a file, and return its name",
		Message: fmt.Sprintf("the answer has more than %d bytes", journal.MaxResult)}
}

// Bounds of repeated requests.
const (
	tries    = 5
	longest  = time.Minute // a single wait
	shortest = 500 * time.Millisecond
)

// again says which failed requests may be sent again.
type again int

const (
	ifUnsent again = iota // what surely had no effect
	always                // everything that may pass
)

// send sends a request, and sends it again where that may help, within the time of ctx. The caller closes the body.
// build makes the request each time.
func send(ctx context.Context, o *Options, client *http.Client, may again,
	build func() (*http.Request, error),
) (*http.Response, error) {
	for try := 1; ; try++ {
		r, err := build()
		if err != nil {
			return nil, notSent{err}
		}
		resp, err := client.Do(r.WithContext(ctx))
		if err == nil && !passes(resp, may) {
			return resp, nil
		}
		delay := time.Duration(float64(shortest<<(try-1)) * (0.75 + rand.Float64()/2))
		if err == nil {
			err = statusError(resp)
			if d, ok := retryAfter(resp); ok {
				delay = d
			}
			drop(resp)
		} else if err = failure(ctx, err); may != always && !errors.Is(err, journal.ErrNotSent) {
			return nil, err
		}
		deadline, bounded := ctx.Deadline()
		if ctx.Err() != nil || try == tries || delay > longest || bounded && time.Until(deadline) < delay {
			return nil, err
		}
		if waited := o.Wait(ctx, delay); waited != nil {
			return nil, err
		}
	}
}

// passes reports whether an answer says that another time may do.
func passes(resp *http.Response, may again) bool {
	switch code := resp.StatusCode; {
	case code == http.StatusTooManyRequests:
		return true
	case code == http.StatusServiceUnavailable && resp.Header.Get("Retry-After") != "":
		return true
	default:
		return may == always && (code >= 500 || code == http.StatusRequestTimeout)
	}
}

// statusError is the error of an answer that is none.
func statusError(resp *http.Response) error {
	body, _ := io.ReadAll(io.LimitReader(resp.Body, 2000))
	text := strings.Join(strings.Fields(strings.ToValidUTF8(string(body), "")), " ")
	err := fmt.Errorf("the answer is %s: %s", resp.Status, text)
	if text == "" {
		err = fmt.Errorf("the answer is %s", resp.Status)
	}
	if resp.StatusCode == http.StatusTooManyRequests { // it was not dealt with
		return notSent{err}
	}
	return err
}

// retryAfter is how long an answer asks to wait (RFC 9110, 10.2.3).
func retryAfter(resp *http.Response) (time.Duration, bool) {
	text := resp.Header.Get("Retry-After")
	if n, err := strconv.ParseInt(text, 10, 32); err == nil && n >= 0 {
		return time.Duration(n) * time.Second, true
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(0, time.Until(at)), true
	}
	return 0, false
}

// failure is the error of a request without an answer. It does not have the address: its query may hold a secret.
func failure(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	var about *url.Error
	if errors.As(err, &about) {
		err = about.Err
	}
	var network *net.OpError
	var name *net.DNSError
	if errors.As(err, &network) && network.Op == "dial" || errors.As(err, &name) {
		return notSent{err}
	}
	return err
}

// drop reads what is left of a small body, so that the connection can be used again, and closes it.
func drop(resp *http.Response) {
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 64<<10))
	_ = resp.Body.Close()
}

// readAll reads a body of at most the size of a result.
func readAll(body io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(body, journal.MaxResult+1))
	if err == nil && len(data) > journal.MaxResult {
		err = tooLong()
	}
	return data, err
}
