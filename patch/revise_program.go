package patch

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/xstate-engine/xstate/patch/syntax"
)

// Subject is the program that a patch is applied to.
type Subject struct {
	Name   string   // the name of its file, as users write it; "" if it has none
	Path   string   // the path of its file from the root; "" if unknown
	File   *Program // the file as it is; nil if there is none
	Blocks []Block  // the recorded program with ids, which is the content of File
	Block  string   // the block to change if the patch names none
	Failed []string // the blocks that failed in the last run; a rewritten block may correct one

	Session   string     // the program's: what a patch may call it if it has no file
	Submitted *Submitted // the code is to be executed; nil if it is an edit
}

// Revision is the result of applying a patch to a program. Nothing has changed yet.
type Revision struct {
	Blocks     []Block     // the program after the patch, with ids
	Edits      []Edit      // turn the program before into Blocks
	Text       []byte      // the new text of the file; nil if there is none
	Texts      []TextEdit  // the changes of text cells, where the file is a notebook
	Placements []Placement // where each section was applied, in the order of the patch
	Skipped    []Section   // fences of languages that the program does not have, see neighbours.own
}

// SkippedText says which fences were skipped; "" if none was.
func (r *Revision) SkippedText() string {
	if len(r.Skipped) == 0 {
		return ""
	}
	var languages []string
	for _, s := range r.Skipped {
		if !slices.Contains(languages, s.Dialect) {
			languages = append(languages, s.Dialect)
		}
	}
	first, _, _ := strings.Cut(strings.TrimSpace(r.Skipped[0].Text), "\n")
	return fmt.Sprintf("skipped code in %s: the program has none in it; submit it alone to execute it: %s",
		strings.Join(languages, " and "), first)
}

// Placement says where one section of a patch was applied.
type Placement struct {
	Block     string     // the changed block; "" for the file
	Format    Format     // the format of the patch
	Match     Strictness // the loosest match of its hunks
	Lines     []int      // where its hunks were found, from 1
	Decision  *Decision  // for a block that was written again
	Unchanged bool       // the text is already as the section says
}

// Revise applies a patch to a program. It applies all sections or none. A section that names a block changes that
// block. A section that names the program's file, or nothing, changes the file; for a notebook, it changes the cell
// text. The error is an *ApplyError or a *ParseError.
func Revise(p *Patch, on Subject) (*Revision, error) {
	r := &reviser{patch: p, on: on, blocks: slices.Clone(on.Blocks), taken: map[string]bool{}, file: on.File,
		texts: on.File.textPlaces(), end: on.lineEnd()}
	if r.decider = newDecider(); on.Submitted != nil {
		r.decider = on.Submitted.Known.take(len(on.Blocks))
	}
	r.fileIDs = r.ids()
	if n := unnamed(p); on.Block != "" && n > 1 {
		return nil, &ApplyError{Code: CodeAmbiguous, Name: on.Block,
			Message: fmt.Sprintf("the patch holds %d blocks, but only one can replace this block", n),
			Hint:    "put a line # %% NAME before each, or give only that one"}
	}
	sections := p.Sections
	if whole := (Section{Act: ActEmit, Text: p.Whole}); p.Whole != "" && r.creates(whole) {
		sections = []Section{whole}
	}
	sections, r.skipped = r.neighbours().own(sections)
	if err := refuseTwoTexts(sections, on.Submitted); err != nil {
		return nil, err
	}
	for _, s := range sections {
		if err := r.section(s); err != nil {
			return nil, err
		}
	}
	return r.finish()
}

// unnamed counts the rewritten blocks of a patch that do not say which block they replace.
func unnamed(p *Patch) (n int) {
	for _, s := range p.Sections {
		if s.Act == ActEmit && s.Name == "" {
			n++
		}
	}
	return n
}

// reviser holds a program while the sections of a patch are applied to it.
type reviser struct {
	patch   *Patch
	on      Subject
	blocks  []Block
	file    *Program        // its text before the latest changes of blocks
	fileIDs []string        // ids of its blocks, by index
	texts   []int           // the places of its text cells before the patch, in order; -1: new
	stale   bool            // blocks have changed since
	taken   map[string]bool // blocks that were rewritten or are new
	end     string          // the line end of the program
	decider *decider
	places  []Placement
	skipped []Section
}

