package state

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/fxamacker/cbor/v2"
)

// Kind is the type of a step.
type Kind string

const (
	KindAppend   Kind = "append" // a block was added, at the end or in between
	KindPatch    Kind = "patch"  // a block's source or title changed
	KindMove     Kind = "move"
	KindDelete   Kind = "delete"
	KindRun      Kind = "run"
	KindFork     Kind = "fork"     // the first own step of a forked session
	KindRollback Kind = "rollback" // the program of an earlier step was restored
	KindDeclare  Kind = "declare"  // a fact about the program was recorded; no source changed
	KindApprove  Kind = "approve"  // a person decided about a call that waited
)

// Changes reports whether steps of the kind change the program or its results. Others record a fact.
func (k Kind) Changes() bool { return k != KindDeclare && k != KindApprove }

// Op is the operation of one change.
type Op uint8

const (
	OpInsert Op = iota + 1 // a new block, after the block After
	OpUpdate               // new facts (source, title, status, results) for a block that keeps its position
	OpMove                 // the block moves behind the block After
	OpDelete
)

// Change is one change of the program in a step.
type Change struct {
	Op    Op
	ID    BlockID // may be empty if Block is given
	After BlockID // for OpInsert and OpMove; "" means first
	Block *Block  // for OpInsert and OpUpdate
}

// Counts are numbers of blocks or nodes by status after a run.
type Counts struct {
	Ran     int `cbor:"ran,omitempty" json:"ran"`
	Reused  int `cbor:"reused,omitempty" json:"reused"`
	Failed  int `cbor:"failed,omitempty" json:"failed"`
	Blocked int `cbor:"blocked,omitempty" json:"blocked"`
	// Waiting for a decision about a call; they do not count as failed
	Waiting int `cbor:"waiting,omitempty" json:"waiting,omitempty"`

	NotReached int `cbor:"not_reached,omitempty" json:"not_reached"`
}

// Sum returns how many there are.
func (c Counts) Sum() int { return c.Ran + c.Reused + c.Failed + c.Blocked + c.Waiting + c.NotReached }

// RunSummary is the result of a run in numbers.
type RunSummary struct {
	Blocks       Counts  `cbor:"blocks" json:"blocks"`
	Nodes        Counts  `cbor:"nodes" json:"nodes"`
	Seconds      float64 `cbor:"seconds" json:"seconds"`         // spent
	SavedSeconds float64 `cbor:"saved" json:"saved_seconds"`     // recorded cost of what was reused
	Interpreter  string  `cbor:"interpreter" json:"interpreter"` // name and version
	// Arguments of the program, and the digest of its standard input, which is a base; "": that was empty
	Arguments []string `cbor:"args,omitempty" json:"arguments,omitempty"`
	Stdin     Digest   `cbor:"stdin,omitempty" json:"stdin,omitempty"`

	// Sandbox is the level of the bounds under which it ran, and Policy the digest of all of them; "": none. Unenforced
	// are the parts that the system could not enforce.
	Sandbox    string   `cbor:"sandbox,omitempty" json:"sandbox,omitempty"`
	Policy     Digest   `cbor:"policy,omitempty" json:"policy,omitempty"`
	Unenforced []string `cbor:"unenforced,omitempty" json:"unenforced,omitempty"`
	// Observed is how far the interpreter was observed: "seccomp", "ptrace" or "hooks", see package sandbox; "": no
	// node was executed
	Observed string `cbor:"observed,omitempty" json:"observed,omitempty"`

	Ended       *Ended `cbor:"ended,omitempty" json:"ended,omitempty"`
	Interrupted bool   `cbor:"interrupted,omitempty" json:"interrupted,omitempty"` // it was stopped before its end
}

// Ended says which block of a run ended the program, and with which exit code.
type Ended struct {
	By   BlockID `cbor:"by" json:"by"`
	Code int     `cbor:"code,omitempty" json:"code"`
}

// Verification is the result of comparing a run with a run from scratch.
type Verification struct {
	Of          StepNumber `cbor:"of" json:"of"`         // the run
	Blocks      int        `cbor:"blocks" json:"blocks"` // blocks with equal results
	Differences int        `cbor:"differences,omitempty" json:"differences"`
	// Explained: differences at values that are marked as varying from run to run
	Explained int `cbor:"explained,omitempty" json:"explained"`
}

