package runner

import (
	"cmp"
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/runner/kernel"
	"github.com/xstate-engine/xstate/state"
)

// A Planner keeps a plan across edits. A walk visits every node of a program. The planner keeps each node's writes and
// the keys that its decision read. After an edit it decides only about nodes that may change. It is not safe for
// concurrent use.
//
// Nouns: a finding is what was decided about a node: the trace that is reused, or why none is, and what that writes. A
// node has queried a key when its decision looked at what the key has there. To requeue a node is to have it decided
// again.
//
// A decision (Engine.decide, the same that a walk makes) sees the program through an interface, place. The planner
// notes every query, as the kernel notes the reads of a node that executes. So the decision depends on what it queried,
// also where a trace was not valid, or a reason was looked for. For each key there are the nodes that write it and
// those that queried it, in program order. The value of a key at a node is what the last writer before it wrote: a
// binary search. Blocks have labels that state their order and survive insertions and moves.
//
// The invariant: between two plans, the finding of each node that is not queued is the one that a decision at its place
// would return. An edit makes or retracts findings, and queues the nodes of the block. Queued nodes are decided in
// program order, so all nodes before one are up to date. Where a node's write gets another digest, the planner requeues
// the nodes that queried the key, after it and up to the next writer. Where only the writer differs, it requeues only
// nodes whose reason may name the writer.
//
// To requeue too many nodes costs time. To requeue too few is the fault. So the planner has internal keys for what no
// single key shows, and every change that might matter requeues their readers: which names have values, which files and
// environment variables were written, what values reach, and the text of a block that a result cites. Where names share
// objects, a change of what says so, or of what writes or touches one of them, requeues all nodes that queried one.
// Each plan reads the base state again. So a plan after no edit costs what the files and packages cost that the program
// looks at.
//
// Traces also come from elsewhere. The store lists the codes that got some (state.Store.TracedSince), and the planner
// queues their nodes. Where the store cannot list them, because another process wrote or results were freed, the
// planner queues all nodes. The next walk misses a result that was removed from the store by hand; the planner does
// not. Where a package is found in another place than before, or a block reads otherwise than it did, the planner
// starts again, and the program is walked (errNeedsWalk).
//
// Plans of an open session come from a planner. Runs walk, for two reasons. The argument for soundness is about walks:
// a planner with a fault gives a wrong plan, and no wrong result. And a run returns every block's outputs, values and
// marks, so it reads every trace. That is what a walk takes its time for (of its processor time, results are 36%, texts
// 25%, the program as recorded 15%), and to skip the decisions would not save it. A run of a file that has nothing to
// do needs no walk either, see Preconditions.
//
// That planner and walk agree about every node is tested with programs, traces and edits drawn at random
// (TestPlannerEqualsWalk), and before and after each run of the sessions in testdata. XSTATE_VERIFY=plan compares them
// in use.
//
// Why the simple ways fail. To keep only the reads of the valid trace: an older or newer trace, which was not valid for
// a key that the present one does not read, may be valid next time, and comes first. To keep digests by node index: an
// insertion moves them all. To compare all nodes' keys with what they were: that is the walk.
//
// Memory is flat. A node takes 80 bytes, a key 32, a digest 32, and what finds one of them 7. Lists of numbers lie in
// one array. A Go slice or a string of hex for each would take three times as much. Facts of blocks are not kept: the
// facts for a visited block are read again, at 20 µs each.
type Planner struct {
	e     *Engine
	fetch func(context.Context, state.BlockID) (state.ProgramBlock, error) // reads a block of the present program

	blocks     []trackedBlock
	byID       table
	freeBlocks []uint32
	stale      map[uint32]bool             // blocks to be fetched
	refused    map[uint32]*state.ExecError // blocks that cannot be analysed
	features   map[uint32][]string         // __future__ features, by the blocks that import them
	units      map[uint32]*unit            // some blocks as they were fetched
	calls      ownCalls
	first      uint32 // the first block that has nodes

	nodes     []trackedNode
	freeNodes []uint32
	goneNodes []uint32 // free once the queue no longer holds them
	codes     table    // by code, the first node that has it
	open      map[uint32]*PlanNode
	openMost  int                      // its largest size: a map that was large is slow to iterate over
	failed    map[uint32]state.BlockID // the block whose failure poisons what a node writes
	shared    map[uint32]aliasFact

	keys     []trackedKey
	byKey    table
	bySpace  map[string][]uint32     // files and variables of the environment
	base     map[uint32]state.Digest // what the base state returned
	partners map[string]map[pair]int // name → pairs that some node lists it in, and how many nodes do

	lists   lists
	pieces  pieces
	digests [][32]byte
	freeDig []uint32
	texts   []string // digests that are not of content
	byText  map[string]uint32

	queue  []uint32
	heaped bool
	cursor state.Cursor
	moved  int // how often the base state had moved when the planner was made
	work   Work
	ctx    context.Context // the context for the plan under way
}

