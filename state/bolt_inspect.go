package state

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"os"
)

// The structure of a bbolt file, as far as bbolt relies on it without checks (bbolt's internal/common). Numbers
// are in the byte order of the machine.
const (
	boltMagic   = 0xED0CDAED
	boltVersion = 2

	pageHeader  = 16 // id 8, flags 2, count 2, overflow 4
	pageElement = 16 // branch: position 4, key size 4, page 8; leaf: flags 4, position 4, key size 4, value size 4
	bucketValue = 16 // root page 8, sequence 8

	branchPage   = 0x01
	leafPage     = 0x02
	metaPage     = 0x04
	freelistPage = 0x10
	bucketLeaf   = 0x01

	maxDepth = 32 // a tree's; a branch page has at least two children, so no real tree comes near

	// inspectWhole is the largest file, in bytes in use, that is inspected down to its leaves: about 4 ms. In a larger
	// one, inspection skips most leaves, which are nearly all of the file; damage in a leaf is found when it is read.
	inspectWhole = 8 << 20
)

var native = binary.NativeEndian

// meta is the content of a meta page. bbolt writes the two in turn; each commit ends with one.
type meta struct {
	pageSize             uint32
	root, freelist, high uint64 // high: the first page number that is not in use
	txid                 uint64
}

// inspector walks the pages of a file without trusting them.
type inspector struct {
	file       io.ReaderAt
	size       int64
	whole      []byte // the file's content, if it is small
	meta       meta
	used       []bool // pages that the walk has found a reference to
	skipLeaves bool   // do not read the leaves of the current bucket
}

// inspectFile returns an error if a database file is not safe to open with bbolt. It reads with pread, never through
// a mapping: a mapping of a truncated file faults.
func inspectFile(f *os.File, info os.FileInfo) error {
	in := &inspector{file: f, size: info.Size()}
	if err := in.inspect(inspectWhole); err != nil {
		return damaged(info.Name(), "its pages are not sound", err)
	}
	return nil
}

// inspect walks all trees and the free list. Files of up to wholeUpTo bytes in use are read into memory at once.
func (in *inspector) inspect(wholeUpTo int64) error {
	if err := in.readMeta(); err != nil {
		return err
	}
	if used := int64(in.meta.high) * int64(in.meta.pageSize); used <= wholeUpTo {
		in.whole = make([]byte, used)
		if _, err := in.file.ReadAt(in.whole, 0); err != nil {
			return err
		}
	}
	in.used = make([]bool, in.meta.high)
	// The two meta pages.
	in.used[0], in.used[1] = true, true
	if err := in.tree(in.meta.root, bounds{}, 0, true); err != nil {
		return err
	}
	return in.freelist()
}

// readMeta finds the current meta page. Both must be sound: a commit damages neither, because a meta page lies in one
// sector. Continuing with the older one would silently drop the last commit.
func (in *inspector) readMeta() error {
	first, err := in.metaAt(0)
	if err != nil {
		return fmt.Errorf("meta page 0: %w", err)
	}
	second, err := in.metaAt(int64(first.pageSize))
	if err != nil {
		return fmt.Errorf("meta page 1: %w", err)
	}
	in.meta = first
	if second.txid > first.txid {
		in.meta = second
	}
	m := in.meta
	switch {
	case first.pageSize != second.pageSize || m.pageSize < 512 || m.pageSize > 1<<16:
		return fmt.Errorf("the page size is %d", m.pageSize)
	case m.high < 4 || m.high > uint64(in.size)/uint64(m.pageSize):
		return fmt.Errorf(
			"%d pages of %d bytes are in use, but the file has %d bytes: it is cut short",
			m.high,
			m.pageSize,
			in.size,
		)
	}
	return nil
}

// metaAt reads the meta page at an offset and verifies its checksum.
func (in *inspector) metaAt(offset int64) (meta, error) {
	b := make([]byte, pageHeader+metaSize)
	if _, err := in.file.ReadAt(b, offset); err != nil {
		return meta{}, fmt.Errorf("cut short: %w", err)
	}
	flags, m := native.Uint16(b[8:]), b[pageHeader:]
	h := fnv.New64a()
	h.Write(m[:56])
	switch {
	case flags != metaPage || native.Uint32(m) != boltMagic:
		return meta{}, errors.New("not a database")
	case h.Sum64() != native.Uint64(m[56:]):
		return meta{}, errSeal
	case native.Uint32(m[4:]) != boltVersion:
		return meta{}, fmt.Errorf("database version %d is not known", native.Uint32(m[4:]))
	}
	return meta{
		pageSize: native.Uint32(m[8:]), root: native.Uint64(m[16:]),
		freelist: native.Uint64(m[32:]), high: native.Uint64(m[40:]), txid: native.Uint64(m[48:]),
	}, nil
}

