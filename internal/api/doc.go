// Package api holds the JSON documents that the verbs of the command line print with --json: one type a document.
//
// A document begins with its version, which is 1. Fields may be added; none changes its meaning within a version.
// Blocks are counted from 0, lines from 1. Durations are in seconds. docs/json.md describes every field.
//
// A document embeds or refers to the types that other packages define already, such as query.BlockView: their fields
// and tags are part of the document. Two documents are defined elsewhere: depgraph.Graph (graph) and bench.Report
// (bench).
package api

import "github.com/xstate-engine/xstate/state"

// Version is the version of all documents.
const Version = 1

// Answer begins the documents about a session after a step.
type Answer struct {
	Version int              `json:"version"`
	Session string           `json:"session"`
	Step    state.StepNumber `json:"step"`
}

// AnswerAt begins a document about a session after a step.
func AnswerAt(session string, n state.StepNumber) Answer { return Answer{Version, session, n} }
