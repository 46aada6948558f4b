// Package flow says what reached each call of a program, and what became of its answer. It executes nothing.
//
// # Nouns
//
// A Source is a text that the program took in: a file that a node read, or the answer of a call. It has Parts: the
// elements of a list, the rows of a table, the lines of other text. A request is all text in the arguments of a call. A
// result is what a block printed, or a file that the program wrote. A Passage is what a request or a result has of a
// source: whole parts, or some words of them. A Group is several calls of one tool by one node, such as those of
// workers.
//
// # What is said of a source and a call
//
//   - given: words of the source are in the request, in their order, and the graph has a way from the one to the other.
//   - may: the graph has a way, and none of its text is in the request. It may have come in another form, such as a
//     sum, or not at all.
//   - never: the graph has no way. It cannot have reached the call.
//
// The graph is that of the nodes as they were observed to read and write (package artifact). Within a node there is no
// graph: there an answer may have reached every later call.
//
// Words are compared by shingles, runs of four words, and the share of a part that a text has is its containment
// (Broder, On the resemblance and containment of documents, 1997). A run of words that several parts of a source have
// counts for none of them, unless a part has nothing else, and so do words that several files have. Of an answer, words
// count that its request does not have. The case of letters, punctuation and space do not count.
//
// # Findings
//
// A finding names what a reader should look at. It is true as a statement about texts, and whether it is a fault is for
// the reader to say: a program may leave a file out on purpose.
//
//   - left-out: of the parts that a group was given, or the files beside them, some are in no request.
//   - given-twice: two calls of a group were given the same part, where the others have one each.
//   - cut: a request has a source from its beginning up to some place, and nothing after it.
//   - dropped: an answer is in no later request and in no result, and those of other calls of its group are; or no
//     node has read it.
//
// # What it cannot see
//
// A text that the program made itself, or has as a literal, is no source. Words that a program changes (translates,
// hashes, counts) are not found, so such a source is at most one of may. Parts of fewer than three words are not
// looked for. The content of a file that the store does not keep, those of more than a megabyte, is not compared.
package flow
