// Package patch turns programs and patches, as people and agents write them, into edits of blocks. It is pure: it maps
// bytes to values, without clock, randomness, goroutines or files.
//
// The package has six nouns:
//
//   - [Program]: the content of a file, that is, its blocks in order and the text around them.
//   - [Block]: one piece of code, verbatim, with an id or a title if it has one.
//   - [ParseError]: why a file is not a program, as a code, a sentence and a hint.
//   - [Edit]: one change to a list of blocks: append, patch, move or delete.
//   - [Patch]: a change as agents write it, in any [Format]. It consists of sections, each of hunks of one text.
//   - [ApplyError]: why a patch cannot be applied, as a code, a sentence, a hint and the most similar places.
//
// # The promise
//
// Parse followed by [Program.Bytes] is the identity for every file that can be read. If a file parses, each of its
// blocks parses alone, and together they are the file. A block that does not parse is one block and does not change the
// others. [Program.With] returns a file that reads as the new program and keeps everything of the old file that is not
// code.
//
// [Apply] of [Match] is the new program. A block that is kept, moved or patched keeps its id. No block moves that can
// stay. There are edits if and only if something differs. Equal input gives equal output.
//
// [Rebase] adapts edits to a list that has changed since. It merges a stale edit. It also undoes an edit that others
// came after, by adapting its inverse. Two edits of one block are merged by lines ([diff.Merge]), or they are a
// [Conflict] with its clashes. No edit is lost, and none is made twice.
//
// A cell of a notebook that is not a block, such as text, is changed in the file alone. [Revision] lists these changes.
// No block changes because of them, unless a block becomes a text or the other way round.
//
// A text that replaces another is complete, or it is refused: a line that means omitted lines ("# ... existing code
// ...") must not be where code of the old text is missing. This holds for code that is executed, too. A patch that
// gives two texts for one block is refused, and what it gives in a language that the program lacks is reported.
//
// # Why the simple ways fail
//
// Cutting a file at lines that look like "# %%" cuts through strings that hold Markdown or other programs. It also cuts
// through suites, with "for" on one side and half of its body on the other. Only a parser knows better, so Parse parses
// the whole file. But then one open quote hides every marker up to the next quote, and one open parenthesis turns the
// rest of the file into loose tokens. So Parse trusts the parser only if it finds no error. Otherwise a marker inside a
// string counts as text only if the cell around it parses. Statements count up to the first error, and parsing starts
// again where a new block may start.
//
// The line numbers and counts of models are wrong, and their context is what they remember. So numbers only choose
// among places where the text occurs. Similarity alone never decides about lines that are removed. "return 3 * x" is
// 97% similar to "return 2 * x", and a patch that confuses them overwrites an edit that its author never saw. An index
// built once finds a hunk by its rarest line, so 10,000 hunks cost 10,000 look-ups. This also holds for formats whose
// hunks build on each other. There, only a hunk about lines that an earlier hunk wrote costs a pass over the text.
//
// Matching blocks by position turns one inserted cell into a change of all later cells. Matching by id fails for a
// notebook saved by an older editor, which drops ids. Matching by content turns every edit into a deletion and an
// insertion, and the block loses its history, blame and results. Agents send corrections as whole blocks, and 83% of
// these are at least half alike by lines ([diff.Likeness]). Comparing all pairs would take 10^8 comparisons for 10,000
// blocks. So blocks of equal text are matched first, by hash. Each remaining block is compared only with its neighbours
// and with blocks that share something rare with it.
//
// # What it cannot see
//
//   - A script with an error is cut by its lines. As in Python, an open string takes everything up to the end of the
//     file. In a file with errors, a marker in the middle of a suite starts a cell.
//   - The parser accepts more than Python does (print statements of Python 2, stray indentation) and lacks some of
//     Python 3.14 (t-strings). Neither affects other blocks: depgraph/python decides whether a block is Python.
//   - Jupytext's light format ("# +") and doctest sessions are not cells. Text below "[markdown]" is never code.
//   - A block that was split in two keeps its id in the half that is more similar to it. The other half is new.
//   - Notebooks of nbformat 2 and 3 can be read but not written. Blank lines and the cell marker directly before a
//     removed block are removed with it.
//   - Similarity is textual. Two unrelated one-line cells that share half of their words count as versions of each
//     other. That costs a misleading history, never a wrong result.
//   - A patch of another file in the workspace is refused.
//   - Only English words show that a line means omitted lines. A new comment with such words beside code that was
//     removed on purpose is refused, too.
//   - A text without a name may resemble no block, or two. Below [Threshold] it becomes a new block. A copied and
//     changed cell looks like an edited one (testdata/decisions.md).
//   - In a diff without line numbers, lines of text may look like "--- x" and "+++ y". Such a hunk is read as another
//     file, and Print refuses to write it.
package patch
