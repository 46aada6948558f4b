package bash

import (
	"bufio"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/xstate-engine/xstate/runner/kernel"
	"github.com/xstate-engine/xstate/state/inspect"
)

//go:embed driver.sh
var driver string

// shell is one process of Bash, and what the engine asks of it.
type shell struct {
	*session
	peer    *kernel.Peer
	script  *os.File // Bash reads it as its script
	answers *bufio.Reader
	outputs [2]printedFile
	pending []string // texts to execute before the next node
	driven  int      // the first of the driver's descriptors
}

// The driver's descriptors in driver.sh, and those that take their place where a process may have as many: programs
// close what they find up to 255.
const (
	lowDriven  = 250
	highDriven = 1020
)

// mayOpen returns how many descriptors the shell may have; 0 if the system does not say.
func (sh *shell) mayOpen() (count int) {
	data, _ := os.ReadFile(fmt.Sprintf("/proc/%d/limits", sh.peer.Pid()))
	_, text, _ := strings.Cut(string(data), "Max open files")
	_, _ = fmt.Sscan(text, &count)
	return count
}

// driverText returns driver.sh with the numbers of its descriptors.
func (sh *shell) driverText() string {
	sh.driven = lowDriven
	if sh.mayOpen() > highDriven+3 {
		sh.driven = highDriven
	}
	var numbers []string
	for i := range 3 {
		numbers = append(numbers, strconv.Itoa(lowDriven+i), strconv.Itoa(sh.driven+i))
	}
	return strings.NewReplacer(numbers...).Replace(driver)
}

// closedDriver reports whether the shell runs, though it cannot be heard any more. One that ends has closed all.
func (sh *shell) closedDriver() bool {
	open, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", sh.peer.Pid()))
	return err == nil && len(open) > 0
}

// printedFile is a file that the program prints to.
type printedFile struct {
	name string
	file *os.File
	sent int64
}

func newShell(s *session, p *kernel.Peer, script *os.File) *shell {
	return &shell{session: s, peer: p, script: script, answers: bufio.NewReaderSize(p.From, 1<<16)}
}

// errEnded says that the shell has ended.
var errEnded = errors.New("the shell has ended")

// serve answers requests until either side ends.
func (sh *shell) serve() {
	if _, _, err := sh.peer.Receive(); err != nil || sh.begin() != nil ||
		sh.peer.Send("hello", struct{}{}, nil) != nil {
		return
	}
	defer sh.outputs[0].file.Close()
	defer sh.outputs[1].file.Close()
	for {
		header, body, err := sh.peer.Receive()
		if err != nil {
			return
		}
		reply, data, err := sh.answer(header, body)
		if errors.Is(err, errEnded) {
			return
		}
		if err != nil {
			reply = map[string]any{"ok": false, "error": err.Error(), "trace": ""}
		}
		if err := sh.peer.Send("reply", reply, data); err != nil {
			return
		}
		if sh.gone.Load() {
			return
		}
	}
}

// begin starts the shell, with the state of the one before it if there was one.
func (sh *shell) begin() error {
	for i, name := range []string{"stdout", "stderr"} {
		f, err := kernel.EditSpooled(filepath.Join(sh.launch.Spool, name))
		if err != nil {
			return err
		}
		sh.outputs[i] = printedFile{name: name, file: f}
	}
	text := sh.driverText() + "builtin cd -- " + quote(sh.launch.Folder) + "\n"
	if old, is := sh.launch.Environ["OLDPWD"]; is {
		text += "OLDPWD=" + quote(old) + "\n"
	} else {
		text += "builtin unset OLDPWD; builtin declare -x OLDPWD\n"
	}
	text += fmt.Sprintf("RANDOM=%d\n%s", sh.launch.Seed&32767, showAll+"\n")
	if _, err := sh.script.WriteString(text); err != nil {
		return err
	}
	first, err := sh.await(nil, view{})
	if err != nil {
		return err
	}
	sh.odd = oddities(sh.descriptors())
	sh.oddBefore, sh.oddBase = sh.odd, sh.odd
	if !sh.began {
		live := *first // it changes, and the base does not
		sh.random = []int{int(sh.launch.Seed & 32767)}
		sh.began, sh.base, sh.live = true, first, &live
		sh.owned, sh.parked = map[string]bool{}, map[kernel.Group][]declaration{}
		return nil
	}
	sh.restoreAll(first)
	return nil
}

