// Package languages reads a text in the language of its dialect.
//
// Packages that answer questions about recorded programs use it: they need the analysis of a text, and no interpreter.
// The runner takes the analysis from the languages that are registered with package kernel. A text in a dialect that no
// analyser has does not parse.
package languages
