package patch

import "strings"

// Format is a way to write a patch down.
type Format string

// The formats. Read tells them apart by what the text looks like.
const (
	FormatUnified Format = "unified"        // diff -u: line numbers and counts are hints
	FormatGit     Format = "git"            // git diff: unified, with headers that say what is created, deleted, renamed
	FormatUdiff   Format = "udiff"          // Aider's udiff: hunks without line numbers
	FormatSearch  Format = "search-replace" // Aider's SEARCH/REPLACE blocks
	FormatV4A     Format = "v4a"            // Codex: *** Begin Patch
	FormatEditor  Format = "text-editor"    // Anthropic's text editor: str_replace, insert, create
	FormatStrings Format = "old-new"        // old_string, new_string, replace_all
	FormatCell    Format = "cell"           // an edit of a notebook's cell
	FormatBlock   Format = "block"          // the whole block again

	formatDone Format = "" // of Result.Done, which no one wrote
)

// Patch is a change as an agent states it: what is to become of some texts. Reading any format gives one.
type Patch struct {
	Format   Format
	Sections []Section // done in this order
}

// Act is what a section does.
type Act string

const (
	ActUpdate Act = "update" // Hunks are done to the text
	ActCreate Act = "create" // Text becomes a text that must not be there
	ActWrite  Act = "write"  // Text becomes all of the text, whether it is there or not
	ActDelete Act = "delete" // the text goes
	ActInsert Act = "insert" // Text becomes a new block after After
	ActEmit   Act = "emit"   // Text is a block, old or new: which one is for matching to say
)

// Section is what a patch does to one text: a block or a file.
type Section struct {
	Act   Act
	Name  string // of the text, as the patch has it: a path or a block; "" when it names none
	To    string // its name afterwards; "" when that stays
	After string // for ActInsert: the block before; "" for the first place
	Hunks []Hunk // for ActUpdate
	Text  string // for ActCreate, ActWrite, ActInsert and ActEmit; for ActDelete what the text was, if that is known
}

// Manner is how the old text of a hunk is meant.
type Manner uint8

const (
	ByLines Manner = iota // as whole lines: line ends are not compared, and the new lines get those of the text
	ByText                // as any piece of text, byte for byte
)

// Hunk is one replacement. Without Old it is an insertion: before Line, or at the end of the text.
type Hunk struct {
	Manner Manner
	Old    string   // by lines, a last line without a line end is the last of the text
	New    string   //
	Line   int      // the line where Old begins, from 1; a hint, 0 when nothing is said
	Under  []string // lines that stand above Old, from the outermost to the nearest
	End    bool     // Old is at the end of the text
	All    bool     // every occurrence is replaced
}

// Strictness tells how exactly the old text of a hunk was found. The higher, the looser.
type Strictness uint8

const (
	Exact       Strictness = iota // as it is
	Trailing                      // but for white space at the ends of lines
	Indentation                   // but for white space at the beginnings of lines, too; the new lines are indented alike
	Punctuation                   // but for typographic quotes, dashes and spaces, too
	Fuzzy                         // something like it, and nothing else is
)

func (s Strictness) String() string {
	return [...]string{"exact", "trailing-space", "indentation", "punctuation", "fuzzy"}[s]
}

// MarshalText writes a strictness as its name.
func (s Strictness) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Invert returns the patch that undoes one that was done (Result.Done): of that, all is known that was there before.
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
	shift := 0 // how many lines further down the text is after the hunks before
	for _, h := range s.Hunks {
		out.Hunks = append(out.Hunks, Hunk{Manner: h.Manner, Old: h.New, New: h.Old, Line: h.Line + shift})
		shift += countLines(h.New) - countLines(h.Old)
	}
	return out
}

// countLines is the number of lines in a text that ends with a line end, or is the last.
func countLines(s string) int { return len(splitLines(s)) }

// writeDiff writes a hunk as lines that stay, go and come.
func (h *Hunk) writeDiff(out *strings.Builder) {
	old, fresh := splitLines(h.Old), splitLines(h.New)
	at := 0
	for _, c := range changesOf(old, fresh) {
		writeLines(out, " ", old[at:c.oldStart])
		writeLines(out, "-", old[c.oldStart:c.oldEnd])
		writeLines(out, "+", fresh[c.newStart:c.newEnd])
		at = c.oldEnd
	}
	writeLines(out, " ", old[at:])
}