// trackedNode is the planner's record of a node.
type trackedNode struct {
	block, at uint32
	code      [16]byte // the beginning of its digest: enough to distinguish codes
	trace     [32]byte // the reused result, if flagTrace
	writes    list     // pairs: the key, the digest
	queried   list     // keys, ascending
	same      uint32   // the next node with this code
	flags     uint8
}

const (
	flagQueued  = 1 << iota // it is to be decided again
	flagGone                // it was deleted
	flagTrace               // a result is reused
	flagFails               // it failed or is blocked: so are the later nodes of its block
	flagUnknown             // it has to run first, so what it may write is unknown
)

// trackedKey is a key, with the nodes that write it and those that queried it, in program order.
type trackedKey struct {
	name             depgraph.Key
	writers, readers row
}

// Internal keys of the planner. They represent what no single key shows.
const (
	keyReach depgraph.Key = "\x00reach"  // what values reach
	keyFile  depgraph.Key = "\x00file"   // which files were written
	keyEnv   depgraph.Key = "\x00env"    // which variables of the environment were written
	keyText               = "\x00text:"  // the text of a block
	keyTouch              = "\x00touch:" // a name whose aliases a node observed
	keyShare              = "\x00share:" // a pair of names
)

// NewPlanner returns the planner of an empty program. fetch returns a block of the present program, with its last
// outcome.
func (e *Engine) NewPlanner(fetch func(context.Context, state.BlockID) (state.ProgramBlock, error)) *Planner {
	pl := &Planner{e: e, fetch: fetch}
	pl.clear()
	return pl
}

func (pl *Planner) clear() {
	*pl = Planner{e: pl.e, fetch: pl.fetch, blocks: make([]trackedBlock, 1), stale: map[uint32]bool{},
		refused: map[uint32]*state.ExecError{}, features: map[uint32][]string{}, units: map[uint32]*unit{},
		nodes: make([]trackedNode, 1),
		open:  map[uint32]*PlanNode{}, failed: map[uint32]state.BlockID{}, shared: map[uint32]aliasFact{},
		keys: make([]trackedKey, 1), bySpace: map[string][]uint32{}, base: map[uint32]state.Digest{},
		partners: map[string]map[pair]int{}, byText: map[string]uint32{}, digests: make([][32]byte, digFirst),
		moved: pl.e.baseState.Moved}
	pl.byID.hash = func(x uint32) uint64 { return hashText(pl.blocks[x].id) }
	pl.byKey.hash = func(k uint32) uint64 { return hashText(pl.keys[k].name) }
	pl.codes.hash = func(n uint32) uint64 { return binary.LittleEndian.Uint64(pl.nodes[n].code[:]) }
	_, pl.cursor, _ = pl.e.cfg.Store.TracedSince(state.Cursor{})
}

// Change notes a change of the program. The next plan fetches the block.
func (pl *Planner) Change(op state.Op, id, after state.BlockID) error {
	x, at := pl.block(id), pl.block(after)
	if (x != 0) == (op == state.OpInsert) || after != "" && at == 0 || after == id {
		return fmt.Errorf("the planner cannot apply %q to block %q", op, id)
	}
	switch op {
	case state.OpInsert:
		x = pl.newBlock(id)
		pl.link(x, at)
		pl.stale[x] = true
	case state.OpUpdate:
		pl.stale[x] = true
	case state.OpMove:
		for _, n := range pl.lists.of(pl.blocks[x].nodes) {
			pl.retract(n)
		}
		pl.unlink(x)
		pl.link(x, at)
		pl.stale[x] = true
		if pl.features[x] != nil {
			pl.staleAll()
		}
	case state.OpDelete:
		pl.resize(x, 0)
		pl.textChanged(x)
		pl.unlink(x)
		pl.byID.remove(x)
		delete(pl.stale, x)
		delete(pl.refused, x)
		delete(pl.units, x)
		pl.calls.set(x, nil)
		if pl.features[x] != nil {
			delete(pl.features, x)
			pl.staleAll()
		}
		if pl.first == x {
			pl.first = 0
		}
		pl.freeBlocks = append(pl.freeBlocks, x)
	}
	return nil
}

