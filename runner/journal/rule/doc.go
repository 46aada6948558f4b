// Package rule decides whether programs and their calls may proceed: by rules, by what a program declares, by budgets.
//
// # Nouns
//
// There are four. A Set is compiled rules; each is an expression in the Common Expression Language (cel.dev) with a
// verdict. A Manifest is what a program declares that it needs, in a comment. A Budget is a limit on what is spent. The
// Gate puts these together: it is the journal's gate of one session.
//
// # Who decides
//
// The rules of the user's file that match decide over those of folders, and these over the defaults. Among rules of one
// origin the strictest verdict counts. The file of an untrusted folder may have been written by the program itself:
// what it allows has no effect. A manifest denies what it does not list, and a budget denies what exceeds it, whatever
// the rules allow: the first is the program's own word, the second the user's.
//
// A rule that cannot be evaluated has not said no. So one that denies or asks counts as matching, and one that allows
// does not. Otherwise a call would be let through by an argument of another type.
//
// # Budgets
//
// The spending of a session is the sum of its records in the journal; that of a run, the sum of those that it added. A
// served call costs nothing. Calls are counted before they are made, so parallel calls do not exceed a limit. Money and
// tokens are known after: the call that exceeds a limit is the last one.
//
// # What it cannot see
//
// Rules about programs see what the text shows. A tool whose name is computed is seen when it is called.
package rule