// Repetition is the result of executing a block several times from the same state.
type Repetition struct {
	Times int `cbor:"times" json:"times"`
	// Differs: what differed between executions: output, "value NAME", "file NAME", …
	Differs []string `cbor:"differs,omitempty" json:"differs"`
}

// Testing is the result of a run of tests.
type Testing struct {
	Ran          int     `cbor:"ran,omitempty" json:"ran"`
	Reused       int     `cbor:"reused,omitempty" json:"reused"`
	Failed       int     `cbor:"failed,omitempty" json:"failed"` // among those that ran
	Seconds      float64 `cbor:"seconds" json:"seconds"`
	SavedSeconds float64 `cbor:"saved" json:"saved_seconds"` // recorded cost of what was reused

	// Checks: digest of the source with the facts known about each test after it
	Checks Digest `cbor:"checks,omitempty" json:"checks,omitempty"`
}

// Application says which files of a private folder were moved into the one that it is a view of.
type Application struct {
	From  string        `cbor:"from" json:"from"`             // the session with the private folder
	Step  StepNumber    `cbor:"step,omitempty" json:"step"`   // its last step then
	Count int           `cbor:"count" json:"count"`           // how many files
	Files []AppliedFile `cbor:"files,omitempty" json:"files"` // the first MaxAppliedFiles of them
	List  Digest        `cbor:"list" json:"list"`             // digest of the lines "DIGEST PATH" of all files
}

// MaxAppliedFiles bounds how many files a step names.
const MaxAppliedFiles = 200

// AppliedFile is a file that was moved.
type AppliedFile struct {
	Path   string `cbor:"path" json:"path"`
	Digest Digest `cbor:"digest,omitempty" json:"digest,omitempty"` // as in FileRecord; Absent: it was removed
}

// TextEdit records that a cell of a notebook that is not a block changed. The text itself is in the file alone.
type TextEdit struct {
	Cell string `cbor:"cell" json:"cell"`         // its id, or cell-N by its place among all cells, from 0
	Type string `cbor:"type" json:"type"`         // markdown, raw, or code that is blank
	Edit Kind   `cbor:"edit" json:"edit"`         // append, patch, move or delete
	Was  Digest `cbor:"was,omitempty" json:"was"` // digest of its former text; Absent: there was no such cell
	Now  Digest `cbor:"now,omitempty" json:"now"` // digest of its new text; Absent: there is none
}

// Placement records how a patch found the block that it edits.
type Placement struct {
	Format string `cbor:"format" json:"format"` // the patch's
	// Match: how exactly its text matched, see patch.Strictness
	Match string `cbor:"match,omitempty" json:"match,omitempty"`
	// By: how a rewritten block was recognised, see patch.By
	By            string  `cbor:"by,omitempty" json:"by,omitempty"`
	Score         float64 `cbor:"score,omitempty" json:"score,omitempty"`      // confidence in that, 0 to 1
	RunnerUp      BlockID `cbor:"second,omitempty" json:"runner_up,omitempty"` // the second best block
	RunnerUpScore float64 `cbor:"second_score,omitempty" json:"runner_up_score,omitempty"`
	// Times: how often this text was submitted, this time included; 0: once
	Times int `cbor:"times,omitempty" json:"times,omitempty"`
}

// Step is one committed event in a session. It is immutable.
type Step struct {
	Number StepNumber
	Time   time.Time // UTC; not before that of the previous step
	Kind   Kind
	Origin Origin
	Block  BlockID     // the one block it concerns, or ""
	Was    Digest      // version of Block before
	Now    Digest      // version of Block after
	Run    *RunSummary // for KindRun
	To     StepNumber  // for KindRollback, the step that it returned to: Changes apply to its program
	Undoes StepNumber  // the edit that this one reverted; 0: none

	Verified  *Verification // for KindDeclare, if it records this
	Repeated  *Repetition   // likewise, about Block
	Tested    *Testing      // likewise
	Applied   *Application  // likewise
	Text      *TextEdit     // likewise, about a cell of text
	Placement *Placement    // when a patch made it
	Nth       int           // how many edits of the same patch come right before it
	Declared  *Declaration  // for KindDeclare, if it declares or drops an artifact
	Decided   *CallDecision // for KindApprove

	Artifacts StepNumber // the step that holds the list of artifacts after this one, in Declared; 0: there are none

	Changes []Change // Store.Step sets them, Store.Steps does not
	Prev    Digest   // hash of the previous step; for the first own step, of the creation record
	Hash    Digest
}