func (pl *Planner) newBlock(id state.BlockID) uint32 {
	x := uint32(len(pl.blocks))
	if n := len(pl.freeBlocks); n > 0 {
		x, pl.freeBlocks = pl.freeBlocks[n-1], pl.freeBlocks[:n-1]
		pl.blocks[x] = trackedBlock{id: id}
	} else {
		pl.blocks = append(pl.blocks, trackedBlock{id: id})
	}
	pl.byID.add(x)
	return x
}

// block returns the block with an id, or 0.
func (pl *Planner) block(id state.BlockID) uint32 {
	return pl.byID.find(hashText(id), func(x uint32) bool { return pl.blocks[x].id == id })
}

func (pl *Planner) staleAll() {
	for x := pl.blocks[0].next; x != 0; x = pl.blocks[x].next {
		pl.stale[x] = true
	}
}

// maxUnits bounds the blocks that are kept as they were fetched.
const maxUnits = 512

// unit returns a block with its nodes.
func (pl *Planner) unit(ctx context.Context, x uint32) (*unit, error) {
	if u := pl.units[x]; u != nil {
		return u, nil
	}
	b, err := pl.fetch(ctx, pl.blocks[x].id)
	if err != nil {
		return nil, err
	}
	u := &unit{ProgramBlock: b}
	cache := pl.e.facts
	if cache[factsKey(b)] == nil {
		cache = map[state.Digest]*depgraph.Facts{} // the engine's own cache is for whole programs
	}
	u.read(pl.e.options, cache, pl.e.refused)
	if len(pl.units) >= maxUnits {
		clear(pl.units)
	}
	pl.units[x] = u
	return u, nil
}

// cutUnit makes the nodes of a unit.
func (pl *Planner) cutUnit(x uint32, u *unit) {
	if u.err != nil || u.nodes != nil {
		return
	}
	first := 1
	if x == pl.first {
		first = 0
	}
	var future []string
	for y, more := range pl.features {
		if pl.blocks[y].label <= pl.blocks[x].label {
			future = withFeatures(future, more)
		}
	}
	u.cut(pl.e.options, future, first, nil, nil)
}

// refresh fetches the changed blocks, and queues their nodes.
func (pl *Planner) refresh(ctx context.Context) error {
	changed := func(x uint32, future []string) bool {
		if slices.Equal(pl.features[x], future) {
			return false
		}
		if pl.features[x] = future; len(future) == 0 {
			delete(pl.features, x)
		}
		return true
	}
	for x := range pl.stale {
		delete(pl.units, x)
	}
	all := false
	// in order: blocks that were committed together lie together in the store
	for _, x := range pl.sortedBlocks(maps.Keys(pl.stale)) {
		u, err := pl.unit(ctx, x)
		if err != nil {
			return err
		}
		count := 0
		if u.err == nil {
			count = len(u.facts.Nodes)
			all = changed(x, u.facts.Features) || all
			pl.calls.set(x, u.facts)
		} else {
			pl.calls.set(x, nil)
			all = changed(x, nil) || all
		}
		if (pl.blocks[x].nodes.n == 1) != (count == 1) {
			pl.renamed(x)
		}
		pl.resize(x, uint32(count))
		if delete(pl.refused, x); u.err != nil {
			pl.refused[x] = u.err
		}
		pl.textChanged(x)
		pl.cutAll(x, u)
	}
	if err := pl.checkUnfolding(ctx); err != nil {
		return err
	}
	pl.stale = map[uint32]bool{} // a new map: one that was emptied still costs its former size
	if all {
		pl.staleAll()
	}
	first := pl.blocks[0].next
	for first != 0 && pl.blocks[first].nodes.n == 0 {
		first = pl.blocks[first].next
	}
	if first != pl.first {
		pl.stale[pl.first], pl.stale[first] = true, true
		pl.first = first
		delete(pl.stale, 0)
	}
	for _, x := range pl.sortedBlocks(maps.Keys(pl.stale)) { // their codes depend on other blocks
		delete(pl.units, x)
		u, err := pl.unit(ctx, x)
		if err != nil {
			return err
		}
		pl.cutAll(x, u)
	}
	pl.stale = map[uint32]bool{}
	return nil
}