// finish returns the revision.
func (r *reviser) finish() (*Revision, error) {
	if len(r.blocks) == 0 {
		return nil, empty("the patch would leave no code")
	}
	m := newBlockMatching(r.on.Blocks, r.blocks)
	m.byID()
	v := &Revision{Blocks: r.blocks, Edits: m.edits(), Placements: r.places, Skipped: r.skipped}
	if r.on.File == nil {
		return v, nil
	}
	if bad := r.write(); bad != nil {
		return nil, bad
	}
	v.Text, v.Texts = r.file.Bytes(), textEdits(r.on.File, r.file)
	return v, nil
}

// write updates the file to the blocks.
func (r *reviser) write() error {
	if !r.stale {
		return nil
	}
	data, err := r.file.With(r.fileIDs, r.blocks)
	if err != nil {
		return err
	}
	if r.file, err = Parse(r.on.Name, data); err != nil {
		return err
	}
	settle(r.blocks, r.file.Blocks)
	r.fileIDs, r.stale = r.ids(), false
	return nil
}

// lineEnd returns the line end of the program, or "" if it has only one line.
func (on *Subject) lineEnd() string {
	texts := make([]string, 0, len(on.Blocks)+1)
	if on.File != nil && on.File.Kind != KindNotebook {
		texts = append(texts, string(on.File.Bytes()))
	}
	for _, b := range on.Blocks {
		texts = append(texts, b.Source)
	}
	for _, t := range texts {
		if i := strings.IndexByte(t, '\n'); i > 0 && t[i-1] == '\r' {
			return "\r\n"
		} else if i >= 0 {
			return "\n"
		}
	}
	return ""
}

// ended gives a text the line ends of the program.
func (r *reviser) ended(text string) string {
	if r.end == "" {
		return text
	}
	return strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\n", r.end)
}

func (r *reviser) noBlock(name string) error {
	var names []string
	for _, b := range r.blocks[:min(len(r.blocks), 12)] {
		names = append(names, b.ID)
	}
	c := &ApplyError{Code: CodeNoText, Name: name,
		Message: "the program has no such block, and its file has another name",
		Hint:    "its blocks are: " + strings.Join(names, ", ")}
	if r.on.Name == "" {
		c.Message = "the program has no such block, and no file"
	}
	if len(r.blocks) == 0 {
		c.Message, c.Hint = "this is not the program's file, and the program has no block yet",
			"name the program's file, or give its text"
	}
	if len(r.blocks) > len(names) {
		c.Hint += ", … (`xstate query` lists all)"
	}
	return c
}

// block finds a block by its id, then by its title if only one block has it, then by its place as in cell-N.
func (r *reviser) block(name string) (id string, ok bool) {
	if name == "" {
		return "", false
	}
	for _, b := range r.blocks {
		if b.ID == name {
			return b.ID, true
		}
	}
	for _, b := range r.blocks {
		if b.Title == name {
			if ok {
				return "", false
			}
			id, ok = b.ID, true
		}
	}
	if !ok {
		return r.counted(name, false)
	}
	return id, ok
}

// counted finds a block by its place, from 0. In a notebook the place counts all cells, including text. If before is
// set, the last block before that place will do.
func (r *reviser) counted(name string, before bool) (id string, ok bool) {
	n, ok := countedCell(name)
	if !ok {
		return "", false
	}
	if name == lastCell && before && len(r.blocks) > 0 {
		return r.blocks[len(r.blocks)-1].ID, true
	}
	if ok = false; r.on.File == nil || r.on.File.Kind != KindNotebook {
		if n < 0 || n >= len(r.blocks) {
			return "", false
		}
		return r.blocks[n].ID, true
	}
	for i, cell := range r.on.File.Cells {
		if cell == n || before && cell < n {
			id, ok = r.on.Blocks[i].ID, r.at(r.on.Blocks[i].ID) >= 0
		}
	}
	return id, ok
}

func (r *reviser) at(id string) int {
	return slices.IndexFunc(r.blocks, func(b Block) bool { return b.ID == id })
}

// isFile reports whether a path in a patch refers to the program's file. It may be the end of the file's path. It may
// also be an absolute path that ends in the file's name as users write it, because the workspace can be elsewhere on
// the agent's machine. A file of the same name in another folder does not match.
func (on *Subject) isFile(said string) bool {
	said, name, full := slashed(said), slashed(on.Name), slashed(on.Path)
	switch {
	case on.Name == "":
		return on.Session != "" && strings.TrimSuffix(said, path.Ext(said)) == on.Session
	case said == name, said == full, strings.HasSuffix("/"+name, "/"+said), strings.HasSuffix(full, "/"+said):
		return true
	}
	return path.IsAbs(said) && strings.HasSuffix(said, "/"+name)
}

