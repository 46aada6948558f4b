package kernel

import "context"

// Available is what an interpreter offers to programs.
type Available struct {
	Modules  map[string]string `json:"modules"` // name → standard, own (the workspace), installed or missing
	Builtins []string          `json:"builtins"`
}

// Offering is a language whose names and modules are known before a program runs. Bash is none: a variable that is not
// set is empty, and a command is looked for when it is called.
type Offering interface {
	// Available asks the interpreter for its own names, and where modules come from, for a program in the folder of
	// the search. It executes nothing of the program.
	Available(ctx context.Context, s Search, modules []string) (*Available, error)
}
