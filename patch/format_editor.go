package patch

import "encoding/json"

// This format is that of Anthropic's text editor: {"command": "str_replace", "path", "old_str", "new_str"}. insert has
// insert_line (0 is the top) and insert_text, which older versions call new_str; create has file_text. It also reads
// lists of edits: {"path", "edits": [{"oldText", "newText"}]}.
func likeEditor(text string) bool { return likeCalls(text, (*call).isEditor) }

func (c *call) isEditor() bool {
	switch c.text("command") {
	case "str_replace", "insert", "create", "view", "undo_edit":
		return true
	}
	return c.has("edits") && !c.has("old_string") && c.listHas("edits", "oldText", "old_str")
}

// listHas reports whether the first item of a list has one of these fields.
func (c *call) listHas(list string, names ...string) bool {
	var items []map[string]json.RawMessage
	if json.Unmarshal(c.Args[list], &items) != nil || len(items) == 0 {
		return false
	}
	first := call{Args: items[0]}
	return first.has(names...)
}

func readEditor(text string) ([]Section, *ParseError) {
	calls, bad := formatCalls(text, (*call).isEditor)
	if bad != nil {
		return nil, bad
	}
	var sections []Section
	for i, c := range calls {
		switch command := c.text("command"); command {
		case "str_replace":
			old, there := c.said("old_str")
			if !there || old == "" {
				return nil, malformed(0, "give the text to replace as old_str", "call %d: str_replace has no old_str",
					i+1)
			}
			sections = addHunk(sections, c.path(), Hunk{Manner: ByText, Old: old, New: c.text("new_str")})
		case "insert":
			line, there := c.number("insert_line")
			fresh, given := c.said("insert_text", "new_str")
			if !there || !given || line < 0 {
				return nil, malformed(0, "give insert_line, 0 for the top, and insert_text",
					"call %d: insert lacks a line or a text", i+1)
			}
			sections = addHunk(sections, c.path(), Hunk{New: endLast(fresh), Line: line + 1})
		case "create":
			sections = append(sections, Section{Act: ActWrite, Name: c.path(), Text: c.text("file_text")})
		case "":
			var edits []map[string]json.RawMessage
			if err := json.Unmarshal(c.Args["edits"], &edits); err != nil {
				return nil, malformed(0, `write "edits": [{"oldText": "…", "newText": "…"}]`,
					"call %d: its edits cannot be read",
					i+1)
			}
			for _, e := range edits {
				one := call{Args: e}
				h := Hunk{Manner: ByText, Old: one.text("oldText", "old_str"), New: one.text("newText", "new_str")}
				if h.Old == "" {
					return nil, malformed(0, "give the text to replace as oldText",
						"call %d: an edit does not say what it replaces",
						i+1)
				}
				sections = addHunk(sections, c.path(), h)
			}
		default:
			return nil, malformed(0, "use str_replace, insert or create; `xstate undo` reverts an edit",
				"call %d: %s changes nothing", i+1, command)
		}
	}
	return sections, nil
}

func writeEditor(p *Patch) (string, error) {
	var calls []string
	for _, s := range p.Sections {
		switch {
		case s.Act == ActCreate || s.Act == ActWrite:
			calls = append(calls, object("command", "create", "path", s.Name, "file_text", s.Text))
		case s.Act != ActUpdate || s.To != "":
			return "", cannotExpress(FormatEditor, "a text is deleted or renamed, or which block is meant")
		}
		for _, h := range s.Hunks {
			switch {
			case h.All || h.Old == "" && h.Line == 0:
				return "", cannotExpress(FormatEditor, "every occurrence is replaced, or that text goes to the end")
			case h.Old == "":
				calls = append(calls, object("command", "insert", "path", s.Name, "insert_line", h.Line-1,
					"insert_text", h.New))
			default:
				calls = append(calls, object("command", "str_replace", "path", s.Name, "old_str", h.Old, "new_str",
					h.New))
			}
		}
	}
	return objects(calls), nil
}
