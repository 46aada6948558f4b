package jstree

// #include "flatten.h"
import "C"

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"sync"
	"unsafe"

	sitter "github.com/smacker/go-tree-sitter"
	"github.com/smacker/go-tree-sitter/javascript"
	"github.com/smacker/go-tree-sitter/typescript/tsx"
	"github.com/smacker/go-tree-sitter/typescript/typescript"
)

// Language is one of the grammars.
type Language int

// The grammar of JavaScript includes JSX.
const (
	JavaScript Language = iota
	TypeScript
	TSX
)

// Node is one node of a flattened tree. The subtree of node i is nodes i to Next-1; its first child is i+1.
type Node struct {
	Kind       Kind
	Field      Field
	flags      uint8
	Start, End uint32 // byte range in the source
	Next       uint32 // index of the first node after the subtree
}

// Missing reports whether the parser inserted the node, which has no text.
func (n *Node) Missing() bool { return n.flags&C.JT_MISSING != 0 }

// Broken reports whether the parser recovered from an error in the node.
func (n *Node) Broken() bool { return n.flags&C.JT_BROKEN != 0 }

// SyntaxError reports the first place at which a source does not parse.
type SyntaxError struct {
	Start, End int  // byte range in the source
	Missing    bool // something is missing at Start; otherwise the parser does not understand the range
	Deep       bool // it parses, but the tree is too deep at Start
}

func (e *SyntaxError) Error() string { return fmt.Sprintf("does not parse at byte %d", e.Start) }

// maxDepth bounds how deep a tree may be. Those who walk trees recurse, and Go ends the process where a stack is full.
const maxDepth = 10_000

// ErrTooLarge is returned for sources of 2 GB and more.
var ErrTooLarge = errors.New("jstree: source too large")

// grammar is a language with the tables that translate its numbers.
type grammar struct {
	parsers sync.Pool
	kinds   []C.uint16_t // by symbol; the last entry is the kind that remains inside of templates
	fields  [256]C.uint8_t
}

type parser struct{ p unsafe.Pointer }

var grammars = [...]func() *grammar{
	JavaScript: sync.OnceValue(func() *grammar { return newGrammar(JavaScript, javascript.GetLanguage()) }),
	TypeScript: sync.OnceValue(func() *grammar { return newGrammar(TypeScript, typescript.GetLanguage()) }),
	TSX:        sync.OnceValue(func() *grammar { return newGrammar(TSX, tsx.GetLanguage()) }),
}

// dropped are symbols that leave no node, leaves those whose children leave none.
var (
	dropped = map[string]bool{"comment": true, "html_comment": true}
	leaves  = map[Kind]bool{String: true, Regex: true}
)

func newGrammar(l Language, lang *sitter.Language) *grammar {
	g := &grammar{kinds: make([]C.uint16_t, lang.SymbolCount()+1)}
	g.parsers.New = func() any {
		p := &parser{C.jt_parser_new(C.int(l))}
		if p.p == nil {
			panic("jstree: internal error: the linked grammar and parser do not fit each other")
		}
		runtime.AddCleanup(p, func(c unsafe.Pointer) { C.jt_parser_delete(c) }, p.p)
		return p
	}
	byName := map[string]Kind{}
	for k, name := range kindNames {
		byName[name] = Kind(k)
	}
	for s := range lang.SymbolCount() {
		name, typ := lang.SymbolName(sitter.Symbol(s)), lang.SymbolType(sitter.Symbol(s))
		if typ != sitter.SymbolTypeRegular {
			continue
		}
		kind := byName[name]
		g.kinds[s] = C.uint16_t(kind)
		switch {
		case dropped[name]:
			g.kinds[s] = C.JT_DROP
		case leaves[kind]:
			g.kinds[s] |= C.JT_LEAF
		case kind == TemplateString:
			g.kinds[s] |= C.JT_PARTS
		}
	}
	g.kinds[lang.SymbolCount()] = C.uint16_t(TemplateSubstitution)
	for f, name := range fieldNames {
		for id := 1; lang.FieldName(id) != ""; id++ {
			if lang.FieldName(id) == name {
				g.fields[id] = C.uint8_t(f)
			}
		}
	}
	return g
}

// Tree is a flattened tree. Its nodes are in C memory and are valid until Close.
type Tree struct {
	Nodes  []Node
	Broken *SyntaxError // the first error, or nil
	c      *C.jt_node
}

// Close frees the tree.
func (t *Tree) Close() {
	C.jt_free(t.c)
	t.c, t.Nodes = nil, nil
}

// Parse parses a source. It is safe for concurrent use. A source that does not parse gives a tree as well: its Broken
// is set, and nodes of kind Error show where the parser recovered. A tree that is too deep has one such node in its
// root. The only error is ErrTooLarge.
func Parse(src []byte, l Language) (*Tree, error) {
	if len(src) >= math.MaxInt32 {
		return nil, ErrTooLarge
	}
	g := grammars[l]()
	p := g.parsers.Get().(*parser)
	r := C.jt_parse(p.p, &g.kinds[0], C.uint16_t(len(g.kinds)-1), &g.fields[0], text(src), C.uint32_t(len(src)))
	runtime.KeepAlive(p)
	g.parsers.Put(p)
	switch r.status {
	case C.JT_NO_MEMORY:
		panic("jstree: out of memory")
	case C.JT_NO_TREE:
		panic("jstree: internal error: no tree")
	}
	t := &Tree{Nodes: unsafe.Slice((*Node)(unsafe.Pointer(r.nodes)), int(r.count)), c: r.nodes}
	if r.broken {
		t.Broken = &SyntaxError{Start: int(r.start), End: int(r.end), Missing: bool(r.missing)}
	}
	if at := tooDeep(t.Nodes); at >= 0 {
		t.Broken = &SyntaxError{Start: int(t.Nodes[at].Start), End: int(t.Nodes[at].End), Deep: true}
		t.Nodes = t.Nodes[:2]
		t.Nodes[0].Next = 2
		t.Nodes[1] = Node{Kind: Error, Start: t.Nodes[0].Start, End: t.Nodes[0].End, Next: 2}
	}
	return t, nil
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

func text(src []byte) *C.char {
	if len(src) == 0 {
		src = []byte{0}
	}
	return (*C.char)(unsafe.Pointer(unsafe.SliceData(src)))
}