func slashed(p string) string { return path.Clean(strings.ReplaceAll(p, `\`, "/")) }

// inBlock applies a section to the text of one block.
func (r *reviser) inBlock(id string, s Section) error {
	i := r.at(id)
	if err := r.refuseOmissionIn(s, r.blocks[i].Source, r.blocks[i].Dialect); err != nil {
		return err
	}
	one := Patch{Format: r.patch.Format, Sections: []Section{s}}
	one.Sections[0].Name, one.Sections[0].To = id, ""
	done, err := one.Apply(map[string]string{id: r.blocks[i].Source})
	if err != nil {
		return err
	}
	place := Placement{Block: id, Format: r.patch.Format}
	place.found(done)
	text, there := done.Texts[id]
	if !there || blankLine(text) {
		r.blocks, r.stale = slices.Delete(r.blocks, i, i+1), true
	} else {
		r.set(i, text)
		if s.To != "" {
			r.blocks[i].Title, r.stale = s.To, true
		}
	}
	place.Unchanged = len(done.Done.Sections) == 0 && s.To == ""
	r.places = append(r.places, place)
	return nil
}

func (p *Placement) found(r *Result) {
	p.Match = r.Loosest()
	for _, f := range r.Found {
		p.Lines = append(p.Lines, f.Line)
	}
}

// set gives a block a new text, and the title that it has with that.
func (r *reviser) set(i int, text string) {
	b := &r.blocks[i]
	text = strings.TrimRight(text, "\r\n")
	if b.Source == text {
		return
	}
	b.Title = r.titled(*b, text)
	b.Source = text
	r.stale = true
}

// titled returns the title of a block with a new text. A title that the code alone gives follows the code. Where no
// file says so, a title that the code no longer gives stays.
func (r *reviser) titled(b Block, text string) string {
	now := b
	now.Source = text
	i := slices.Index(r.fileIDs, b.ID)
	switch {
	case r.file == nil || i < 0:
		if shown := now.defined(); shown != "" && b.Title == b.defined() {
			return shown
		}
		return b.Title
	case r.file.names(i) || b.Title != r.file.shows(b):
		return b.Title
	}
	return r.file.shows(now)
}

// emit finds the block that a rewritten text replaces, and replaces it.
func (r *reviser) emit(s Section) error {
	d := Decision{By: ByName, Score: 1}
	in := code{syntax.Of(s.Dialect), s.Text}
	ok := false
	if s.Name == "" {
		s.Name = r.on.Block
	}
	d.Block, ok = r.block(s.Name)
	if !ok && s.Name != "" && s.Name == r.on.Block {
		return r.noBlock(s.Name)
	}
	if r.on.Submitted != nil && (s.Name == "" || r.on.Submitted.Append) {
		return r.submit(s)
	}
	if !ok && s.Name == "" {
		if all := r.decider.programLikeness(r.blocks, in); all >= wholeProgram {
			return r.rewrite(s, all)
		}
		d = r.decider.decide(r.blocks, code{in.Syntax, strings.TrimRight(s.Text, "\r\n")}, r.failed(), r.taken)
	} else if !ok {
		d.By = ByNothing
	}
	if s.Name == "" && d.By != ByContent {
		if shares, more, ok := r.decider.splitByDefinition(r.blocks, in); ok &&
			(more || d.Block == "" || len(shares) > 1) {
			return r.rewriteShares(shares)
		}
		if err := r.refuseLostNames(d, in); err != nil {
			return err
		}
	}
	if d.Block == "" {
		if text := trimBlankLines(s.Text); s.Name == "" && text != "" && strings.ContainsRune(" \t", rune(text[0])) {
			return &ApplyError{Code: CodeNoText, Name: r.on.Name,
				Message: "these lines are indented, so they are a part of a block, but the patch does not say which",
				Hint:    "give the whole function, or the change as a diff or SEARCH/REPLACE"}
		}
		if err := r.refuseOmissionBeside(s); err != nil {
			return err
		}
		if err := r.insertAt(len(r.blocks), s); err != nil {
			return err
		}
		r.places[len(r.places)-1].Decision = &d
		return nil
	}
	if err := refuseOmission(r.blocks[r.at(d.Block)].Source, s.Text, s.Dialect); err != nil {
		return err
	}
	title := r.blocks[r.at(d.Block)].Title
	r.rewriteBlock(d.Block, s.Text, d)
	b := &r.blocks[r.at(d.Block)]
	if d.By == ByName && title == s.Name && (r.file == nil || r.file.Kind != KindScript) {
		b.Title = title // the patch calls it so
	}
	if syntax.Family(b.Dialect) != syntax.Family(s.Dialect) {
		b.Dialect = s.Dialect // the patch names the block, and writes it in another language
	}
	return nil
}

// rewriteBlock gives a rewritten block its new text.
func (r *reviser) rewriteBlock(id, text string, d Decision) {
	i := r.at(id)
	r.taken[id] = true
	text = r.ended(text) // splitByDefinition joins with \n
	same := r.blocks[i].Source == strings.TrimRight(text, "\r\n")
	r.set(i, text)
	r.places = append(r.places, Placement{Block: id, Format: r.patch.Format, Decision: &d, Unchanged: same})
}

// refuseLostNames fails if a text would replace a block that defines more names, and the text or other blocks use the
// missing ones.
func (r *reviser) refuseLostNames(d Decision, text code) error {
	if d.By != ByDefinition {
		return nil
	}
	_, now := r.decider.of(text)
	_, was := r.decider.of(r.blocks[r.at(d.Block)].code())
	var lost []string
	for name := range was.Defines {
		used := now.Free[name]
		for _, b := range r.blocks {
			_, n := r.decider.of(b.code())
			used = used || b.ID != d.Block && n.Free[name]
		}
		if used && !now.Defines[name] {
			lost = append(lost, name)
		}
	}
	if len(lost) == 0 {
		return nil
	}
	slices.Sort(lost)
	return &ApplyError{Code: CodeAmbiguous, Name: d.Block,
		Message: "this may be a part of the block or its new text: the block also defines " + strings.Join(lost, ", ") +
			", which other code uses",
		Hint: "give only the functions, and each replaces its own; or use `--block " + d.Block + "`" +
			" if this is the whole block"}
}

// wholeProgram is the similarity at which a text counts as the whole program and not as one block.
const wholeProgram = 0.6

// rewrite replaces a whole script. In a program with marked blocks, a text without markers does not say where its
// blocks begin, so rewrite fails.
func (r *reviser) rewrite(s Section, like float64) error {
	if r.on.File == nil || r.on.File.Kind != KindScript {
		return &ApplyError{Code: CodeAmbiguous, Name: r.on.Name,
			Message: "this is the whole program, but it does not say where its blocks begin",
			Hint:    "put a line # %% NAME before each block, or give the one block that changes"}
	}
	if err := r.inFile(Section{Act: ActWrite, Text: endLast(s.Text)}); err != nil {
		return err
	}
	r.places[len(r.places)-1].Decision = &Decision{By: ByProgram, Score: like}
	return nil
}

// insert adds a new block after another.
func (r *reviser) insert(s Section) error {
	if s.After == "" {
		return r.insertAt(0, s)
	}
	id, ok := r.block(s.After)
	if !ok {
		id, ok = r.counted(s.After, true)
	}
	if !ok {
		return r.noBlock(s.After)
	}
	return r.insertAt(r.at(id)+1, s)
}

// newBlock returns the new block that a section gives, with an id that no block and no other cell has.
func (r *reviser) newBlock(s Section) (Block, error) {
	text := trimBlankLines(s.Text)
	if text == "" {
		return Block{}, &ApplyError{Code: CodeEmpty, Name: s.Name, Message: "a block must have code",
			Hint: "add a statement"}
	}
	b := Block{ID: s.Name, Title: s.Name, Dialect: s.Dialect, Source: text}
	if b.Title == "" {
		b.Title = b.defined()
	}
	used := r.ids()
	if r.file != nil && r.file.Kind == KindNotebook {
		used = append(used, r.file.cellIDs()...)
	}
	b.ID = Names([]Block{b}, used...)[0]
	return b, nil
}

func (r *reviser) insertAt(i int, s Section) error {
	b, err := r.newBlock(s)
	if err != nil {
		return err
	}
	r.taken[b.ID] = true
	r.blocks = slices.Insert(r.blocks, i, b)
	r.stale = true
	r.places = append(r.places, Placement{Block: b.ID, Format: r.patch.Format})
	return nil
}

func (r *reviser) neighbours() neighbours { return neighbours{r.on.File, r.blocks} }

func (r *reviser) ids() []string {
	ids := make([]string, len(r.blocks))
	for i, b := range r.blocks {
		ids[i] = b.ID
	}
	return ids
}
