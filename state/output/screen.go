package output

import (
	"bytes"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Screen collects outputs as a terminal shows them at the end: a progress bar that was drawn a thousand times is one
// line. It follows carriage returns, backspaces, and the sequences that move the cursor or erase. Each stream has a
// separate screen, whose last rows can be overwritten. A row has the place of its first text among the outputs of both
// streams. The result does not depend on the pieces in which a text came. The zero value is ready, and keeps at most
// Limit bytes of visible text.
type Screen struct {
	pieces  []*piece
	comms   []Output // they come first: a page shows a widget once it knows it
	streams map[string]*stream
	size    int // bytes of visible text
	limit   int // 0: Limit; below 0: none
	full    bool
	dropped map[string]int64
	compact int  // pieces that are left when neighbours are joined
	cleared bool // what came before these outputs is gone
	waiting bool // the next output clears
}

// Join joins the outputs of nodes that ran one after another: the screen after the last of them.
func Join(outputs []Output) []Output {
	s := Screen{limit: -1}
	for _, o := range outputs {
		s.Add(o)
	}
	return s.outputs(false)
}

// screenRows is how many rows can be overwritten.
const screenRows = 64

// Add takes an output.
func (s *Screen) Add(o Output) {
	if o.Kind == "comm" {
		s.addComm(o)
		return
	}
	if s.waiting && o.Kind != "clear" {
		s.clear()
	}
	switch o.Kind {
	case "display", "result":
		s.addData(o)
		return
	case "update":
		if !s.update(o) {
			s.addData(o)
		}
		return
	case "clear":
		if s.waiting = o.Wait; !o.Wait {
			s.clear()
		}
		return
	}
	if s.streams == nil {
		s.streams, s.dropped = map[string]*stream{}, map[string]int64{}
	}
	t := s.streams[o.Kind]
	if t == nil {
		t = &stream{screen: s, kind: o.Kind, first: &row{}, col: atEnd, head: true}
		t.rows = []*row{t.first}
		s.streams[o.Kind] = t
	}
	t.write([]byte(o.Text))
	s.dropped[o.Kind] += o.Dropped
	if len(s.pieces) > 2*s.compact+4096 {
		s.join()
	}
}

// clear removes all that came, but for widgets, which other blocks may show.
func (s *Screen) clear() { *s = Screen{limit: s.limit, cleared: true, comms: s.comms} }

// addComm takes a message about a widget.
func (s *Screen) addComm(o Output) {
	if n := sizeOf(o); s.full || s.room(n) < n {
		s.comms = append(s.comms, Output{Kind: o.Kind, Dropped: int64(n)})
		return
	}
	s.comms = append(s.comms, o)
}

// update replaces the data of the displays that an output is about. It reports whether there is one.
func (s *Screen) update(o Output) (found bool) {
	for _, p := range s.pieces {
		if p.data == nil || p.id != o.ID {
			continue
		}
		found = true
		if n := sizeOf(o); s.full || s.room(n) < n {
			p.lost += int64(n)
			continue
		}
		p.data, p.meta = o.Data, o.Meta
	}
	return found
}

func sizeOf(o Output) int {
	n := len(o.Text)
	for _, texts := range []map[string]string{o.Data, o.Meta} {
		for _, text := range texts {
			n += len(text)
		}
	}
	return n
}

// Full reports whether no more text fits.
func (s *Screen) Full() bool { return s.full }

// Outputs returns the visible text. A row that the next node may continue keeps the carriage return at its begin or
// end.
func (s *Screen) Outputs() []Output { return s.outputs(true) }

func (s *Screen) outputs(continued bool) []Output {
	for _, kind := range slices.Sorted(maps.Keys(s.streams)) {
		s.streams[kind].end(continued)
	}
	s.join()
	found := slices.Clone(s.comms)
	if continued && s.cleared {
		found = append(found, Output{Kind: "clear"})
	}
	last := map[string]int{}
	for _, p := range s.pieces {
		if len(p.text) > 0 || p.data != nil {
			last[p.kind] = len(found)
			found = append(found, Output{Kind: p.kind, Text: string(p.text), Data: p.data, Meta: p.meta, ID: p.id,
				Dropped: p.lost})
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(s.dropped)) {
		lost := s.dropped[kind]
		if at, ok := last[kind]; ok {
			found[at].Dropped += lost
		} else if lost > 0 {
			found = append(found, Output{Kind: kind, Dropped: lost})
		}
	}
	if continued && s.waiting {
		found = append(found, Output{Kind: "clear", Wait: true})
	}
	return found
}

// room returns how many of n bytes may be kept, and counts them as kept.
func (s *Screen) room(n int) int {
	if s.limit < 0 {
		return n
	}
	limit := s.limit
	if limit == 0 {
		limit = Limit
	}
	n = max(min(n, limit-s.size), 0)
	s.size += n
	return n
}

// addData takes display data. Of data that does not fit, the text remains, as far as it fits.
func (s *Screen) addData(o Output) {
	n := sizeOf(o)
	p := &piece{kind: o.Kind, text: []byte(o.Text), data: o.Data, meta: o.Meta, id: o.ID, lost: o.Dropped}
	if p.data == nil {
		p.data = map[string]string{}
	}
	before := s.size
	if s.full || s.room(n) < n {
		s.size = before
		kept := ""
		if !s.full {
			kept = whole(o.Data["text/plain"], s.room(len(o.Data["text/plain"])))
		}
		p.text, p.data, p.lost = nil, map[string]string{"text/plain": kept}, p.lost+int64(n-len(kept))
	}
	s.pieces = append(s.pieces, p)
}

// whole returns the first n bytes of a text, without the part of a character.
func whole[T string | []byte](text T, n int) T {
	if n < len(text) {
		for n > 0 && !utf8.RuneStart(text[n]) {
			n--
		}
	}
	return text[:n]
}

// join joins neighbouring pieces of one stream that stay as they are.
func (s *Screen) join() {
	kept := s.pieces[:0]
	for _, p := range s.pieces {
		if p.data == nil && !p.open && len(p.text) == 0 {
			continue
		}
		if n := len(kept); n > 0 && p.data == nil && !p.open {
			if q := kept[n-1]; q.data == nil && !q.open && q.kind == p.kind {
				q.text = append(q.text, p.text...)
				continue
			}
		}
		kept = append(kept, p)
	}
	clear(s.pieces[len(kept):])
	s.pieces, s.compact = kept, len(kept)
}

// stream is the screen of one stream.
type stream struct {
	screen   *Screen
	kind     string
	first    *row
	rows     []*row // the last ones; the last of them has no end yet
	at       int    // the row of the cursor
	col      int    // the column of the cursor, or atEnd
	style    string // the sequences that set the colour, since the last reset
	pending  []byte // the begin of a sequence whose end has not come
	returned bool   // a carriage return was the last
	head     bool   // nothing came yet but carriage returns
	led      bool   // a carriage return was the first
}

// atEnd is the column after a row that was not overwritten.
const atEnd = -1

// write takes text, which may hold sequences.
func (t *stream) write(text []byte) {
	if len(t.pending) > 0 {
		text = append(t.pending, text...)
		t.pending = nil
	}
	for len(text) > 0 {
		if t.screen.full {
			t.screen.dropped[t.kind] += int64(len(text))
			return
		}
		n := bytes.IndexAny(text, "\r\b\x1b")
		if n < 0 {
			n = len(text)
		}
		if n > 0 {
			n = t.plain(text[:n])
		} else if n = t.control(text); n == 0 {
			t.pending = bytes.Clone(text)
			return
		}
		text = text[n:]
	}
}

// plain takes text without sequences, and returns how much it took: less when the screen is full.
func (t *stream) plain(text []byte) int {
	n := 0
	if at := lastRows(text); at > 0 && t.untouched() { // most of it cannot be overwritten
		if !t.raw(text[:at]) {
			return at
		}
		t.settle(len(t.rows))
		t.col, t.returned = atEnd, false
		n = at
	}
	for n < len(text) && !t.screen.full {
		end := bytes.IndexByte(text[n:], '\n')
		if end == 0 {
			t.newline()
			n++
			continue
		}
		if end < 0 {
			end = len(text) - n
		}
		t.put(text[n : n+end])
		n += end
	}
	return n
}

// lastRows returns where the last rows of a text begin that can be overwritten.
func lastRows(text []byte) int {
	at := len(text)
	for range screenRows {
		if at = bytes.LastIndexByte(text[:at], '\n'); at < 0 {
			return 0
		}
	}
	return at + 1
}

// untouched reports whether nothing of the last rows was overwritten.
func (t *stream) untouched() bool {
	return t.appends() && !t.returned && !slices.ContainsFunc(t.rows, func(r *row) bool { return r.edited })
}

// put takes text of one row.
func (t *stream) put(text []byte) {
	t.returned, t.head = false, false
	if t.appends() {
		t.col = atEnd
		t.raw(text)
		return
	}
	r := t.lift()
	for len(text) > 0 {
		c, n := utf8.DecodeRune(text)
		for len(r.cells) <= t.col {
			if t.screen.room(1) < 1 {
				t.screen.full = true
				t.screen.dropped[t.kind] += int64(len(text))
				return
			}
			r.size++
			r.cells = append(r.cells, cell{char: ' '})
		}
		r.cells[t.col] = cell{char: c, style: t.style}
		t.col++
		text = text[n:]
	}
}

// appends reports whether text goes to the end of the visible text.
func (t *stream) appends() bool {
	r := t.rows[t.at]
	return t.at == len(t.rows)-1 && !r.edited && (t.col == atEnd || len(r.pieces) == 0)
}

// raw appends text to the last row. It reports whether all of it was kept.
func (t *stream) raw(text []byte) bool {
	s, r := t.screen, t.rows[len(t.rows)-1]
	kept := whole(text, s.room(len(text)))
	var p *piece
	if n := len(r.pieces); n > 0 && r.pieces[n-1] == s.pieces[len(s.pieces)-1] {
		p = r.pieces[n-1]
	} else {
		p = &piece{kind: t.kind, open: true}
		s.pieces = append(s.pieces, p)
		r.pieces = append(r.pieces, p)
	}
	p.text = append(p.text, kept...)
	r.size += len(kept)
	t.head = false
	if len(kept) < len(text) {
		s.full = true
		s.dropped[t.kind] += int64(len(text) - len(kept))
		return false
	}
	return true
}

// newline moves the cursor to the begin of the next row.
func (t *stream) newline() {
	r, last := t.rows[t.at], t.at == len(t.rows)-1
	t.head = false
	switch {
	case !last:
		t.at, t.col, t.returned = t.at+1, 0, false
		return
	case r.edited:
		r.end = "\n"
	case t.returned: // the end of a row as Windows and the csv module write it
		t.led = t.led && r != t.first
		t.col = atEnd
		t.raw([]byte("\r\n"))
	default:
		t.raw([]byte("\n"))
	}
	t.returned, t.col = false, atEnd
	t.rows = append(t.rows, &row{})
	t.settle(max(0, len(t.rows)-screenRows))
	t.at = len(t.rows) - 1
}

// settle makes the first n rows final.
func (t *stream) settle(n int) {
	for _, r := range t.rows[:n] {
		t.screen.size += r.settle()
	}
	t.rows = append(t.rows[:0], t.rows[n:]...)
	if len(t.rows) == 0 {
		t.rows = append(t.rows, &row{})
	}
	t.at = min(max(t.at-n, 0), len(t.rows)-1)
}

// end makes all rows final. continued says that more may follow, in another node.
func (t *stream) end(continued bool) {
	if len(t.pending) > 0 {
		pending := t.pending
		t.pending = nil
		t.put(pending)
	}
	last := t.rows[len(t.rows)-1]
	back := continued && t.returned && t.at == len(t.rows)-1 && len(last.pieces) > 0
	t.settle(len(t.rows))
	if continued && t.led && len(t.first.pieces) > 0 {
		p := t.first.pieces[0]
		p.text = append([]byte("\r"), p.text...)
	}
	if back {
		p := last.pieces[len(last.pieces)-1]
		if last.edited {
			p = last.pieces[0]
		}
		p.text = append(p.text, '\r')
	}
}

// control takes a control character or sequence at the beginning of a text, and returns its length; 0: its end has not
// come yet.
func (t *stream) control(text []byte) int {
	switch text[0] {
	case '\r':
		if t.head {
			t.led = true
		}
		t.col, t.returned = 0, true
		return 1
	case '\b':
		t.place(t.column() - 1)
		return 1
	}
	n, params, final := sequence(text)
	if n == 0 {
		return 0
	}
	t.interpret(text[:n], params, final)
	return n
}

// interpret follows a sequence. A sequence that moves or erases within the last rows is executed. Colours stay with the
// text. Whether the cursor is visible is forgotten. All else stays as it is in a row that is not overwritten.
func (t *stream) interpret(text []byte, params string, final byte) {
	n := max(1, number(params))
	switch final {
	case 'm':
		if params == "" || params == "0" {
			t.style = ""
		} else if len(t.style) < 100 {
			t.style += string(text)
		}
		if t.appends() {
			t.raw(text)
		}
	case 'K':
		t.eraseLine(number(params))
	case 'J':
		t.eraseBelow(number(params), text)
	case 'A':
		t.move(t.at-n, t.column())
	case 'B':
		t.move(t.at+n, t.column())
	case 'C':
		t.place(t.column() + n)
	case 'D':
		t.place(t.column() - n)
	case 'E':
		t.move(t.at+n, 0)
	case 'F':
		t.move(t.at-n, 0)
	case 'G':
		t.place(n - 1)
	case 'h', 'l':
		if !strings.HasPrefix(params, "?") && t.appends() {
			t.raw(text)
		}
	default:
		if t.appends() {
			t.raw(text)
		}
	}
}

// number is the first parameter of a sequence, or 0.
func number(params string) int {
	first, _, _ := strings.Cut(params, ";")
	n, _ := strconv.Atoi(first)
	return min(max(n, 0), 10000)
}

// column returns the column of the cursor.
func (t *stream) column() int {
	if t.col == atEnd {
		t.col = t.rows[t.at].width()
	}
	return t.col
}

// place moves the cursor within its row.
func (t *stream) place(col int) { t.move(t.at, col) }

func (t *stream) move(at, col int) {
	t.at, t.col, t.returned = min(max(at, 0), len(t.rows)-1), max(col, 0), false
}

// eraseLine erases from the cursor to the end of its row (0), from the begin to the cursor (1) or the whole row (2).
func (t *stream) eraseLine(how int) {
	if r := t.rows[t.at]; len(r.pieces) == 0 && !r.edited {
		return
	}
	col, r := t.column(), t.lift()
	switch {
	case how == 2:
		r.cells = r.cells[:0]
	case how == 1:
		for i := range min(col+1, len(r.cells)) {
			r.cells[i] = cell{char: ' '}
		}
	case col < len(r.cells):
		r.cells = r.cells[:col]
	}
}

// eraseBelow erases from the cursor to the last row. Erasing a whole screen does not affect what was printed.
func (t *stream) eraseBelow(how int, text []byte) {
	if how != 0 {
		if t.appends() {
			t.raw(text)
		}
		return
	}
	t.eraseLine(0)
	at, col := t.at, t.col
	for t.at = at + 1; t.at < len(t.rows); t.at++ {
		t.col = 0
		t.eraseLine(2)
	}
	t.at, t.col = at, col
}

// lift makes the row of the cursor one that can be overwritten: its text goes into cells.
func (t *stream) lift() *row {
	r := t.rows[t.at]
	if r.edited {
		return r
	}
	t.column()
	text := r.text()
	if len(r.pieces) == 0 {
		p := &piece{kind: t.kind, open: true}
		t.screen.pieces = append(t.screen.pieces, p)
		r.pieces = append(r.pieces, p)
	}
	for _, p := range r.pieces {
		p.text = nil
	}
	text, r.end = cutEnd(text)
	r.edited, r.cells = true, cellsOf(text)
	return r
}
