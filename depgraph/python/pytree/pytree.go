package pytree

// #include "flatten.h"
import "C"

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"sync"
	"unsafe"

	_ "github.com/smacker/go-tree-sitter"        // defines the ts_ functions
	_ "github.com/smacker/go-tree-sitter/python" // defines the grammar
)

// Node is one node of a flattened tree. The subtree of node i is nodes i to Next-1; its first child is i+1.
type Node struct {
	Sym        Symbol
	_          uint16
	Start, End uint32 // byte range in the source
	Next       uint32 // index of the first node after the subtree
}

// Error reports the first place at which a source does not parse.
type Error struct {
	Start, End int  // byte range in the source
	Missing    bool // something is missing at Start; otherwise the parser does not understand the range
	Deep       bool // it parses, but the tree is too deep at Start
}

func (e *Error) Error() string { return fmt.Sprintf("does not parse at byte %d", e.Start) }

// maxDepth bounds how deep a tree may be. Those who walk trees recurse, and Go ends the process where a stack is full.
// CPython compiles nothing so deep: it takes 200 brackets, and about 5000 operators in a row.
const maxDepth = 10_000

// ErrTooLarge is returned for sources of 2 GB and more.
var ErrTooLarge = errors.New("pytree: source too large")

type parser struct{ p unsafe.Pointer }

var parsers = sync.Pool{New: func() any {
	p := &parser{C.pt_parser_new()}
	if p.p == nil {
		panic("pytree: internal error: the linked grammar and parser do not fit each other")
	}
	runtime.AddCleanup(p, func(c unsafe.Pointer) { C.pt_parser_delete(c) }, p.p)
	return p
}}

// Tree is a flattened tree. Its nodes are in C memory and are valid until Close.
type Tree struct {
	Nodes []Node
	c     *C.pt_node
}

// Close frees the tree.
func (t *Tree) Close() {
	C.pt_free(t.c)
	t.c, t.Nodes = nil, nil
}

// Parse parses Python source. The error is an *Error or ErrTooLarge.
func Parse(src []byte) (*Tree, error) {
	if len(src) >= math.MaxInt32 {
		return nil, ErrTooLarge
	}
	p := parsers.Get().(*parser)
	r := C.pt_parse(p.p, text(src), C.uint32_t(len(src)))
	runtime.KeepAlive(p)
	parsers.Put(p)
	switch r.status {
	case C.PT_OK:
		t := &Tree{unsafe.Slice((*Node)(unsafe.Pointer(r.nodes)), int(r.count)), r.nodes}
		if at := tooDeep(t.Nodes); at >= 0 {
			defer t.Close()
			return nil, &Error{Start: int(t.Nodes[at].Start), End: int(t.Nodes[at].End), Deep: true}
		}
		return t, nil
	case C.PT_ERROR, C.PT_MISSING:
		return nil, &Error{Start: int(r.start), End: int(r.end), Missing: r.status == C.PT_MISSING}
	case C.PT_MEMORY:
		panic("pytree: out of memory")
	}
	panic("pytree: internal error: no tree")
}

// tooDeep returns the first node that lies too deep, or -1.
func tooDeep(nodes []Node) int {
	var open []uint32 // the ends of the subtrees that a node lies in
	for i := range nodes {
		for len(open) > 0 && open[len(open)-1] <= uint32(i) {
			open = open[:len(open)-1]
		}
		if open = append(open, nodes[i].Next); len(open) > maxDepth {
			return i
		}
	}
	return -1
}

// Bare parses a source and drops the result. Benchmarks compare with it.
func Bare(src []byte) {
	p := parsers.Get().(*parser)
	C.pt_bare(p.p, text(src), C.uint32_t(len(src)))
	runtime.KeepAlive(p)
	parsers.Put(p)
}

func text(src []byte) *C.char {
	if len(src) == 0 {
		src = []byte{0}
	}
	return (*C.char)(unsafe.Pointer(unsafe.SliceData(src)))
}