// restoreAll gives a new shell the state that the last one had before its last node.
func (sh *shell) restoreAll(first *snapshot) {
	want := sh.live
	sh.live, sh.busy = first, false
	for name := range first.vars {
		if _, is := want.vars[name]; !is {
			sh.pending = append(sh.pending, unsetting(first.vars[name]))
		}
	}
	var functions []string
	for name, d := range want.vars {
		switch {
		case first.vars[name] == d:
		case strings.HasSuffix(name, "()"):
			functions = append(functions, d.text())
		default:
			sh.pending = append(sh.pending, sh.replacing(d))
		}
	}
	sh.pending = append(sh.pending, functions...)
	sh.live = &snapshot{
		job:       first.job,
		process:   first.process,
		vars:      want.vars,
		hidden:    want.hidden,
		status:    want.status,
		flags:     want.flags,
		aliases:   want.aliases,
		arguments: want.arguments,
		dirs:      want.dirs,
	}
	for key, text := range want.hidden {
		if first.hidden[key] != text {
			sh.pending = append(sh.pending, sh.restoring(key, text))
		}
	}
	if len(sh.random) > 0 {
		sh.pending = append(sh.pending, fmt.Sprintf("RANDOM=%d", sh.random[0]))
	}
}

// execute has the shell execute a text by eval. before is executed first, on the same line. line is the number of the
// first line of the text. It returns the state after; errEnded when the shell did not come that far. With XSTATE_VERIFY
// in the environment, a partial state is compared with the whole one.
func (sh *shell) execute(before, text string, line int, v view) (*snapshot, error) {
	body, show := before+text, v.command()
	// Some errors, such as that of a[1/0]=2, have Bash discard the rest of the line. So the next one shows the state.
	if _, err := fmt.Fprintf(sh.script, "__xs_y=1;__xs_r %d;builtin eval \"${__xs_t:(LINENO=%d)*0}\";%s;__xs_y=\n"+
		"[[ $__xs_y ]] && { __xs_y= __xs_x=(1 \"\" 1);%s; }\n", len(body), max(1, line), show, show); err != nil {
		return nil, errEnded
	}
	if _, err := sh.peer.To.WriteString(body); err != nil {
		return nil, errEnded
	}
	after, err := sh.await(sh.live, v)
	if err != nil || !v.partial || os.Getenv("XSTATE_VERIFY") == "" {
		return after, err
	}
	again := view{}.command() + "\n"
	if options := sh.live.onOptions(); options != "" {
		again = "builtin set -" + options + ";" + again
	}
	if _, err := sh.script.WriteString(again); err != nil {
		return nil, errEnded
	}
	whole, err := sh.await(nil, view{})
	if err != nil {
		return nil, err
	}
	if what := after.differs(whole); what != "" {
		return nil, fmt.Errorf("after %q, %s is not as it was shown", text, what)
	}
	return after, nil
}

// await reads what the shell says until a snapshot is complete. At a mark, what was printed is sent.
func (sh *shell) await(before *snapshot, v view) (*snapshot, error) {
	var fields []string
	for {
		field, err := sh.answers.ReadString(0)
		if err != nil {
			return nil, errEnded
		}
		field = field[:len(field)-1]
		switch {
		case field == "M" && fields == nil:
			sh.sendOutputs()
			if _, err := sh.peer.To.WriteString("."); err != nil {
				return nil, errEnded
			}
		case (field == "S" || field == "P") && fields == nil:
			fields = []string{}
		case field == "E" && v.partial && len(fields) >= 2 && fields[0] == strconv.Itoa(len(fields)-2):
			return before.with(v, fields[1:len(fields)-1], fields[len(fields)-1], sh.base), nil
		case field == "E" && len(fields) >= 17:
			if s, err := newSnapshot(fields, before, sh.base); err == nil {
				return s, nil
			}
			fields = append(fields, field)
		case fields != nil:
			fields = append(fields, field)
		}
	}
}

