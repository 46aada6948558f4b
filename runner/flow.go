package runner

import (
	"cmp"
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/state"
)

// Flow is the plan of a program that is edited: what Plan says of each node, with what each node wrote and what was asked to decide
// about it, so that after an edit only those are decided anew whose answers may be others. See "The flow" in the package's
// documentation. It is not safe for concurrent use.
type Flow struct {
	e     *Engine
	fetch func(context.Context, state.BlockID) (Block, error) // as the program is now

	blocks     []flowBlock
	byID       table
	freeBlocks []uint32
	stale      map[uint32]bool             // blocks that are to be fetched
	bad        map[uint32]*state.ExecError // blocks that cannot be analysed
	features   map[uint32][]string         // of __future__, by the blocks that import them
	units      map[uint32]*unit            // some blocks as they were fetched
	first      uint32                      // the first block that has nodes

	nodes     []flowNode
	freeNodes []uint32
	goneNodes []uint32 // to be free once nobody waits
	codes     table    // by code, the first node that has it
	open      map[uint32]*PlanNode
	openMost  int                      // that there were: a map that was large is slow to go through
	failed    map[uint32]state.BlockID // the block whose failure poisons what a node writes
	shared    map[uint32]saying

	keys     []flowKey
	byKey    table
	bySpace  map[string][]uint32     // files and variables of the environment
	base     map[uint32]state.Digest // what the world said
	partners map[string]map[pair]int // name → pairs that some node says it is in, and how many do

	lists   lists
	pieces  pieces
	digests [][32]byte
	freeDig []uint32
	texts   []string // digests that are none of content
	byText  map[string]uint32

	waiting []uint32
	heaped  bool
	mark    state.Cursor
	moved   int // of world, when the flow was made
	work    Work
	ctx     context.Context // of the plan under way
}

// flowNode is what is known of a node.
type flowNode struct {
	block, at uint32
	code      [16]byte // of its digest: enough to tell codes apart
	trace     [32]byte // that is reused, if flagTrace
	writes    list     // pairs: the key, the digest
	asked     list     // keys, ascending
	same      uint32   // the next node whose code begins so
	flags     uint8
}

const (
	flagWaits    = 1 << iota // it is to be decided
	flagGone                 // it is no more
	flagTrace                // a result is reused
	flagFails                // that is a failure
	flagSupposed             // what it writes is supposed: it was not executed
)

// flowKey is a key with the nodes that write it and those that asked for it, in program order.
type flowKey struct {
	name             depgraph.Key
	writers, readers row
}

// Keys of a flow's own. They stand for what no one key tells.
const (
	askReach depgraph.Key = "\x00reach"  // what values reach
	askFile  depgraph.Key = "\x00file"   // which files were written
	askEnv   depgraph.Key = "\x00env"    // which variables of the environment were written
	askText               = "\x00text:"  // the text of a block
	askTouch              = "\x00touch:" // a name whose sharing a node saw
	askShare              = "\x00share:" // a pair of names
)

// Work counts what a plan took.
type Work struct {
	Enqueued int // nodes whose answers may be others
	Visited  int // nodes decided anew
	Compared int // traces compared
}

// Affected is a plan by those nodes that are not simply reused.
type Affected struct {
	Nodes []PlanNode  // in program order: those that run, may run or are blocked
	Bad   []PlanBlock // blocks that cannot be analysed
	Total int         // nodes of the program
	Work  Work        // since the last plan
}

// NewFlow returns the flow of an empty program. fetch gives a block as the program has it now, with its last outcome.
func (e *Engine) NewFlow(fetch func(context.Context, state.BlockID) (Block, error)) *Flow {
	f := &Flow{e: e, fetch: fetch}
	f.clear()
	return f
}