// bounds are the keys that a subtree may hold: from first up to but excluding end; nil means no bound.
type bounds struct{ first, end []byte }

func (b bounds) contains(key []byte) bool {
	return bytes.Compare(key, b.first) >= 0 && (b.end == nil || bytes.Compare(key, b.end) < 0)
}

// tree walks the pages under id and checks the order of their keys. Only the root tree holds buckets.
func (in *inspector) tree(id uint64, within bounds, depth int, root bool) error {
	if depth > maxDepth {
		return fmt.Errorf("page %d lies too deep", id)
	}
	p, err := in.page(id)
	if err != nil {
		return err
	}
	flags := native.Uint16(p[8:])
	switch {
	case flags == leafPage:
		return in.leaf(id, p, within, root)
	case flags != branchPage:
		return fmt.Errorf("page %d is no tree page", id)
	}
	e, err := elements(p, false)
	if err != nil {
		return fmt.Errorf("page %d: %w", id, err)
	}
	if len(e) == 0 {
		return fmt.Errorf("branch page %d is empty", id)
	}
	leaves := false
	for i, child := range e {
		sub := bounds{child.key, within.end}
		if i+1 < len(e) {
			sub.end = e[i+1].key
		}
		if !within.contains(child.key) || sub.end != nil && bytes.Compare(child.key, sub.end) >= 0 {
			return fmt.Errorf("page %d: key %d is out of order", id, i)
		}
		// Reading only the first child's header shows whether all children are leaves: bbolt keeps its trees balanced.
		// Leaves are then only marked as used, which still finds pages with two owners.
		if i == 0 && in.skipLeaves && !root {
			leaves, err = in.isLeaf(child.page)
			if err != nil {
				return err
			}
		}
		if leaves { // all children of a page have the same depth, so one look at the first suffices
			err = in.markUsed(child.page, 0)
		} else {
			err = in.tree(child.page, sub, depth+1, root)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// leaf checks the keys of a leaf page and, in the root tree, walks the buckets in it.
func (in *inspector) leaf(id uint64, p []byte, within bounds, root bool) error {
	e, err := elements(p, true)
	if err != nil {
		return fmt.Errorf("page %d: %w", id, err)
	}
	for i, item := range e {
		if !within.contains(item.key) || i > 0 && bytes.Compare(e[i-1].key, item.key) >= 0 {
			return fmt.Errorf("page %d: key %d is out of order", id, i)
		}
		switch {
		case root != (item.flags&bucketLeaf != 0):
			return fmt.Errorf("page %d: buckets and records are mixed up", id)
		case root:
			if err := in.bucket(item.key, item.value); err != nil {
				return fmt.Errorf("bucket %q: %w", item.key, err)
			}
		}
	}
	return nil
}

// bucket walks one bucket. In a large file it skips the leaves, except those of buckets whose records could get lost
// unnoticed. Sources, steps and indexes are read by keys that other records name, so the loss of one is noticed; a
// lost result is a miss.
func (in *inspector) bucket(name, value []byte) error {
	in.skipLeaves = in.whole == nil
	for _, thorough := range [][]byte{bucketFormat, bucketSessions, bucketHeads, bucketRecords} {
		in.skipLeaves = in.skipLeaves && !bytes.Equal(name, thorough)
	}
	if len(value) < bucketValue {
		return errors.New("cut short")
	}
	if root := native.Uint64(value); root != 0 {
		return in.tree(root, bounds{}, 0, false)
	}
	p := value[bucketValue:]
	if len(p) < pageHeader || native.Uint16(p[8:]) != leafPage {
		return errors.New("its inline page is not sound")
	}
	return in.leaf(0, p, bounds{}, false)
}

// markUsed marks a page and its overflow pages as used. A page with two uses would be overwritten by one of them.
func (in *inspector) markUsed(id, overflow uint64) error {
	if id < 2 || id >= in.meta.high || overflow >= in.meta.high-id {
		return fmt.Errorf("page %d is outside the file", id)
	}
	for i := id; i <= id+overflow; i++ {
		if in.used[i] {
			return fmt.Errorf("page %d is used twice", i)
		}
		in.used[i] = true
	}
	return nil
}

// page returns a page with its overflow pages, and marks them as used.
func (in *inspector) page(id uint64) ([]byte, error) {
	if id >= in.meta.high {
		return nil, fmt.Errorf("page %d is outside the file", id)
	}
	size := int64(in.meta.pageSize)
	at := int64(id) * size
	head, err := in.read(at, size)
	if err != nil {
		return nil, err
	}
	overflow := uint64(native.Uint32(head[12:]))
	if native.Uint64(head) != id {
		return nil, fmt.Errorf("page %d calls itself %d", id, native.Uint64(head))
	}
	if err := in.markUsed(id, overflow); err != nil {
		return nil, err
	}
	if overflow == 0 {
		return head, nil
	}
	return in.read(at, size*int64(overflow+1))
}

func (in *inspector) read(at, size int64) ([]byte, error) {
	if in.whole != nil {
		return in.whole[at : at+size], nil
	}
	b := make([]byte, size)
	if _, err := in.file.ReadAt(b, at); err != nil {
		return nil, err
	}
	return b, nil
}

// isLeaf reports whether a page is a leaf, reading only its header.
func (in *inspector) isLeaf(id uint64) (bool, error) {
	if id >= in.meta.high {
		return false, fmt.Errorf("page %d is outside the file", id)
	}
	b := make([]byte, pageHeader)
	if _, err := in.file.ReadAt(b, int64(id)*int64(in.meta.pageSize)); err != nil {
		return false, err
	}
	return native.Uint16(b[8:]) == leafPage, nil
}

type element struct {
	key   []byte
	value []byte // leaf
	flags uint32 // leaf
	page  uint64 // branch
}

// elements returns the elements of a tree page. An element's position counts from the element itself. The data lies
// without gaps behind the table, and elements checks that: it exposes a wrong count, which would otherwise hide
// elements.
func elements(p []byte, leaf bool) ([]element, error) {
	count := int(native.Uint16(p[10:]))
	if pageHeader+count*pageElement > len(p) {
		return nil, errors.New("its table is cut short")
	}
	all := make([]element, count)
	next := uint64(count * pageElement) // where the data of element i begins, from the table
	for i := range all {
		at := i * pageElement
		e := p[pageHeader+at:]
		var pos, ksize, vsize uint64
		if leaf {
			all[i].flags = native.Uint32(e)
			pos, ksize, vsize = uint64(
				native.Uint32(e[4:]),
			), uint64(
				native.Uint32(e[8:]),
			), uint64(
				native.Uint32(e[12:]),
			)
		} else {
			pos, ksize = uint64(native.Uint32(e)), uint64(native.Uint32(e[4:]))
			all[i].page = native.Uint64(e[8:])
		}
		if pos+ksize+vsize > uint64(len(e)) || pos+uint64(at) != next {
			return nil, fmt.Errorf("element %d is not where it should be", i)
		}
		next += ksize + vsize
		all[i].key = e[pos : pos+ksize]
		all[i].value = e[pos+ksize : pos+ksize+vsize]
	}
	return all, nil
}

// freelist checks that no page in use is in the free list: bbolt would overwrite it. The list is sorted, so a
// duplicate shows too.
func (in *inspector) freelist() error {
	p, err := in.page(in.meta.freelist)
	if err != nil {
		return err
	}
	if native.Uint16(p[8:]) != freelistPage {
		return fmt.Errorf("page %d is no free list", in.meta.freelist)
	}
	count, ids := uint64(native.Uint16(p[10:])), p[pageHeader:]
	if count == 0xFFFF {
		count, ids = native.Uint64(ids), ids[8:]
	}
	if count > uint64(len(ids)/8) {
		return errors.New("the free list is cut short")
	}
	last := uint64(1)
	for i := range count {
		id := native.Uint64(ids[8*i:])
		if id <= last || id >= in.meta.high || in.used[id] {
			return fmt.Errorf("page %d is in the free list", id)
		}
		last = id
	}
	return nil
}