// stepHeader is the hashed part of a step. It holds the digest of the changes.
type stepHeader struct {
	Number    StepNumber    `cbor:"n"`
	Time      int64         `cbor:"t"` // nanoseconds since 1970
	Kind      Kind          `cbor:"kind"`
	Origin    *Origin       `cbor:"origin,omitempty"`
	Block     BlockID       `cbor:"block,omitempty"`
	Was       Digest        `cbor:"was,omitempty"`
	Now       Digest        `cbor:"now,omitempty"`
	Run       *RunSummary   `cbor:"run,omitempty"`
	To        StepNumber    `cbor:"to,omitempty"`
	Undoes    StepNumber    `cbor:"undoes,omitempty"`
	Verified  *Verification `cbor:"verified,omitempty"`
	Repeated  *Repetition   `cbor:"repeated,omitempty"`
	Tested    *Testing      `cbor:"tested,omitempty"`
	Applied   *Application  `cbor:"applied,omitempty"`
	Text      *TextEdit     `cbor:"text,omitempty"`
	Placed    *Placement    `cbor:"placed,omitempty"`
	Nth       int           `cbor:"nth,omitempty"`
	Declared  *Declaration  `cbor:"declared,omitempty"`
	Decided   *CallDecision `cbor:"decided,omitempty"`
	Artifacts StepNumber    `cbor:"artifacts,omitempty"`
	Prev      Digest        `cbor:"prev"`
	Body      Digest        `cbor:"body"`
	Index     bool          `cbor:"index,omitempty"`  // an index of the program is stored for this step
	Replay    uint64        `cbor:"replay,omitempty"` // bytes of steps since the last such step, this one included
}

// step returns the public form of a header, without changes.
func (h *stepHeader) step(hash Digest) Step {
	s := Step{
		Number: h.Number, Time: time.Unix(0, h.Time).UTC(), Kind: h.Kind, Block: h.Block, Was: h.Was, Now: h.Now,
		Run: h.Run, To: h.To, Undoes: h.Undoes, Verified: h.Verified, Repeated: h.Repeated, Tested: h.Tested,
		Applied: h.Applied, Text: h.Text,
		Placement: h.Placed, Nth: h.Nth, Declared: h.Declared, Decided: h.Decided, Artifacts: h.Artifacts,
		Prev: h.Prev, Hash: hash,
	}
	if h.Origin != nil {
		s.Origin = *h.Origin
	}
	return s
}

// base returns the step whose program the changes apply to.
func (h *stepHeader) base() StepNumber {
	if h.Kind == KindRollback {
		return h.To
	}
	return h.Number - 1
}

// A step is stored as: seal (16 bytes), length of the header (4), header, body. The seal covers the header. The body
// has separate checksums, so that one change can be read without the others.
const stepFrame = sealSize + 4

// packStep returns a step in its stored form.
func packStep(key, header []byte, body []byte) []byte {
	front := binary.BigEndian.AppendUint32(make([]byte, 0, 4+len(header)), uint32(len(header)))
	front = append(front, header...)
	return append(seal(bucketSteps, key, front), body...)
}

// packedStep is a step in its stored form. It shares memory with the database.
type packedStep struct {
	number StepNumber
	header []byte
	body   body
}

// unpackStep finds the parts of a stored step. It does not verify the seal; openStep does.
func unpackStep(n StepNumber, value []byte) (packedStep, error) {
	if len(value) < stepFrame {
		return packedStep{}, errors.New("it is cut short")
	}
	size := binary.BigEndian.Uint32(value[sealSize:])
	if uint64(size) > uint64(len(value)-stepFrame) {
		return packedStep{}, errors.New("its header is cut short")
	}
	end := stepFrame + int(size)
	return packedStep{number: n, header: value[stepFrame:end], body: value[end:]}, nil
}