func (f *Flow) clear() {
	*f = Flow{e: f.e, fetch: f.fetch, blocks: make([]flowBlock, 1), stale: map[uint32]bool{},
		bad: map[uint32]*state.ExecError{}, features: map[uint32][]string{}, units: map[uint32]*unit{}, nodes: make([]flowNode, 1),
		open: map[uint32]*PlanNode{}, failed: map[uint32]state.BlockID{}, shared: map[uint32]saying{},
		keys: make([]flowKey, 1), bySpace: map[string][]uint32{}, base: map[uint32]state.Digest{},
		partners: map[string]map[pair]int{}, byText: map[string]uint32{}, digests: make([][32]byte, digFirst), moved: f.e.world.moved}
	f.byID.hash = func(x uint32) uint64 { return hashText(f.blocks[x].id) }
	f.byKey.hash = func(k uint32) uint64 { return hashText(f.keys[k].name) }
	f.codes.hash = func(n uint32) uint64 { return binary.LittleEndian.Uint64(f.nodes[n].code[:]) }
	_, f.mark, _ = f.e.cfg.Store.TracedSince(state.Cursor{})
}

// Change takes notice of a change of the program. Blocks are fetched when the next plan is made.
func (f *Flow) Change(op state.Op, id, after state.BlockID) error {
	x, at := f.block(id), f.block(after)
	if (x != 0) == (op == state.OpInsert) || after != "" && at == 0 || after == id {
		return fmt.Errorf("block %q of the flow cannot be changed so", id)
	}
	switch op {
	case state.OpInsert:
		x = f.newBlock(id)
		f.link(x, at)
		f.stale[x] = true
	case state.OpUpdate:
		f.stale[x] = true
	case state.OpMove:
		for _, n := range f.lists.of(f.blocks[x].nodes) {
			f.retract(n)
		}
		f.unlink(x)
		f.link(x, at)
		f.stale[x] = true
		if f.features[x] != nil {
			f.staleAll()
		}
	case state.OpDelete:
		f.resize(x, 0)
		f.textChanged(x)
		f.unlink(x)
		f.byID.remove(x)
		delete(f.stale, x)
		delete(f.bad, x)
		delete(f.units, x)
		if f.features[x] != nil {
			delete(f.features, x)
			f.staleAll()
		}
		if f.first == x {
			f.first = 0
		}
		f.freeBlocks = append(f.freeBlocks, x)
	}
	return nil
}

func (f *Flow) newBlock(id state.BlockID) uint32 {
	x := uint32(len(f.blocks))
	if n := len(f.freeBlocks); n > 0 {
		x, f.freeBlocks = f.freeBlocks[n-1], f.freeBlocks[:n-1]
		f.blocks[x] = flowBlock{id: id}
	} else {
		f.blocks = append(f.blocks, flowBlock{id: id})
	}
	f.byID.add(x)
	return x
}

// block returns the block with an id; 0: there is none.
func (f *Flow) block(id state.BlockID) uint32 {
	return f.byID.find(hashText(id), func(x uint32) bool { return f.blocks[x].id == id })
}

func (f *Flow) staleAll() {
	for x := f.blocks[0].next; x != 0; x = f.blocks[x].next {
		f.stale[x] = true
	}
}

// maxUnits is how many blocks are kept as they were fetched.
const maxUnits = 512

// unit returns a block with its nodes.
func (f *Flow) unit(ctx context.Context, x uint32) (*unit, error) {
	if u := f.units[x]; u != nil {
		return u, nil
	}
	b, err := f.fetch(ctx, f.blocks[x].id)
	if err != nil {
		return nil, err
	}
	u := &unit{Block: b}
	cache := f.e.facts
	if cache[factsKey(b)] == nil {
		cache = map[state.Digest]*depgraph.Facts{} // the engine's own is for whole programs
	}
	u.read(f.e.options.language, cache, f.e.refused)
	if len(f.units) >= maxUnits {
		clear(f.units)
	}
	f.units[x] = u
	return u, nil
}

// cutUnit gives a unit its nodes.
func (f *Flow) cutUnit(x uint32, u *unit) {
	if u.err != nil || u.nodes != nil {
		return
	}
	first := 1
	if x == f.first {
		first = 0
	}
	var future []string
	for y, more := range f.features {
		if f.blocks[y].label <= f.blocks[x].label {
			future = withFeatures(future, more)
		}
	}
	u.cut(f.e.options, future, first)
}