// sortedBlocks returns blocks in program order.
func (pl *Planner) sortedBlocks(blocks iter.Seq[uint32]) []uint32 {
	return slices.SortedFunc(
		blocks,
		func(x, y uint32) int { return cmp.Compare(pl.blocks[x].label, pl.blocks[y].label) },
	)
}

// cutAll gives the nodes of a block their codes, and queues them.
func (pl *Planner) cutAll(x uint32, u *unit) {
	pl.cutUnit(x, u)
	for i, n := range pl.lists.of(pl.blocks[x].nodes) {
		pl.recode(n, u.nodes[i].code)
		pl.push(n)
	}
}

// resize adds nodes at the end of a block, or removes them there.
func (pl *Planner) resize(x, count uint32) {
	b := &pl.blocks[x]
	for b.nodes.n > count {
		n := pl.lists.of(b.nodes)[b.nodes.n-1]
		pl.retract(n)
		pl.uncode(n)
		pl.nodes[n].flags |= flagGone
		pl.goneNodes = append(pl.goneNodes, n)
		b.nodes = pl.lists.sized(b.nodes, b.nodes.n-1)
	}
	for b.nodes.n < count {
		n := uint32(len(pl.nodes))
		if free := len(pl.freeNodes); free > 0 {
			n, pl.freeNodes = pl.freeNodes[free-1], pl.freeNodes[:free-1]
		} else {
			pl.nodes = append(pl.nodes, trackedNode{})
		}
		pl.nodes[n] = trackedNode{block: x, at: b.nodes.n}
		b.nodes = pl.lists.insert(b.nodes, int(b.nodes.n), n)
	}
}

// renamed queues the nodes whose reason names a node of block x.
func (pl *Planner) renamed(x uint32) {
	id := string(pl.blocks[x].id)
	for n, p := range pl.open {
		if p.Reason.By == id || strings.HasPrefix(p.Reason.By, id+"#") {
			pl.push(n)
		}
	}
}

// textChanged queues the nodes whose results cite block x.
func (pl *Planner) textChanged(x uint32) {
	if k := pl.known(depgraph.Key(keyText + string(pl.blocks[x].id))); k != 0 {
		for n := range pl.from(pl.keys[k].readers, 0) {
			pl.push(n)
		}
	}
}

// recode sets the code of a node.
func (pl *Planner) recode(n uint32, code state.Digest) {
	raw := shortCode(code)
	if pl.nodes[n].code == raw {
		return
	}
	pl.uncode(n)
	first := pl.coded(raw)
	if pl.nodes[n].code = raw; first == 0 {
		pl.codes.add(n)
		return
	}
	pl.nodes[n].same, pl.nodes[first].same = pl.nodes[first].same, n
}

// coded returns the first node that has a code, or 0.
func (pl *Planner) coded(code [16]byte) uint32 {
	return pl.codes.find(binary.LittleEndian.Uint64(code[:]), func(n uint32) bool { return pl.nodes[n].code == code })
}

// uncode removes the code of a node, if it has one.
func (pl *Planner) uncode(n uint32) {
	node := &pl.nodes[n]
	at := pl.coded(node.code)
	if at == n {
		if pl.codes.remove(n); node.same != 0 {
			pl.codes.add(node.same)
		}
	} else if at != 0 {
		for pl.nodes[at].same != n {
			at = pl.nodes[at].same
		}
		pl.nodes[at].same = node.same
	}
	node.code, node.same = [16]byte{}, 0
}

func shortCode(code state.Digest) [16]byte {
	raw := rawDigest(code)
	return [16]byte(raw[:16])
}

// noteTraces queues the nodes whose code got a trace since the last plan, or all nodes where the store cannot list
// them.
func (pl *Planner) noteTraces() {
	codes, now, ok := pl.e.cfg.Store.TracedSince(pl.cursor)
	pl.cursor = now
	if !ok {
		for x := pl.blocks[0].next; x != 0; x = pl.blocks[x].next {
			for _, n := range pl.lists.of(pl.blocks[x].nodes) {
				pl.push(n)
			}
		}
		return
	}
	for _, code := range codes {
		for n := pl.coded(shortCode(code)); n != 0; n = pl.nodes[n].same {
			pl.push(n)
		}
	}
}