// openStep verifies and decodes the header of a stored step, and returns it with the step's hash.
func openStep(key []byte, n StepNumber, value []byte) (h stepHeader, p packedStep, hash Digest, err error) {
	if p, err = unpackStep(n, value); err != nil {
		return h, p, "", err
	}
	if _, err = unseal(bucketSteps, key, value[:stepFrame+len(p.header)]); err != nil {
		return h, p, "", err
	}
	if err = decode(p.header, &h); err != nil {
		return h, p, "", err
	}
	if h.Number != n || h.base() >= n || h.Undoes >= n {
		return h, p, "", fmt.Errorf("its number is %d", h.Number)
	}
	if h.Artifacts > n || (h.Artifacts == n) != (h.Declared != nil) {
		return h, p, "", fmt.Errorf("it names step %d as the one that declares its artifacts", h.Artifacts)
	}
	return h, p, DigestOf(p.header), nil
}

// body holds the changes of a step: their count (4 bytes), for each its length (4) and checksum (8), then the
// changes.
type body []byte

const (
	bodyEntry = 12
	bodySum   = 8
)

// changeRecord is the stored form of a Change. The block stays encoded, because replaying an index does not need it.
type changeRecord struct {
	Op    Op              `cbor:"op"`
	ID    BlockID         `cbor:"id"`
	After BlockID         `cbor:"after,omitempty"`
	Block cbor.RawMessage `cbor:"block,omitempty"`
}

// packBody returns the changes of step n in their stored form.
func packBody(n StepNumber, changes []Change) body {
	table := binary.BigEndian.AppendUint32(nil, uint32(len(changes)))
	var records []byte
	for i, c := range changes {
		r := changeRecord{Op: c.Op, ID: c.ID, After: c.After}
		if c.Block != nil {
			r.Block = encode(c.Block)
		}
		data := encode(r)
		table = binary.BigEndian.AppendUint32(table, uint32(len(data)))
		sum := changeSum(n, i, data)
		table = append(table, sum[:bodySum]...)
		records = append(records, data...)
	}
	return append(table, records...)
}

// changeSum is the checksum of change i of step n. It covers both numbers, so that a change cannot pass for another
// one.
func changeSum(n StepNumber, i int, data []byte) (sum [sha256.Size]byte) {
	h := sha256.New()
	h.Write(stepKey(sessionID(n), StepNumber(i)))
	h.Write(data)
	h.Sum(sum[:0])
	return sum
}

// records returns the verified changes, undecoded.
func (b body) records(n StepNumber) ([][]byte, error) {
	count, err := b.count()
	if err != nil {
		return nil, err
	}
	all := make([][]byte, count)
	rest := b[4+bodyEntry*count:]
	for i := range all {
		size := int(binary.BigEndian.Uint32(b[4+bodyEntry*i:]))
		if size > len(rest) {
			return nil, fmt.Errorf("change %d is cut short", i)
		}
		all[i], rest = rest[:size], rest[size:]
		if err := b.verify(n, i, all[i]); err != nil {
			return nil, err
		}
	}
	if len(rest) > 0 {
		return nil, errors.New("there are bytes after the last change")
	}
	return all, nil
}

// count returns the number of changes, after checking that the table fits into the body.
func (b body) count() (int, error) {
	if len(b) < 4 {
		return 0, errors.New("its changes are cut short")
	}
	count := uint64(binary.BigEndian.Uint32(b))
	if count*bodyEntry > uint64(len(b)-4) {
		return 0, errors.New("its table of changes is cut short")
	}
	return int(count), nil
}

// verify compares a change with its checksum.
func (b body) verify(n StepNumber, i int, data []byte) error {
	sum := changeSum(n, i, data)
	if at := 4 + bodyEntry*i + 4; string(sum[:bodySum]) != string(b[at:at+bodySum]) {
		return fmt.Errorf("change %d: %w", i, errSeal)
	}
	return nil
}

func (r *changeRecord) change() (Change, error) {
	c := Change{Op: r.Op, ID: r.ID, After: r.After}
	if len(r.Block) > 0 {
		c.Block = new(Block)
		if err := decode(r.Block, c.Block); err != nil {
			return c, err
		}
	}
	return c, nil
}

// changes returns the verified, decoded changes.
func (b body) changes(n StepNumber) ([]Change, error) {
	records, err := b.records(n)
	if err != nil || len(records) == 0 {
		return nil, err
	}
	changes := make([]Change, len(records))
	for i, data := range records {
		var r changeRecord
		if err := decode(data, &r); err != nil {
			return nil, err
		}
		if changes[i], err = r.change(); err != nil {
			return nil, err
		}
	}
	return changes, nil
}