// refresh fetches the blocks that were changed, and lets their nodes wait for a decision.
func (f *Flow) refresh(ctx context.Context) error {
	changed := func(x uint32, future []string) bool {
		if slices.Equal(f.features[x], future) {
			return false
		}
		if f.features[x] = future; len(future) == 0 {
			delete(f.features, x)
		}
		return true
	}
	for x := range f.stale {
		delete(f.units, x)
	}
	all := false
	for _, x := range f.staleOrder() { // in order: blocks that were committed together lie together
		u, err := f.unit(ctx, x)
		if err != nil {
			return err
		}
		count := 0
		if u.err == nil {
			count = len(u.facts.Nodes)
			all = changed(x, u.facts.Features) || all
		} else {
			all = changed(x, nil) || all
		}
		if (f.blocks[x].nodes.n == 1) != (count == 1) {
			f.renamed(x)
		}
		f.resize(x, uint32(count))
		if delete(f.bad, x); u.err != nil {
			f.bad[x] = u.err
		}
		f.textChanged(x)
		f.cutAll(x, u)
	}
	f.stale = map[uint32]bool{} // one that was emptied would cost what it held
	if all {
		f.staleAll()
	}
	first := f.blocks[0].next
	for first != 0 && f.blocks[first].nodes.n == 0 {
		first = f.blocks[first].next
	}
	if first != f.first {
		f.stale[f.first], f.stale[first] = true, true
		f.first = first
		delete(f.stale, 0)
	}
	for _, x := range f.staleOrder() { // whose codes rest on other blocks
		delete(f.units, x)
		u, err := f.unit(ctx, x)
		if err != nil {
			return err
		}
		f.cutAll(x, u)
	}
	f.stale = map[uint32]bool{}
	return nil
}

// staleOrder returns the blocks that are stale, in program order.
func (f *Flow) staleOrder() []uint32 {
	return slices.SortedFunc(maps.Keys(f.stale), func(x, y uint32) int { return cmp.Compare(f.blocks[x].label, f.blocks[y].label) })
}

// cutAll gives the nodes of a block their codes, and lets them wait.
func (f *Flow) cutAll(x uint32, u *unit) {
	f.cutUnit(x, u)
	for i, n := range f.lists.of(f.blocks[x].nodes) {
		f.recode(n, u.nodes[i].code)
		f.push(n)
	}
}

// resize makes nodes at the end of a block, or takes them away.
func (f *Flow) resize(x, count uint32) {
	b := &f.blocks[x]
	for b.nodes.n > count {
		n := f.lists.of(b.nodes)[b.nodes.n-1]
		f.retract(n)
		f.uncode(n)
		f.nodes[n].flags |= flagGone
		f.goneNodes = append(f.goneNodes, n)
		b.nodes = f.lists.sized(b.nodes, b.nodes.n-1)
	}
	for b.nodes.n < count {
		n := uint32(len(f.nodes))
		if free := len(f.freeNodes); free > 0 {
			n, f.freeNodes = f.freeNodes[free-1], f.freeNodes[:free-1]
		} else {
			f.nodes = append(f.nodes, flowNode{})
		}
		f.nodes[n] = flowNode{block: x, at: b.nodes.n}
		b.nodes = f.lists.insert(b.nodes, int(b.nodes.n), n)
	}
}

// renamed lets those wait whose reason names a node of block x.
func (f *Flow) renamed(x uint32) {
	id := string(f.blocks[x].id)
	for n, p := range f.open {
		if p.Reason.By == id || strings.HasPrefix(p.Reason.By, id+"#") {
			f.push(n)
		}
	}
}

// textChanged lets those wait whose results cite block x.
func (f *Flow) textChanged(x uint32) {
	if k := f.known(depgraph.Key(askText + string(f.blocks[x].id))); k != 0 {
		for n := range f.from(f.keys[k].readers, 0) {
			f.push(n)
		}
	}
}

// recode gives a node a code.
func (f *Flow) recode(n uint32, code state.Digest) {
	raw := shortCode(code)
	if f.nodes[n].code == raw {
		return
	}
	f.uncode(n)
	first := f.coded(raw)
	if f.nodes[n].code = raw; first == 0 {
		f.codes.add(n)
		return
	}
	f.nodes[n].same, f.nodes[first].same = f.nodes[first].same, n
}

