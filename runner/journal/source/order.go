package source

import (
	"bytes"
	"encoding/json"
	"io"
	"sync"
)

// orders remembers the order in which a server names the arguments of its tools. The library hands out a schema as a
// map, which has none, and programs may pass arguments by position. So it reads along while the server lists its tools.
type orders struct {
	mu sync.Mutex
	of map[string][]string // by tool; nil: not recorded
}

// listen begins to read along, and forgets what was heard before.
func (o *orders) listen() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.of = map[string][]string{}
}

// heard ends that, and returns the order of the arguments of each tool, as far as it is known.
func (o *orders) heard() map[string][]string {
	o.mu.Lock()
	defer o.mu.Unlock()
	of := o.of
	o.of = nil
	return of
}

func (o *orders) listens() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.of != nil
}

// along returns a reader of the messages of a server: one on each line, or events, or one document.
func (o *orders) along(r io.ReadCloser) io.ReadCloser { return &listener{ReadCloser: r, orders: o} }

// listener hears what is read.
type listener struct {
	io.ReadCloser
	orders *orders
	line   []byte
}

// maxListed bounds a message that is heard, in bytes. The order of what a longer one lists is unknown.
const maxListed = 16 << 20

func (l *listener) Read(p []byte) (int, error) {
	n, err := l.ReadCloser.Read(p)
	if !l.orders.listens() {
		l.line = nil
		return n, err
	}
	for rest := p[:n]; len(rest) > 0; {
		line, after, ended := bytes.Cut(rest, []byte("\n"))
		if len(l.line) <= maxListed {
			l.line = append(l.line, line...)
		}
		if rest = after; ended {
			l.end()
		}
	}
	if err != nil {
		l.end()
	}
	return n, err
}

// end hears a line.
func (l *listener) end() {
	line := bytes.TrimPrefix(l.line, []byte("data:"))
	l.line = nil
	if len(line) <= maxListed && bytes.Contains(line, []byte(`"inputSchema"`)) {
		l.orders.hear(line)
	}
}

// hear takes the orders from a message.
func (o *orders) hear(message []byte) {
	var m struct {
		Result struct {
			Tools []struct {
				Name        string
				InputSchema struct{ Properties json.RawMessage }
			}
		}
	}
	if json.Unmarshal(message, &m) != nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, t := range m.Result.Tools {
		if o.of != nil {
			o.of[t.Name] = members(t.InputSchema.Properties)
		}
	}
}

// members returns the names of an object's members, in the order of the text.
func members(object json.RawMessage) (names []string) {
	d := json.NewDecoder(bytes.NewReader(object))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil
	}
	for d.More() {
		name, err := d.Token()
		var value json.RawMessage
		if err != nil || d.Decode(&value) != nil {
			return nil
		}
		names = append(names, name.(string))
	}
	return names
}
