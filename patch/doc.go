// Package patch turns what people and agents hand over into edits of blocks. It is pure: bytes in, values out.
//
// There are seven nouns. A [Program] is what a file says: its blocks in order and the text around them. A [Block] is one
// piece of code, verbatim, with an id or a title when it has one. A [ParseError] says why a file is no program: code,
// sentence, hint. An [Edit] is one change to a list of blocks: append, patch, move or delete. A unified diff ([Unified]) is
// a change as people read it. A [Patch] is a change as agents write it, in any [Format]: sections, each about a text, of hunks.
// A [ApplyError] says why one cannot be applied: code, sentence, hint, and the places that come nearest.
//
// # The promise
//
// Parse then [Program.Bytes] is the identity for every file that is read. The blocks of a file that parses each parse by
// themselves and together are the file. A block that does not parse is one block; the others are as they would be if it did.
// [Program.With] another program in a file is a file that reads as that program, and keeps all of the first that is no code.
// [Apply] of [Match] is the new program; a block that is kept, moved or patched keeps its id, nothing that can stay moves,
// and no edits means no difference. Equal input gives equal output: no clock, no randomness, no goroutine, no file.
//
// [Rebase] makes edits of a list that has changed since: it is how a stale edit is merged, and how an edit that others came
// after is taken back, for that is to make its inverse. [Merge] does so by lines, in three ways: changes of different lines all
// arrive, those of the same lines are a [Clash], and then there is no result. No edit is lost, and none is made twice. [Carry]
// follows lines from one text to the next.
//
// # Why the simple ways fail
//
// Cutting at lines that look like "# %%" cuts strings that hold Markdown or other programs, and suites: "for" on one side,
// half its body on the other. Only a parser knows, so the whole file is parsed. But one open quote then hides every marker
// behind it until the next quote, and one open parenthesis turns the rest of the file into loose tokens. So the parse is
// trusted when it is clean. When it is not, a marker inside a string counts as text only if the cell around it parses;
// statements are trusted up to the first error, and parsing starts again where a new block may start.
//
// Line numbers of models are wrong, their counts too, and their context is what they remember. So numbers only choose among
// places where the text stands, and likeness alone decides nothing about lines that go: "return 3 * x" is 97% like
// "return 2 * x", and a patch that takes one for the other writes over an edit that its author never saw. Hunks are looked
// up by their rarest line, in an index made once, so 10,000 of them cost what 10,000 look-ups cost. Formats whose hunks build on each other are
// looked up the same way; only a hunk about what an earlier one wrote costs a pass over the text.
//
// Matching blocks by position makes of one inserted cell a change of all that follow; by id, of a notebook saved by an
// older editor a new program; by content, of every edit a deletion and an insertion, so that history, blame and the results
// of the block are lost. Corrections by agents arrive as the whole block again, 83% of them at least half alike by lines.
// Lines alone are too coarse for a cell of one line, where any edit leaves none as it was, so short ones are also compared
// by words. Comparing all with all costs 10^8 comparisons for 10,000 blocks, so equal text goes first, by hash, and the
// rest is compared only with its neighbourhood and with those it shares something rare with.
//
// # What it cannot see
//
//   - A script with an error is cut by its lines: an open string takes everything to its end, as it does in Python, and in
//     a file with errors a marker in the middle of a suite starts a cell.
//   - The parser accepts more than Python does (print statements of Python 2, stray indentation) and lacks some of 3.14
//     (t-strings). Both stay within their block: whether a block is Python is for depgraph to say.
//   - Jupytext's light format ("# +") and doctest sessions are not cells. Text below "[markdown]" is never code.
//   - A block that was split in two keeps its id in the half that is more like it; the other half is new.
//   - Notebooks of nbformat 2 and 3 are read, but not written. What stood right before a block that goes, and only there (blank
//     lines, its cell marker), goes with it.
//   - Likeness is of text. Two unrelated one-line cells that share half of their words count as versions of each other, which
//     costs a misleading history, never a wrong result.
//   - A file of the workspace beside the program: a patch of one is refused.
//   - Which block is meant by a text without a name that resembles none, or two: below [Threshold] it is new. A cell that is copied
//     and changed looks like one that was edited (testdata/decisions.md).
//   - In a diff without line numbers, lines "--- x" and "+++ y" that are text. Such a hunk is read as another file, and not printed.
//   - Between texts of more than 8,000 lines a diff is correct but need not be the shortest.
package patch