// flush executes what is pending.
func (sh *shell) flush() error {
	if len(sh.pending) == 0 {
		return nil
	}
	text := strings.Join(sh.pending, "\n")
	sh.pending = nil
	want := sh.live
	after, err := sh.execute("", "{ __xs_d=\n"+text+fmt.Sprintf("\n} >&%d 2>&1", sh.driven+2), 1, view{})
	if err != nil {
		return err
	}
	after.status, after.flags = want.status, want.flags
	for _, key := range []string{keyStatus, keyLast, keyTraps, keyOptions, keyDescriptors, keyStreams, keyRandom,
		keyInput} {
		if text, is := want.hidden[key]; is {
			after.hidden[key] = text
		} else {
			delete(after.hidden, key)
		}
	}
	after.keepAttributes(want)
	sh.live = after
	return nil
}

// maxPiece bounds what is sent at once, and maxPrinted what is sent of a node; the rest is not recorded anyway.
const (
	maxPiece   = 1 << 20
	maxPrinted = 64 << 20
)

// sendOutputs sends what the program has printed since the last time.
func (sh *shell) sendOutputs() {
	for i := range sh.outputs {
		o := &sh.outputs[i]
		for o.sent < maxPrinted {
			data := make([]byte, 4096)
			n, _ := o.file.ReadAt(data, o.sent)
			if n == len(data) {
				data = make([]byte, maxPiece)
				n, _ = o.file.ReadAt(data, o.sent)
			}
			if n == 0 {
				break
			}
			o.sent += int64(n)
			_ = sh.peer.Send("output", map[string]any{"kind": o.name, "shared": false, "upto": o.sent}, data[:n])
		}
	}
}

// clearOutputs forgets what was printed between nodes.
func (sh *shell) clearOutputs() {
	for i := range sh.outputs {
		o := &sh.outputs[i]
		if info, err := o.file.Stat(); err != nil || info.Size() > 0 {
			_ = o.file.Truncate(0)
		}
		o.sent = 0
	}
}

// answer answers one request.
func (sh *shell) answer(header json.RawMessage, body []byte) (reply any, data []byte, err error) {
	var r request
	if err := json.Unmarshal(header, &r); err != nil {
		return nil, nil, err
	}
	switch r.Op {
	case "run":
		var n kernel.Node
		if err := json.Unmarshal(header, &n); err != nil {
			return nil, nil, err
		}
		n.Text = body
		seen, err := sh.run(n)
		return observed{OK: true, Observation: seen}, nil, err
	case "bind":
		sh.bind(r)
	case "store":
		return sh.store(r.Names)
	case "load":
		return sh.load(r, body)
	case "hidden_get":
		return ok{OK: true}, []byte(sh.live.hidden[r.Key]), nil
	case "hidden_put":
		text := string(body)
		if r.Pristine {
			text = sh.base.hidden[r.Key]
		}
		sh.setHidden(r.Key, text)
	case "show":
		return showing(sh.live.vars[r.Name], r.At), nil, nil
	case "detach":
		return struct {
			OK    bool     `json:"ok"`
			Paths []string `json:"Paths"`
		}{true, []string{}}, nil, sh.detach(r.Files)
	case "unload", "forget", "environ", "flush", "close_figures", "sources":
		if r.Op == "forget" {
			clear(sh.parked)
		}
	default:
		return nil, nil, fmt.Errorf("unknown request %q", r.Op)
	}
	return ok{OK: true}, nil, nil
}

type ok struct {
	OK bool `json:"ok"`
}

type observed struct {
	OK bool `json:"ok"`
	kernel.Observation
}

// request is a request of the engine; which fields it has depends on the operation.
type request struct {
	Op       string            `json:"op"`
	Names    []string          `json:"names"`
	Name     string            `json:"name"`
	Key      string            `json:"key"`
	Pristine bool              `json:"pristine"`
	Path     string            `json:"path"`
	Foreign  bool              `json:"foreign"`
	Files    []string          `json:"files"`
	Park     []json.RawMessage `json:"park"`
	Drop     []kernel.Group    `json:"drop"`
	Unbind   []string          `json:"unbind"`
	Unpark   []kernel.Group    `json:"unpark"`
	At       *inspect.Place    `json:"at"`
}
