package depgraph

// Outline is what a text defines for others to use, and what it asserts.
type Outline struct {
	Definitions []Definition // in order; where a name is bound again, the last binding counts
	Asserts     []int        // the lines of the assertions that run with the text, not those inside functions
}

// Definition is something that a text defines and another text may mention.
type Definition struct {
	Name      string // dotted, from the top of the text: clean, Model, Model.fit
	Signature string // how it is called; equal if and only if the tokens are; for a variable, its name
	Class     bool
	Line, End int // from 1; 0 for a variable
}
