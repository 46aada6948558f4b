package kernel

import (
	"encoding/json"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/inspect"
)

// Group names the content of a group: names whose values share mutable objects. A name that shares with none is a group
// by itself. The name of such a group is the digest of its value, whatever the name.
type Group string

// Node is one node to execute.
type Node struct {
	Text []byte `json:"-"`

	ID       string   `json:"node"`
	Filename string   `json:"filename"` // what tracebacks call the block
	Line     int      `json:"line"`
	Future   []string `json:"future,omitempty"` // features of the language in force
	Expr     bool     `json:"expr,omitempty"`   // the value of its last expression is its result
	Quiet    bool     `json:"quiet,omitempty"`  // the result is not shown
	Dialect  string   `json:"dialect,omitempty"`
	Last     bool     `json:"last,omitempty"`  // the block's last
	First    bool     `json:"first,omitempty"` // the program's first: a string at its beginning documents the program

	// Def: the node only defines, and the code nested in it does not run.
	Def bool `json:"definition,omitempty"`
	// Import: an import and no more. Warning filters that it adds belong to the package.
	Import bool `json:"library_import,omitempty"`

	Uses    []string `json:"uses"`              // names that it may read
	Imports []string `json:"imports,omitempty"` // modules that its text imports
	// Submodules are dotted names that nodes before may have imported: they are attributes of packages.
	Submodules []string `json:"submodules,omitempty"`
	Fresh      bool     `json:"fresh,omitempty"`    // the interpreter was started for this node
	Imported   []string `json:"imported,omitempty"` // libraries whose import is state of the program
	Certain    []string `json:"certain,omitempty"`  // names that it binds on every path
	Keeps      []string `json:"keeps,omitempty"`    // names to bind its value to, see depgraph.Node
	Unbound    []string `json:"unbound,omitempty"`  // names that have a value and that the namespace was not given

	// OpenElsewhere are files that are open for the program and not in this interpreter. A node that writes to one is
	// undone, as with Again.
	OpenElsewhere []string `json:"open_elsewhere,omitempty"`

	// Draws are what the node drew when it made calls that are not settled. It draws them again, see state.Drawn.
	Draws []state.Draw `json:"draws,omitempty"`

	// Observed is the number under which the sandbox observes the node; 0: it does not. The driver brackets the
	// program's code by calls that name it, see package sandbox.
	Observed int `json:"observed,omitempty"`
	// MayOmitMarks says that nothing else is to be observed or bounded while the node runs. The driver may leave out
	// the marks if it knows that the node uses no files and starts no processes.
	MayOmitMarks bool `json:"may_omit_marks,omitempty"`
	// Part says that the text is a part of a function; nil: it is not.
	Part *FunctionPart `json:"part,omitempty"`

	Reach map[string][]string `json:"reach,omitempty"` // class → names whose values reach it
	Order []string            `json:"order,omitempty"` // in which the program bound its names, where a node may ask
	Lined bool                `json:"lined,omitempty"` // the lines of functions that it executes are wanted
	Lists bool                `json:"lists,omitempty"` // it may list subclasses, and is given all that there are

	// End says that the program ends here: in place of a text, the kernel executes what the program has left for its
	// end. Failed says that a node before has failed.
	End    bool `json:"end,omitempty"`
	Failed bool `json:"failed,omitempty"`
}

// FunctionPart is what a kernel needs to know of a node whose text is a part of a function.
type FunctionPart struct {
	*depgraph.Part
	Calls []CallSite `json:"calls"` // those of the part, with file names
}

// CallSite is a statement that called a function, for tracebacks.
type CallSite struct {
	Filename string `json:"filename"`
	Line     int    `json:"line"`
	Function string `json:"function"` // that the statement is of; "" for the program
}

// Source is the text of a block.
type Source struct {
	Filename string
	Dialect  depgraph.Dialect
	Text     []byte
	Future   []string // features of the language that the block asks for
}

// Verdict is what a language says of a block before it runs: whether it is valid, and if not, why.
type Verdict struct {
	Valid   bool   `json:"valid"`
	Type    string `json:"type"`
	Message string `json:"message"`
	Line    int    `json:"line"`
	Column  int    `json:"column"`
}

