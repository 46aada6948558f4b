package patch

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/xstate-engine/xstate/patch/syntax"
)

// Submitted is what is known of code that is handed in to be executed. The blocks of such code go where the decision
// about a rewritten block says, with three differences. They are refused only if they leave out code of the block that
// they replace, because the language says what else is wrong with code. A failed last block gives way to them
// (superseded). The effects of a failed block stay if they use them (keep).
type Submitted struct {
	Reply  bool   // the code stood in fences, in a text
	Append bool   // every block of it is new
	Last   string // the last block, blocked ones aside, if it failed
	Unread bool   // Last could not be parsed
	// FailedAt has, of failed blocks, the line of the statement at their top level that failed.
	FailedAt map[string]int
	// Overtaken reports whether what a block read or wrote has changed since, by later blocks or by itself. Code that
	// is executed again there would not see what its author sees.
	Overtaken func(block string) bool
	// Consumed reports whether a block has itself changed what it read, as "xs.append(1)" does.
	Consumed func(block string) bool
	Known    *Known // what the last submission found out; may be nil
}

// Known keeps what was found out about texts, so that a submission parses only what is new. It is for one session.
type Known struct{ decider *decider }

// maxKnown is the number of texts beyond the program's that Known keeps.
const maxKnown = 1000

// take returns the decider for a program of so many blocks.
func (k *Known) take(blocks int) *decider {
	if k == nil {
		return newDecider()
	}
	if k.decider == nil || len(k.decider.names) > blocks+maxKnown {
		k.decider = newDecider()
	}
	return k.decider
}

// ReadSubmission returns the patch that code becomes which is to be executed. dialect is its language; "" leaves it to
// fences and to the program. It takes every text. A text that is not code but holds fenced code is a reply.
func ReadSubmission(text, dialect string) (p *Patch, reply bool, err error) {
	if !utf8.ValidString(text) {
		return nil, false, notUTF8()
	}
	text = fenced(strings.TrimPrefix(text, syntax.BOM))
	sections, bad := readBlock(text)
	reply = fences.MatchString(text) && !anySyntax(text)
	if dialect != "" && (!reply || syntax.Of(dialect).Parses([]byte(text))) {
		sections, reply = cells(Block{Source: trimBlankLines(text), Dialect: dialect}), false
	} else if bad != nil {
		sections, reply = cells(Block{Source: trimBlankLines(text)}), false
	}
	if len(sections) == 0 {
		return nil, false, malformed(0, "give at least one statement", "there is no code")
	}
	return &Patch{Format: FormatBlock, Sections: sections}, reply, nil
}

