package main

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/internal/parents"
	"github.com/xstate-engine/xstate/internal/term"
	"github.com/xstate-engine/xstate/runner/kernel/python"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/query"
)

// places says where the blocks of a program are in its file now, and what hints at errors need to know. Records cite
// lines of blocks, so that they stay true when a block moves; people and editors need lines of files. Nil knows no
// place.
type places struct {
	caller
	file   string // the program's file
	folder string // the folder that it runs in
	python python.Interpreter
	blocks []placedBlock
	failed map[xstate.BlockID]bool

	once  sync.Once
	first map[xstate.BlockID]int // the line of the file at which a block begins; 0 in a notebook
}

// placedBlock is a block of the program, in its order.
type placedBlock struct {
	id      xstate.BlockID
	dialect string
	source  string
}

// placesOf returns the places of a session's program in its file.
func (c caller) placesOf(s *xstate.Session, file string, program []state.ProgramBlock) *places {
	p := &places{caller: c, file: file, folder: s.Folder(), python: s.Python()}
	for _, b := range program {
		p.blocks = append(p.blocks, placedBlock{b.ID, string(b.Dialect), b.Source})
	}
	return p
}

// fail notes that a block failed: another one may fail because of it.
func (p *places) fail(id xstate.BlockID) {
	if p == nil {
		return
	}
	if p.failed == nil {
		p.failed = map[xstate.BlockID]bool{}
	}
	p.failed[id] = true
}

// follow notes which blocks failed in a run.
func (p *places) follow(out *xstate.Outcome) {
	for i := range out.Blocks {
		if out.Blocks[i].Status == state.StatusFailed {
			p.fail(out.Blocks[i].ID)
		}
	}
}

// find reads the file once, when the first place is asked for. A block that was edited since has no place.
func (p *places) find() {
	p.first = map[xstate.BlockID]int{}
	src, err := p.readSource(p.file)
	if err != nil {
		return
	}
	blocks, err := src.blocks()
	if err != nil {
		return
	}
	lines := map[string][]int{}
	for _, b := range blocks {
		lines[b.Source] = append(lines[b.Source], b.Line)
	}
	for _, b := range p.blocks {
		at := lines[b.source]
		if len(at) == 0 {
			continue
		}
		p.first[b.id], lines[b.source] = at[0], at[1:]
	}
	if filepath.Ext(p.file) == ".ipynb" {
		for id := range p.first {
			p.first[id] = 0
		}
	}
}

// warningLine is how warnings cite a line of a block.
var warningLine = regexp.MustCompile(`^<([^<>\n]+)>:(\d+): `)

// frame reads a line of a traceback. ok is false if it cites no file.
func (p *places) frame(text string) (f state.Frame, ok bool) {
	m := query.CitedLine.FindStringSubmatch(text)
	if m == nil {
		return f, false
	}
	f = state.Frame{File: m[2], Function: m[5]}
	f.Line, _ = strconv.Atoi(m[3])
	id, named := strings.CutPrefix(f.File, "<")
	id, ends := strings.CutSuffix(id, ">")
	if named && ends {
		p.place(&f, xstate.BlockID(id))
	} else if p != nil && filepath.IsAbs(f.File) && parents.Below(p.folder, f.File) != "" {
		f.File = p.fromHere(f.File)
	}
	return f, true
}

// place makes a frame in a block one in the file.
func (p *places) place(f *state.Frame, id xstate.BlockID) {
	if p == nil || p.at(id) < 0 {
		return
	}
	p.once.Do(p.find)
	f.Block, f.BlockLine = id, f.Line
	first, found := p.first[id]
	f.File, f.Line = "", 0
	if found {
		f.File = p.fromHere(p.file)
	}
	if first > 0 {
		f.Line = first + f.BlockLine - 1
	}
}

// at returns the index of a block, or -1.
func (p *places) at(id xstate.BlockID) int {
	return slices.IndexFunc(p.blocks, func(b placedBlock) bool { return b.id == id })
}

// cite renders a line that cites a place in a block, in a traceback or a warning. Any other line stays as it is.
func (p *places) cite(line string) string {
	if p == nil {
		return line
	}
	if m := query.CitedLine.FindStringSubmatch(line); m != nil {
		if f, _ := p.frame(line); f.Block != "" || f.File != m[2] {
			return m[1] + query.Citation(f, m[4])
		}
		return line
	}
	m := warningLine.FindStringSubmatch(line)
	if m == nil {
		return line
	}
	f := state.Frame{File: "<" + m[1] + ">"}
	f.Line, _ = strconv.Atoi(m[2])
	p.place(&f, xstate.BlockID(m[1]))
	switch {
	case f.Line > 0 && f.Block != "":
		return fmt.Sprintf("%s:%d: %s", term.Escape(f.File), f.Line, line[len(m[0]):])
	case f.Block != "":
		return fmt.Sprintf("%s %s, line %d: %s",
			strings.ToLower(query.Called(p.file)), f.Block, f.BlockLine, line[len(m[0]):])
	}
	return line
}

// printed renders what a program printed. Lines that cite places in blocks are those of Python, not of the program.
func (p *places) printed(text string) string {
	if p == nil || !strings.Contains(text, "<") {
		return text
	}
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = p.cite(lines[i])
	}
	return strings.Join(lines, "\n")
}
