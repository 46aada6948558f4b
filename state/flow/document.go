package flow

import (
	"fmt"
	"strings"

	"github.com/xstate-engine/xstate/state"
)

// Flow is what reached the calls of a program after a step, and what their answers reached. It prints as JSON.
type Flow struct {
	Session  string           `json:"session"`
	Step     state.StepNumber `json:"step"`
	Calls    []CallFlow       `json:"calls"` // that the results depend on, in the order in which they began
	Sources  []SourceFlow     `json:"sources"`
	Results  []ResultFlow     `json:"results"`
	Findings []Finding        `json:"findings"`
}

// SourceFlow is a text that the program took in.
type SourceFlow struct {
	Name  string `json:"source"` // file:PATH or call:NUMBER
	Words int    `json:"words"`
	Parts int    `json:"parts"` // elements, rows or lines with words; 0: its content is not text, or was not kept
	// Status is given, if a request or a result has some of it; else may, if one depends on it; else never.
	Status string `json:"status"`

	list bool // its parts are elements or rows
}

// The statuses of a source.
const (
	Given = "given"
	May   = "may"
	Never = "never"
)

// CallFlow is a call, with what reached it.
type CallFlow struct {
	ID    state.CallID  `json:"call"`
	Kind  string        `json:"kind"`
	Tool  string        `json:"tool"`
	Text  string        `json:"text"`
	Block state.BlockID `json:"block"`
	Node  string        `json:"node"`
	Line  int           `json:"line,omitempty"`

	Given []Passage `json:"given"`
	// May are sources that it depends on, of whose text it has nothing, and Never those that cannot have reached it:
	// both only where one call is asked for.
	May   []string `json:"may,omitempty"`
	Never []string `json:"never,omitempty"`
	// Unseen are sources on which what it was given depends, and of which it was given nothing.
	Unseen []string  `json:"unseen"`
	Answer []Passage `json:"answer"` // what requests and results have of the answer: Source is where

	request []uint64 // its words
}

// ResultFlow is what a block printed, or a file that the program wrote.
type ResultFlow struct {
	Name  string    `json:"result"` // output:BLOCK or file:PATH
	Given []Passage `json:"given"`

	words []uint64
	nodes []string // that made it
}

// Passage is what a text has of a source.
type Passage struct {
	Source string   `json:"source"`
	Share  float64  `json:"share"`           // the share that it has, 0 to 1
	Parts  []string `json:"parts,omitempty"` // that it has, of a list or a table
	// Through are the answers by which it came, if the text has nothing else of it.
	Through []string `json:"through,omitempty"`
	// Cut is where the text of the source stops, in words: the request has it from the beginning to there, and nothing
	// after it. 0: it has all, or other words.
	Cut int `json:"cut,omitempty"`
}

// partsNamed is how many parts a text names.
const partsNamed = 4

// Text names the source, with the parts or the share of it.
func (p *Passage) Text() string {
	switch {
	case p.Cut > 0:
		return fmt.Sprintf("%s (the first %d words)", p.Source, p.Cut)
	case len(p.Parts) > partsNamed:
		return fmt.Sprintf("%s (%d parts)", p.Source, len(p.Parts))
	case len(p.Parts) > 0:
		return fmt.Sprintf("%s#%s", p.Source, strings.Join(p.Parts, ","))
	case len(p.Through) > 0:
		by := strings.Join(p.Through[:min(len(p.Through), partsNamed)], ", ")
		if more := len(p.Through) - partsNamed; more > 0 {
			by += fmt.Sprintf(" and %d more", more)
		}
		return fmt.Sprintf("%s (by %s)", p.Source, by)
	case p.Share < 0.95:
		return fmt.Sprintf("%s (%.0f%%)", p.Source, max(100*p.Share, 1))
	}
	return p.Source
}

// Finding is something that a reader should look at.
type Finding struct {
	Code    string          `json:"code"` // left-out, given-twice, cut or dropped
	Text    string          `json:"text"` // one sentence
	Calls   []state.CallID  `json:"calls"`
	Blocks  []state.BlockID `json:"blocks"`
	Sources []string        `json:"sources"` // with #PART for the part of a list
}

// The codes of findings.
const (
	LeftOut    = "left-out"
	GivenTwice = "given-twice"
	Cut        = "cut"
	Dropped    = "dropped"
)