// submit finds the place of a block that is to be executed.
func (r *reviser) submit(s Section) error {
	text := strings.TrimRight(s.Text, "\r\n")
	in := code{syntax.Of(s.Dialect), text}
	_, names := r.decider.of(in)
	if r.on.Submitted.Append {
		r.keep("", names)
		return r.insertAt(len(r.blocks), s)
	}
	d := r.decider.decide(r.blocks, in, r.failed(), r.taken)
	if d.By == ByContent { // the last of several: what it sees is the latest
		for _, b := range r.blocks {
			if b.Source == text && !r.taken[b.ID] {
				d.Block = b.ID
			}
		}
	}
	if d.Block != "" && (d.By == ByContent || len(names.Defines)+len(names.Assigns) == 0) &&
		(r.on.Submitted.Overtaken(d.Block) || r.failedSince(d.Block, names)) {
		d = Decision{By: ByNothing, Score: d.Score, RunnerUp: d.Block, RunnerUpScore: d.Score}
	}
	if d.By != ByContent {
		shares, more, ok := r.decider.splitByDefinition(r.blocks, in)
		if ok && (more || d.Block == "" || len(shares) > 1) {
			return r.rewriteShares(shares)
		}
		if r.refuseLostNames(d, in) != nil { // it may be a part of that block: nothing is lost by a new block
			d = Decision{By: ByNothing, Score: d.Score, RunnerUp: d.Block, RunnerUpScore: d.Score}
		}
	}
	if d.Block == "" && r.on.Submitted.Reply {
		d = r.rebound(in, d)
	}
	if r.goesOn(d, names) {
		d = Decision{By: ByNothing, Score: d.Score, RunnerUp: d.Block, RunnerUpScore: d.Score}
	}
	kept := r.keep(d.Block, names)
	if d.Block == "" && !kept {
		d = r.superseded(in, d)
	}
	if d.Block != "" {
		r.follow(d.Block)
		if err := refuseOmission(r.blocks[r.at(d.Block)].Source, s.Text, s.Dialect); err != nil {
			return err
		}
		r.rewriteBlock(d.Block, s.Text, d)
		if b := &r.blocks[r.at(d.Block)]; b.Dialect == syntax.Python { // a magic may follow what was none
			b.Dialect = r.neighbours().pythonDialect(b.Source)
		}
		return nil
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

// follow moves a failed block to the end if its text comes after that of a new block: the new block may do what it
// lacked. A failed block has done nothing that others need.
func (r *reviser) follow(id string) {
	at := r.at(id)
	if at < 0 || !r.failed()[id] {
		return
	}
	for _, p := range r.places {
		if p.Decision != nil && p.Decision.By == ByNothing && r.at(p.Block) > at {
			b := r.blocks[at]
			r.blocks, r.stale = append(slices.Delete(r.blocks, at, at+1), b), true
			return
		}
	}
}

// goesOn reports whether a text that resembles a block is a further step and not a new version of it: it continues from
// a value that the block binds ("s = step(s)"), or both change what was there ("xs.append(1); n = len(xs)"). A notebook
// keeps what the block did. A block that failed did nothing.
func (r *reviser) goesOn(d Decision, names *syntax.Bindings) bool {
	if d.By != BySimilarity || r.failed()[d.Block] {
		return false
	}
	_, was := r.decider.of(r.blocks[r.at(d.Block)].code())
	return was.Binds(names.Reads) || r.on.Submitted.Consumed(d.Block)
}

// failedSince reports whether a failed block after this one did something, before it failed, that names are about.
func (r *reviser) failedSince(id string, names *syntax.Bindings) bool {
	return slices.ContainsFunc(r.blocks[r.at(id)+1:], func(b Block) bool { return r.kept(b, names) != "" })
}

func (r *reviser) failed() map[string]bool {
	failed := map[string]bool{}
	for _, id := range r.on.Failed {
		failed[id] = true
	}
	return failed
}

// rewriteShares gives blocks new texts of definitions that they have among others.
func (r *reviser) rewriteShares(shares []blockRewrite) error {
	for _, x := range shares {
		b := r.blocks[r.at(x.block)]
		if err := refuseOmission(b.Source, x.now, b.Dialect); err != nil {
			return err
		}
		r.rewriteBlock(x.block, x.now, Decision{Block: x.block, By: ByPart, Score: 1})
	}
	return nil
}

// rebound returns the decision about a reply that binds a name again. A reply such as "t3 = …; print(t3)" belongs to
// the block that binds t3, however little their texts have in common: people who correct a calculation in prose give
// all of it. It is a new block if it continues from the old value, or if several blocks bind its names.
func (r *reviser) rebound(in code, d Decision) Decision {
	_, names := r.decider.of(in)
	at := -1
	for i, b := range r.blocks {
		_, n := r.decider.of(b.code())
		if syntax.Of(b.Dialect) != in.Syntax || !syntax.Intersects(n.Assigns, names.Assigns) {
			continue
		}
		if at >= 0 || r.taken[b.ID] || syntax.Intersects(n.Assigns, names.Reads) ||
			syntax.Intersects(n.Defines, names.Free) {
			return d
		}
		at = i
	}
	if at < 0 {
		return d
	}
	d.Block, d.By, d.Score = r.blocks[at].ID, ByDefinition, 1
	return d
}

// superseded returns the decision about a text that no block resembles, where the last block failed. Such a block
// defines nothing, and the history keeps it. So the text replaces it, unless it plainly does something else:
//
//   - It uses a name that the failed block was to bind. So its author takes that block to be there.
//   - Both define functions or classes, of other names.
//   - They have no name in common, builtins and modules that both import aside.
//
// Its effects stay, unless the text binds one of these names again. A block that cannot be parsed never began to run,
// so the next text replaces it. The weights of decide cannot say this: they were fitted where a wrong replacement loses
// code that works. See testdata/decisions.md.
func (r *reviser) superseded(in code, d Decision) Decision {
	_, names := r.decider.of(in)
	last := r.at(r.on.Submitted.Last)
	if last < 0 || r.taken[r.blocks[last].ID] {
		return d
	}
	b := r.blocks[last]
	if syntax.Of(b.Dialect) != in.Syntax {
		return d
	}
	answer := Decision{Block: b.ID, By: ByAnswer,
		Score: r.decider.compare(r.blocks, in).featuresOf(last, true).score()}
	if r.on.Submitted.Unread {
		return answer
	}
	_, was := r.decider.of(b.code())
	apart := len(was.Defines) > 0 && len(names.Defines) > 0 && !syntax.Intersects(was.Defines, names.Defines)
	if was.Binds(names.Free) || apart || !sharesName(was, names, in.Builtin) {
		return d
	}
	part := r.decider.before(b.code(), r.on.Submitted.FailedAt[b.ID])
	if _, n := r.decider.of(code{syntax.Of(b.Dialect), part}); n.Does() && !redone(n, names) {
		r.rewriteBlock(b.ID, part, Decision{Block: b.ID, By: ByKept, Score: 1})
		return d
	}
	return answer
}

// keep cuts failed blocks to what they did before they failed, if code uses it: in a notebook, names that a cell set
// before it failed stay. A failed node defines nothing here, so that part becomes a block that ends before the failing
// statement. by is the block that the code replaces. The result says whether the last block was cut.
func (r *reviser) keep(by string, names *syntax.Bindings) (last bool) {
	for _, b := range r.blocks {
		if b.ID == by { // a failed block after it may succeed with it
			break
		}
		if part := r.kept(b, names); part != "" {
			r.rewriteBlock(b.ID, part, Decision{Block: b.ID, By: ByKept, Score: 1})
			last = last || b.ID == r.on.Submitted.Last
		}
	}
	return last
}

// kept returns what a block did before it failed, if code uses a name that this binds or changes; otherwise "".
func (r *reviser) kept(b Block, names *syntax.Bindings) string {
	if r.taken[b.ID] {
		return ""
	}
	part := r.decider.before(b.code(), r.on.Submitted.FailedAt[b.ID])
	_, n := r.decider.of(code{syntax.Of(b.Dialect), part})
	if n.Binds(names.Free) || syntax.Intersects(n.Changes, names.Free) {
		return part
	}
	return ""
}

// before returns the statements of a source that end above a line; "" if there are none.
func (g *decider) before(c code, line int) string {
	source, list := c.text, g.stmts(c)
	if slices.ContainsFunc(list, func(s syntax.Statement) bool { return s.Broken }) {
		return ""
	}
	cut := 0
	for _, s := range list {
		if ends := 1 + strings.Count(source[:s.End], "\n"); line > 0 && ends >= line {
			// The statement may begin on the last line of the one before it.
			start := strings.LastIndexByte(source[:s.Start], '\n') + 1
			if cut > start {
				return ""
			}
			return strings.TrimRight(source[:cut], " \t\r\n")
		}
		cut = s.End
	}
	return ""
}

// redone reports whether another text binds one of the names again that a text binds.
func redone(b, other *syntax.Bindings) bool {
	return b.Binds(other.Assigns) || b.Binds(other.Defines) || b.Binds(other.Imports)
}

// sharesName reports whether two texts have a name in common that they bind or use. Builtins do not count, nor do
// modules that both import: half of all code imports the same few.
func sharesName(b, other *syntax.Bindings, builtin map[string]bool) bool {
	for _, names := range []map[string]bool{b.Assigns, b.Defines, b.Imports, b.Free} {
		for name := range names {
			if builtin[name] || b.Imports[name] && other.Imports[name] {
				continue
			}
			if other.Free[name] || other.Binds(map[string]bool{name: true}) {
				return true
			}
		}
	}
	return false
}