// Citations are the texts of blocks, by file name, so that tracebacks can cite them: those that are new or changed
// since the last call, and the names of those that are gone.
type Citations struct {
	Texts   map[string]string   `json:"texts"`
	Futures map[string][]string `json:"futures"` // features in force in them
	Gone    []string            `json:"gone,omitempty"`
	// Dialects are those of the blocks.
	Dialects map[string]depgraph.Dialect `json:"-"`
}

// Binding changes which names are bound. Parking keeps the values of a group in the interpreter, without a name.
type Binding struct {
	Park   []Parking `json:"park,omitempty"`
	Drop   []Group   `json:"drop,omitempty"` // parked groups to forget
	Unbind []string  `json:"unbind,omitempty"`
	Unpark []Group   `json:"unpark,omitempty"`
}

// FirstImport says how the program imported a library first, where that import changed the environment.
type FirstImport struct {
	Node    string             `json:"node"`    // the execution that imported it, maybe with other libraries
	Environ map[string]*string `json:"environ"` // variables that it read and changed, before it; nil: unset
}

// Parking is a group to park, with the names that it is bound to.
type Parking struct {
	Group Group
	Names []string
}

// MarshalJSON writes a parking as a list of two.
func (p Parking) MarshalJSON() ([]byte, error) { return json.Marshal([]any{p.Group, p.Names}) }

// Storing names values to store, which are one group.
type Storing struct {
	Names []string       `json:"names"`
	Lost  []state.Digest `json:"lost,omitempty"` // parts that the kernel gave before and that are wanted again
	Lend  int64          `json:"lend"`           // bytes of parts that may be given as data; more go to files
	// Outline: only name the parts. It is for as long as the kernel has that memory, unchanged, in whatever values.
	Outline bool `json:"outline,omitempty"`
}

// Stored is a group as a kernel made bytes of it. The parts that the bytes refer to follow them.
type Stored struct {
	Done  bool        `json:"stored"`
	Why   string      `json:"why"`  // it could not be stored
	Path  string      `json:"path"` // the file that holds the bytes; "" when Data does
	Size  int64       `json:"size"`
	Parts []Part      `json:"parts"`
	Needs [][2]string `json:"needs"` // classes of the program that it refers to: name, digest
	Data  []byte      `json:"-"`
}

// Part is large memory that groups may share. One with neither path nor data was given before.
type Part struct {
	Path   string       `json:"path"` // the file that holds it
	Data   []byte       `json:"-"`
	Digest state.Digest `json:"digest"` // "" when it is not known
	Size   int64        `json:"size"`

	Address uint64 `json:"address"` // in the memory of the interpreter's process; Store reads it into Data
}

// Loading is a stored group to bind.
type Loading struct {
	Names []string     `json:"names"`
	Path  string       `json:"path,omitempty"` // the file that holds the bytes; "" when Data does
	Data  []byte       `json:"-"`
	Parts []LoadedPart `json:"parts,omitempty"`
	// Foreign: the bytes come from another user, maybe to harm. The kernel interprets them only if nothing that they
	// can contain executes code, and else reports an error.
	Foreign bool `json:"foreign,omitempty"`
}

// LoadedPart is a part of a group to bind.
type LoadedPart struct {
	Digest state.Digest `json:"digest"`
	Path   string       `json:"path"` // a file; "": memory that the kernel has
}

// Loaded is what a loading led to. The engine compares it with what was stored.
type Loaded struct {
	OK       bool                    `json:"ok"`
	Absent   []state.Digest          `json:"absent"` // parts without a path whose memory is not there: nothing is bound
	Need     []string                `json:"need"`
	Digests  map[string]state.Digest `json:"digests"`
	Shares   [][3]string             `json:"shares"`
	Unparked []Group                 `json:"unparked"` // groups that are parked no more
}

// Inspected is what a language shows of a value.
type Inspected struct {
	Text        string
	Description *inspect.Description // nil: the text is all
}

// Unloaded is what a kernel holds no more since workspace modules were unloaded.
type Unloaded struct {
	Stale   bool           `json:"stale"`    // only a new interpreter will do
	Modules []string       `json:"unloaded"` // workspace modules
	Dropped []string       `json:"dropped"`  // names
	Classes []state.Digest `json:"classes"`
}
