package patch

import "encoding/json"

// This format holds edits with old_string, new_string and replace_all, or expected_replacements (Gemini CLI), as
// notebook editors and coding agents use them.
// Several edits come as {"file_path", "edits": [{"old_string", "new_string"}]}, and a whole text as {"file_path",
// "content"}. Without old_string the text is new.
func likeStrings(text string) bool { return likeCalls(text, (*call).isStrings) }

func (c *call) isStrings() bool {
	return c.has("old_string") && c.has("new_string") || c.listHas("edits", "old_string") ||
		c.has("content") && c.has("file_path", "path")
}

func readStrings(text string) ([]Section, *ParseError) {
	calls, bad := formatCalls(text, (*call).isStrings)
	if bad != nil {
		return nil, bad
	}
	var sections []Section
	for i, c := range calls {
		if c.has("content") && !c.has("old_string", "edits") {
			sections = append(sections, Section{Act: ActWrite, Name: c.path(), Text: c.text("content")})
			continue
		}
		edits := []map[string]json.RawMessage{c.Args}
		if c.has("edits") && json.Unmarshal(c.Args["edits"], &edits) != nil {
			return nil, malformed(0, `write "edits": [{"old_string": "…", "new_string": "…"}]`,
				"call %d: its edits cannot be read", i+1)
		}
		for _, e := range edits {
			one := call{Args: e}
			h := Hunk{Manner: ByText, Old: one.text("old_string"), New: one.text("new_string")}
			if raw, ok := e["replace_all"]; ok && json.Unmarshal(raw, &h.All) != nil {
				return nil, malformed(0, "write true or false", "call %d: replace_all is neither true nor false", i+1)
			}
			if n, ok := one.number("expected_replacements"); ok && n > 0 {
				h.Times, h.All = n, n > 1 || h.All
			}
			if h.Old == "" {
				sections = append(sections, Section{Act: ActCreate, Name: c.path(), Text: h.New})
				continue
			}
			sections = addHunk(sections, c.path(), h)
		}
	}
	return sections, nil
}

func writeStrings(p *Patch) (string, error) {
	var calls []string
	for _, s := range p.Sections {
		switch {
		case s.Act == ActWrite:
			calls = append(calls, object("file_path", s.Name, "content", s.Text))
		case s.Act == ActCreate:
			calls = append(calls, object("file_path", s.Name, "old_string", "", "new_string", s.Text))
		case s.Act != ActUpdate || s.To != "":
			return "", cannotExpress(FormatStrings, "a text is deleted or renamed, or which block is meant")
		}
		for _, h := range s.Hunks {
			switch {
			case h.Old == "":
				return "", cannotExpress(FormatStrings, "text is inserted without replacing any")
			case h.Times > 0:
				calls = append(calls, object("file_path", s.Name, "old_string", h.Old, "new_string", h.New,
					"expected_replacements", h.Times))
			case h.All:
				calls = append(calls, object("file_path", s.Name, "old_string", h.Old, "new_string", h.New,
					"replace_all", true))
			default:
				calls = append(calls, object("file_path", s.Name, "old_string", h.Old, "new_string", h.New))
			}
		}
	}
	return objects(calls), nil
}
