// Package preflight says before a program runs what it would do, and whether it is ready to.
//
// # Nouns
//
// There are three. A Text is the program as it is written: blocks with their facts. From it come the tools, models,
// hosts, files and packages that it would use, with their places. A Host is what the surroundings offer: packages,
// files, tools, rules, what runs recorded. A Report holds both against each other; it has findings and a verdict.
//
// Nothing of the program is executed. The interpreter is asked which packages it has; no package is imported.
//
// # Why the simple way fails
//
//   - To look for each name in the text of its block alone misses imports, constants and functions of earlier blocks.
//   - To report whatever may happen is to report everything: eval may do all. A finding is what the text shows. The
//     gate decides about anything else when it happens.
//   - To run the program in a dry mode executes code that has not been reviewed.
//
// # What it cannot see
//
// Names that are computed, code in modules of the workspace, and how often a loop repeats. A forecast is what the same
// blocks, or else calls of the same tools, cost before.
package preflight
