package depgraph

// Calls is what the text of a block says about the calls that it makes. It is a prediction for people and rules: the
// text need not show which function a name means when the block runs.
type Calls struct {
	Calls     []Call            // in the order of the text
	Constants map[string]string // names that the block assigns once, a text
	Functions []Function
}

// Call is one call, as the text shows it.
type Call struct {
	Name  string // dotted, with imported names in full: "requests.get"
	Line  int    // 1-based, in Facts.Code
	In    string // the function or method around it: "f", "Class.method"; "" is none
	First Argument
	Named map[string]Argument // keyword arguments
	Loop  Loop                // around it, in the same function

	Effect EffectKind // "": none is known
	Mode   Mode       // for an effect on files: how it accesses First
}

// Argument is an argument of a call, as far as the text shows it.
type Argument struct {
	Text  string // the value of a literal; for an f-string, the part before its first value
	Begin bool   // the text only begins like this
	Name  string // instead of a text: a variable
}

// Loop says how often a part of the text repeats.
type Loop uint8

const (
	Once     Loop = iota
	Repeated      // a loop over something, or with a condition
	Forever       // while True: only a break, a return or an exception ends it
)

// Function is a function that the text defines.
type Function struct {
	Name string // as in Call.In
	Line int
}
