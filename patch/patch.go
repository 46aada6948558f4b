package patch

import (
	"fmt"
	"strings"

	"github.com/xstate-engine/xstate/patch/diff"
)

// Format is a notation for patches.
type Format string

// These are the formats. Read detects them from the text.
const (
	FormatUnified Format = "unified"        // diff -u: line numbers and counts are hints
	FormatGit     Format = "git"            // git diff: unified, with headers that create, delete and rename texts
	FormatUdiff   Format = "udiff"          // Aider's udiff: hunks without line numbers
	FormatSearch  Format = "search-replace" // Aider's SEARCH/REPLACE blocks
	FormatV4A     Format = "v4a"            // Codex: *** Begin Patch
	FormatEditor  Format = "text-editor"    // Anthropic's text editor: str_replace, insert, create
	FormatStrings Format = "old-new"        // old_string, new_string, replace_all
	FormatCell    Format = "cell"           // an edit of a notebook cell
	FormatBlock   Format = "block"          // a whole block, written again

	formatDone Format = "" // for Result.Done, which has no notation
)

// Patch is a change to some texts, as an agent states it. Read returns one for every format.
type Patch struct {
	Format   Format
	Sections []Section // applied in this order

	Whole string // all of a text that is code, without fences; a file that does not exist yet gets all of it
}

// Act is what a section does.
type Act string

const (
	ActUpdate Act = "update" // applies Hunks to the text
	ActCreate Act = "create" // creates a text with Text; there must be none of that name
	ActWrite  Act = "write"  // replaces or creates the whole text
	ActDelete Act = "delete" // deletes the text
	ActInsert Act = "insert" // makes Text a new block after After
	ActEmit   Act = "emit"   // makes Text a block; Revise decides whether it replaces an existing one
)

// Section is the change of one text, which is a block or a file.
type Section struct {
	Act   Act
	Name  string // the text as the patch names it, a path or a block; "" if it names none
	To    string // its new name; "" if the name stays
	After string // for ActInsert: the block before; "" for the first place
	Hunks []Hunk // for ActUpdate
	Text  string // for ActCreate, ActWrite, ActInsert and ActEmit; for ActDelete, the text before if it is known

	Dialect string // the dialect of Text, if the patch says; else ""
	Cell    string // the type of the cell in a notebook, one of cellTypes; "" if the patch does not say
}

// Manner says how the old text of a hunk is compared.
type Manner uint8

const (
	ByLines Manner = iota // as whole lines; line ends do not matter, and new lines get those of the text
	ByText                // as a piece of text, byte for byte
)

// Hunk is one replacement. Without Old it is an insertion, before Line or at the end of the text.
type Hunk struct {
	Manner Manner
	Old    string   // by lines: a last line without a line end is the last of the text
	New    string   //
	Line   int      // the line where Old begins, from 1; a hint, 0 if unknown
	Under  []string // lines above Old, from the outermost to the nearest
	End    bool     // Old is at the end of the text
	All    bool     // replace every occurrence
	Times  int      // how often Old must occur; 0: unknown
}

// Strictness says how exactly the old text of a hunk matched. Higher values are looser.
type Strictness uint8

const (
	Exact    Strictness = iota // byte for byte
	Trailing                   // except white space at the ends of lines
	// also except white space at the beginnings of lines; the new lines are indented accordingly
	Indentation
	Punctuation // also except typographic quotes, dashes and spaces
	Fuzzy       // a very similar text, and no other is as similar
)

func (s Strictness) String() string {
	return [...]string{"exact", "trailing-space", "indentation", "punctuation", "fuzzy"}[s]
}

// MarshalText returns the name of a strictness.
func (s Strictness) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads what MarshalText wrote.
func (s *Strictness) UnmarshalText(text []byte) error {
	for *s = Exact; *s <= Fuzzy; *s++ {
		if s.String() == string(text) {
			return nil
		}
	}
	return fmt.Errorf("there is no strictness %q", text)
}

// Invert returns the patch that undoes an applied patch (Result.Done), which records all text that was there before.
func (p *Patch) Invert() *Patch {
	q := &Patch{Format: p.Format}
	for i := len(p.Sections) - 1; i >= 0; i-- {
		q.Sections = append(q.Sections, p.Sections[i].invert())
	}
	return q
}

func (s Section) invert() Section {
	switch s.Act {
	case ActCreate:
		return Section{Act: ActDelete, Name: s.Name, Text: s.Text}
	case ActDelete:
		return Section{Act: ActCreate, Name: s.Name, Text: s.Text}
	}
	out := Section{Act: s.Act, Name: s.Name}
	if s.To != "" {
		out.Name, out.To = s.To, s.Name
	}
	shift := 0 // how many lines further down the text is after the earlier hunks
	for _, h := range s.Hunks {
		out.Hunks = append(out.Hunks, Hunk{Manner: h.Manner, Old: h.New, New: h.Old, Line: h.Line + shift})
		shift += countLines(h.New) - countLines(h.Old)
	}
	return out
}

// countLines returns the number of lines of a text.
func countLines(s string) int { return len(diff.SplitLines(s)) }

// writeDiff writes a hunk as unchanged, removed and added lines.
func (h *Hunk) writeDiff(out *strings.Builder) {
	old, fresh := diff.SplitLines(h.Old), diff.SplitLines(h.New)
	at := 0
	for _, c := range diff.Changes(old, fresh) {
		diff.WriteLines(out, " ", old[at:c.OldStart])
		diff.WriteLines(out, "-", old[c.OldStart:c.OldEnd])
		diff.WriteLines(out, "+", fresh[c.NewStart:c.NewEnd])
		at = c.OldEnd
	}
	diff.WriteLines(out, " ", old[at:])
}
