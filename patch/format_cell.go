package patch

import (
	"fmt"
	"slices"
	"strings"
)

// This format holds edits of notebook cells: {"cell_id", "new_source", "edit_mode": replace, insert or delete}.
// Notebook servers count cells from 0 and put the action into the name of the tool: {"cell_index", "cell_source"}. A
// counted cell is called cell-N.
func likeCell(text string) bool { return likeCalls(text, (*call).isCell) }

func (c *call) isCell() bool {
	return c.has("new_source", "cell_source") || c.has("block") && c.has("source") ||
		c.has("cell_id", "cell_index", "cell_number") && (c.has("edit_mode") || strings.Contains(c.Tool, "cell"))
}

// mode returns what a call does to its cell.
func (c *call) mode() string {
	if m := c.text("edit_mode"); m != "" {
		return m
	}
	for _, m := range []string{"insert", "delete"} {
		if strings.Contains(strings.ToLower(c.Tool), m) {
			return m
		}
	}
	return "replace"
}

func readCell(text string) ([]Section, *ParseError) {
	calls, bad := formatCalls(text, (*call).isCell)
	if bad != nil {
		return nil, bad
	}
	var sections []Section
	for i, c := range calls {
		source, given := c.lines("new_source", "cell_source", "source")
		name, counted := c.cell()
		s := Section{Name: name, Text: source, Cell: c.text("cell_type")}
		if s.Cell != "" && !slices.Contains(cellTypes, s.Cell) {
			return nil, malformed(0, "cell_type is code, markdown or raw", "call %d: unknown cell_type %q", i+1, s.Cell)
		}
		switch m := c.mode(); m {
		case "replace":
			s.Act = ActWrite
		case "delete":
			s.Act, given = ActDelete, true
		case "insert":
			s.Act, s.Name, s.After = ActInsert, "", name
			if n, ok := c.number(counts...); ok && n == -1 && name == "" {
				s.After = lastCell
			}
			if counted >= 0 { // the place of the new cell, not the cell before it
				s.After = ""
				if counted > 0 {
					s.After = fmt.Sprintf("cell-%d", counted-1)
				}
			}
		default:
			return nil, malformed(0, "edit_mode is replace, insert or delete", "call %d: unknown edit_mode %q", i+1, m)
		}
		if !given || name == "" && s.Act != ActInsert {
			return nil, malformed(0, "give cell_id and new_source",
				"call %d does not say which cell it changes, or its new source", i+1)
		}
		sections = append(sections, s)
	}
	return sections, nil
}

// counts are the arguments that may hold the place of a cell, from 0; -1 is the end.
var counts = []string{"cell_index", "cell_number", "cell_id"}

// cell returns the cell that a call names. counted is its place from 0, or -1 if the call does not count.
func (c *call) cell() (name string, counted int) {
	if id := c.text("cell_id", "block"); id != "" {
		return id, -1
	}
	if n, ok := c.number(counts...); ok && n >= 0 {
		return fmt.Sprintf("cell-%d", n), n
	}
	return "", -1
}

func writeCell(p *Patch) (string, error) {
	var calls []string
	for _, s := range p.Sections {
		switch s.Act {
		case ActWrite:
			calls = append(calls, cellCall(s, "cell_id", s.Name, "new_source", s.Text, "edit_mode", "replace"))
		case ActInsert:
			calls = append(calls, cellCall(s, "cell_id", s.After, "new_source", s.Text, "edit_mode", "insert"))
		case ActDelete:
			calls = append(calls, object("cell_id", s.Name, "edit_mode", "delete"))
		default:
			return "", cannotExpress(FormatCell, "a part of a cell changes, or which cell is meant")
		}
	}
	return objects(calls), nil
}

// cellCall writes the arguments of a call, with the type of the cell if the section says it.
func cellCall(s Section, pairs ...any) string {
	if s.Cell != "" {
		pairs = append(pairs, "cell_type", s.Cell)
	}
	return object(pairs...)
}
