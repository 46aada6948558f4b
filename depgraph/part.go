package depgraph

import "fmt"

// A Part says where the text of a node stands that is not at the top level of its block. A function that the program
// calls once, by a statement of its own, is unfolded: the statements of its body are nodes, in the place of the call.
// Its variables are names of the program, spelled FUNCTION.NAME.
type Part struct {
	Function string `json:"function"` // whose body the text is of; "" for a statement of the program
	Number   int    `json:"number"`   // of the node in the body, from 1; 0 for a call
	Block    int    `json:"-"`        // index in the program of the block that holds the text
	End      int    `json:"-"`        // of the text of Function in its block; 0 where there is none

	Locals  []string `json:"locals"`  // names of the text that are variables of Function, as the text spells them
	Deletes []string `json:"deletes"` // those of Locals that the text may delete
	Globals []string `json:"globals"` // names that Function declares global
	Async   bool     `json:"async"`   // Function is a coroutine
	// Returned are names of which one is bound where Function, or one of its callers, has returned before this node.
	Returned []string `json:"returned"`

	// Call is the function that the text calls and that is unfolded; "" where there is none. With Header, which is the
	// text of its definition without the body, the node binds the parameters. Else it uses what the function returned.
	Call   string `json:"call"`
	Header string `json:"header"`
	// Results are the variables in place of Returned, of Function or of Call, where it returns a tuple display.
	Results []string `json:"results"`

	Calls []CallSite `json:"-"` // outermost first: the statements that called Function and its callers
}

// CallSite is a statement that calls a function.
type CallSite struct {
	Block    int    // index in the program
	Line     int    // 1-based in its text
	Function string // that the statement is of; "" for the program
}

// Label names the node in its function ("main[3]"); "" where the node is none of a body.
func (p *Part) Label() string {
	if p == nil || p.Number == 0 {
		return ""
	}
	return fmt.Sprintf("%s[%d]", p.Function, p.Number)
}

// Returned is the variable of a function that is bound once the body has returned.
func Returned(function string) string { return function + ".return" }

// Unfolding says which nodes a program has beside those of its blocks' facts.
type Unfolding struct {
	Nodes map[int][]Node // block → its nodes, where they differ from those of its facts
	Whole map[int]string // block → why a function that it calls is one node, a sentence
}

// Of returns the facts of block i with the nodes that it has in the program.
func (u Unfolding) Of(i int, f *Facts) *Facts {
	nodes, is := u.Nodes[i]
	if !is {
		return f
	}
	own := *f
	own.Nodes = nodes
	return &own
}
