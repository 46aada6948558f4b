package source

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/xstate-engine/xstate/runner/journal"
	"github.com/xstate-engine/xstate/runner/sandbox/policy"
)

// api is an HTTP interface that an OpenAPI document describes.
type api struct {
	name   string
	config policy.OpenAPI
	o      Options

	mu         sync.Mutex
	operations map[string]*operation // by the name of the tool
	tools      []journal.Tool
	base       string
	read       stamp
}

// stamp says which state of a document was read.
type stamp struct {
	modified time.Time // a file's
	size     int64
	at       time.Time // when an address was read
}

// documentAge is how long the document of an address is taken to be up to date.
const documentAge = time.Minute

func newAPI(name string, config policy.OpenAPI, o Options) *api {
	return &api{name: name, config: config, o: o}
}

func (a *api) Name() string { return a.name }
func (a *api) Close() error { return nil }

// Connected reports whether the document is known, or lies in a file.
func (a *api) Connected() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return !isAddress(a.config.Document) || a.tools != nil
}

// Tools returns the operations of the document, which it reads again if it changed.
func (a *api) Tools(ctx context.Context) ([]journal.Tool, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now, err := a.stamp()
	if err == nil && now == a.read && a.tools != nil {
		return a.tools, nil
	}
	var data []byte
	if err == nil {
		data, err = a.document(ctx)
	}
	if err == nil {
		err = a.take(data)
	}
	if err != nil {
		return nil, fmt.Errorf("the OpenAPI document of %s: %w", a.name, err)
	}
	a.read = now
	return a.tools, nil
}

// stamp returns the stamp of the document as it is now.
func (a *api) stamp() (stamp, error) {
	if isAddress(a.config.Document) {
		if time.Since(a.read.at) < documentAge {
			return a.read, nil
		}
		return stamp{at: time.Now()}, nil
	}
	info, err := os.Stat(a.config.Document)
	if err != nil {
		return stamp{}, err
	}
	return stamp{modified: info.ModTime(), size: info.Size()}, nil
}

// documentTime bounds the time to get a document.
const documentTime = 30 * time.Second

func (a *api) document(ctx context.Context) ([]byte, error) {
	if !isAddress(a.config.Document) {
		return os.ReadFile(a.config.Document)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, documentTime, fmt.Errorf("no answer within %s", documentTime))
	defer cancel()
	client, err := a.client(http.MethodGet)
	if err != nil {
		return nil, err
	}
	resp, err := send(ctx, &a.o, client, always, func() (*http.Request, error) {
		return http.NewRequest(http.MethodGet, a.config.Document, nil)
	})
	if err != nil {
		return nil, err
	}
	defer drop(resp)
	if resp.StatusCode != http.StatusOK {
		return nil, statusError(resp)
	}
	return readAll(resp.Body)
}

// client is one that sends the headers to the interface's host. A request with effects follows no redirects: they would
// turn it into another request.
func (a *api) client(method string) (*http.Client, error) {
	headers, err := expand(a.config.Headers, &a.o)
	if err != nil {
		return nil, err
	}
	base := a.base
	if a.config.Base != "" {
		base = a.config.Base
	}
	client := headerClient(base, headers, nil)
	if method != http.MethodGet && method != http.MethodHead {
		client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	}
	return client, nil
}

// take makes tools of a document.
func (a *api) take(data []byte) error {
	doc, err := parseDocument(data)
	if err != nil {
		return err
	}
	if a.base, err = doc.base(a.config); err != nil {
		return err
	}
	a.tools, a.operations = []journal.Tool{}, map[string]*operation{}
	for _, op := range doc.operations(a.base) {
		if a.operations[op.tool.Name] != nil {
			return fmt.Errorf("it has two operations %s", op.tool.Name)
		}
		op.tool.Timeout = a.config.Timeout
		a.operations[op.tool.Name] = op
		a.tools = append(a.tools, op.tool)
	}
	return nil
}

// Call makes one request.
func (a *api) Call(ctx context.Context, at journal.Attempt) (journal.Answer, error) {
	a.mu.Lock()
	op, base := a.operations[at.Tool.Name], a.base
	a.mu.Unlock()
	if op == nil || op.tool.Version != at.Tool.Version {
		return journal.Answer{}, notSent{errors.New("the document changed meanwhile: run again")}
	}
	client, err := a.client(op.method)
	if err != nil {
		return journal.Answer{}, notSent{err}
	}
	may := ifUnsent
	if at.Tool.Class.Repeatable() {
		may = always
	}
	resp, err := send(ctx, &a.o, client, may, func() (*http.Request, error) {
		r, err := op.request(base, at.Args)
		if err != nil {
			return nil, err
		}
		if op.method != http.MethodGet && op.method != http.MethodHead {
			r.Header.Set("Idempotency-Key", at.IdempotencyKey)
		}
		for name, value := range at.Headers {
			r.Header.Set(name, value)
		}
		return r, nil
	})
	if err != nil {
		return journal.Answer{}, err
	}
	defer drop(resp)
	return answerTo(ctx, resp)
}

// answerTo is what a program gets of a response.
func answerTo(ctx context.Context, resp *http.Response) (a journal.Answer, err error) {
	switch code := resp.StatusCode; {
	case code == http.StatusUnauthorized, code == http.StatusProxyAuthRequired:
		return a, notSent{statusError(resp)} // other credentials change that, so it is not an outcome
	case code == http.StatusRequestTimeout, code == http.StatusTooEarly, code >= 300 && code < 400, code >= 500:
		return a, statusError(resp)
	case code >= 400:
		a.Refused = true
	}
	body, err := readAll(resp.Body)
	if err != nil {
		return a, failure(ctx, err)
	}
	a.Result, err = bodyJSON(body, resp.Header.Get("Content-Type"))
	if a.Refused && len(body) == 0 {
		a.Result, err = json.Marshal(resp.Status)
	}
	return a, err
}

// bodyJSON is a body as JSON: JSON itself, a text, or the bytes with their type. Of no body it is null.
func bodyJSON(body []byte, kind string) (json.RawMessage, error) {
	kind, _, _ = strings.Cut(kind, ";")
	kind = strings.TrimSpace(strings.ToLower(kind))
	switch {
	case len(bytes.TrimSpace(body)) == 0:
		return json.RawMessage("null"), nil
	case isJSON(kind):
		if !json.Valid(body) {
			return nil, errors.New("the answer is said to be JSON, and is not")
		}
		return body, nil
	case utf8.Valid(body):
		return json.Marshal(string(body))
	}
	return json.Marshal(map[string]any{"mimeType": kind, "data": body})
}