// errNeedsWalk reports that the planner cannot decide what a walk would: its index lacks what some decision looks at.
var errNeedsWalk = errors.New("the program must be walked")

// Plan brings the planner up to date, and returns what it plans. It decides about the nodes that the changes since the
// last plan may affect, and no others. program returns all blocks: for a plan that the planner cannot make, which costs
// a walk, and for callers of Plan.Blocks.
func (pl *Planner) Plan(
	ctx context.Context,
	program func(context.Context) ([]state.ProgramBlock, error),
) (*Plan, error) {
	walk := func(ctx context.Context) (*Plan, error) {
		blocks, err := program(ctx)
		if err != nil {
			return nil, err
		}
		return pl.e.Plan(ctx, blocks)
	}
	pl.e.baseState.Begin()
	if err := pl.e.adoptRelatives(); err != nil {
		return nil, err
	}
	if len(pl.e.editedFiles()) > 0 {
		return walk(ctx)
	}
	err := pl.drainQueue(ctx)
	if err == nil {
		return pl.plan(walk), nil
	}
	pl.restart()
	if errors.Is(err, errNeedsWalk) {
		debugf("plan", "%v", err)
		return walk(ctx)
	}
	return nil, err
}

// plan lists the nodes that are not simply reused.
func (pl *Planner) plan(walk func(context.Context) (*Plan, error)) *Plan {
	p := &Plan{Total: len(pl.nodes) - 1 - len(pl.freeNodes) - len(pl.goneNodes), Work: pl.work, walk: walk}
	pl.work = Work{}
	if pl.openMost = max(pl.openMost, len(pl.open)); pl.openMost > 8*len(pl.open)+1024 {
		open := make(map[uint32]*PlanNode, len(pl.open))
		maps.Copy(open, pl.open)
		pl.open, pl.openMost = open, len(open)
	}
	for _, n := range pl.sorted(maps.Keys(pl.open)) {
		p.Nodes = append(p.Nodes, *pl.open[n])
	}
	for _, x := range pl.sortedBlocks(maps.Keys(pl.refused)) {
		p.Refused = append(p.Refused, pl.refused[x])
	}
	return p
}

// restart forgets everything but which blocks there are.
func (pl *Planner) restart() {
	var ids []state.BlockID
	for x := pl.blocks[0].next; x != 0; x = pl.blocks[x].next {
		ids = append(ids, pl.blocks[x].id)
	}
	pl.clear()
	for _, id := range ids {
		x := pl.newBlock(id)
		pl.link(x, pl.blocks[0].prev)
		pl.stale[x] = true
	}
}

// drainQueue decides about the queued nodes, and about those that these decisions queue.
func (pl *Planner) drainQueue(ctx context.Context) error {
	pl.heaped = false
	pl.noteTraces()
	if err := pl.refresh(ctx); err != nil {
		return err
	}
	pl.rebase()
	pl.heap()
	for len(pl.queue) > 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := pl.visit(ctx, pl.pop()); err != nil {
			return err
		}
		if len(pl.queue) == 0 {
			pl.rebase() // a trace may have said where the version of a package is read
		}
	}
	pl.heaped = false
	if pl.e.cfg.Ends && slices.ContainsFunc(pl.keys, func(k trackedKey) bool {
		_, plain := k.name.Cut()
		return plain == kernel.KeyEnd && k.writers.n > 0
	}) {
		return fmt.Errorf("%w: the program leaves something for its end", errNeedsWalk)
	}
	if pl.e.baseState.Moved != pl.moved {
		return fmt.Errorf("%w: a package has moved", errNeedsWalk)
	}
	return nil
}

// rebase reads again what keys have before the first node.
func (pl *Planner) rebase() {
	for k, was := range pl.base {
		if pl.keys[k].readers.n == 0 {
			delete(pl.base, k)
			continue
		}
		if now := pl.e.baseState.Get(pl.keys[k].name); now != was {
			pl.base[k] = now
			pl.requeue(k, 0, true)
		}
	}
}

func rawDigest(d state.Digest) (raw [32]byte) {
	if n, err := hex.Decode(raw[:], []byte(d)); err != nil || n != len(raw) {
		panic("runner: internal error: " + string(d) + " is no digest of content")
	}
	return raw
}

func hexDigest(raw *[32]byte) state.Digest { return state.Digest(hex.EncodeToString(raw[:])) }