// coded returns the first node that has a code; 0: none has.
func (f *Flow) coded(code [16]byte) uint32 {
	return f.codes.find(binary.LittleEndian.Uint64(code[:]), func(n uint32) bool { return f.nodes[n].code == code })
}

// uncode takes the code of a node away, if it has one.
func (f *Flow) uncode(n uint32) {
	node := &f.nodes[n]
	at := f.coded(node.code)
	if at == n {
		if f.codes.remove(n); node.same != 0 {
			f.codes.add(node.same)
		}
	} else if at != 0 {
		for f.nodes[at].same != n {
			at = f.nodes[at].same
		}
		f.nodes[at].same = node.same
	}
	node.code, node.same = [16]byte{}, 0
}

func shortCode(code state.Digest) [16]byte {
	raw := rawDigest(code)
	return [16]byte(raw[:16])
}

// recorded lets those wait whose code has got a trace since the last plan; all, when nobody knows which these are.
func (f *Flow) recorded() {
	codes, now, ok := f.e.cfg.Store.TracedSince(f.mark)
	f.mark = now
	if !ok {
		for x := f.blocks[0].next; x != 0; x = f.blocks[x].next {
			for _, n := range f.lists.of(f.blocks[x].nodes) {
				f.push(n)
			}
		}
		return
	}
	for _, code := range codes {
		for n := f.coded(shortCode(code)); n != 0; n = f.nodes[n].same {
			f.push(n)
		}
	}
}

// ErrWalk says that a flow cannot tell what Plan would.
var ErrWalk = errors.New("the program must be walked")

// Plan brings the flow up to date. It decides anew about the nodes that are affected, and no others.
func (f *Flow) Plan(ctx context.Context) (*Affected, error) {
	f.e.world.begin()
	if err := f.e.adoptRelatives(); err != nil {
		return nil, err
	}
	if err := f.settle(ctx); err != nil {
		f.restart()
		return nil, err
	}
	a := &Affected{Total: len(f.nodes) - 1 - len(f.freeNodes) - len(f.goneNodes), Work: f.work}
	f.work = Work{}
	if f.openMost = max(f.openMost, len(f.open)); f.openMost > 8*len(f.open)+1024 {
		open := make(map[uint32]*PlanNode, len(f.open))
		maps.Copy(open, f.open)
		f.open, f.openMost = open, len(open)
	}
	ids := make([]uint32, 0, len(f.open))
	for n := range f.open {
		ids = append(ids, n)
	}
	f.sort(ids)
	for _, n := range ids {
		a.Nodes = append(a.Nodes, *f.open[n])
	}
	for x, err := range f.bad {
		a.Bad = append(a.Bad, PlanBlock{ID: f.blocks[x].id, Action: ActBlock, Reason: state.Reason{Code: ReasonSyntax}, Err: err})
	}
	return a, nil
}

// restart forgets all but which blocks there are.
func (f *Flow) restart() {
	var ids []state.BlockID
	for x := f.blocks[0].next; x != 0; x = f.blocks[x].next {
		ids = append(ids, f.blocks[x].id)
	}
	f.clear()
	for _, id := range ids {
		x := f.newBlock(id)
		f.link(x, f.blocks[0].prev)
		f.stale[x] = true
	}
}

func (f *Flow) settle(ctx context.Context) error {
	f.heaped = false
	f.recorded()
	if err := f.refresh(ctx); err != nil {
		return err
	}
	f.rebase()
	f.heap()
	for len(f.waiting) > 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := f.visit(ctx, f.pop()); err != nil {
			return err
		}
		if len(f.waiting) == 0 {
			f.rebase() // a trace may have told where the version of a package is read
		}
	}
	f.heaped = false
	if f.e.world.moved != f.moved {
		return fmt.Errorf("%w: a package has moved", ErrWalk)
	}
	return nil
}

// rebase asks the world again what keys have before the first node.
func (f *Flow) rebase() {
	for k, was := range f.base {
		if f.keys[k].readers.n == 0 {
			delete(f.base, k)
			continue
		}
		if now := f.e.world.get(f.keys[k].name); now != was {
			f.base[k] = now
			f.wake(k, 0, true)
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
