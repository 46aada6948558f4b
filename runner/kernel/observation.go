package kernel

import (
	"encoding/json"

	"github.com/xstate-engine/xstate/runner/sandbox"
	"github.com/xstate-engine/xstate/state"
)

// Observation is what a kernel saw of one execution of one node. A kernel fills it in one place, and the engine turns
// it into a trace. The parts are embedded, so that a reply of a driver is the same fields without nesting.
type Observation struct {
	Result    `json:"-"`
	Reads     // what the node read of the program's values
	Changes   // what it made of them
	Effects   // what it did beside that
	Retry     // why the result does not count and the node has to run again
	Forgotten // what the kernel holds no more

	// Stdin are the bytes of the standard input that it looked at; nil: none
	Stdin   *Input   `json:"stdin"`
	Imports Imports  `json:"imports"`
	Files   Files    `json:"files"`
	Marks   []string `json:"marks"` // why the result may vary
	Cites   []string `json:"cites"` // blocks whose lines the result depends on, by file name
	// Denied are calls that the bounds of the sandbox forbade.
	Denied []sandbox.Denial `json:"-"`
	// Plain is the document of the values that a node of the dialect Give gives, see package mixed.
	Plain []byte `json:"-"`
	// block → lines on which code begins, and those of them that were executed
	Lined map[string][2][]int `json:"lined"`
}

// Result is how an execution ended. The kernel sends it before it looks at what the node did.
type Result struct {
	Seconds float64  `json:"seconds"`
	Failure *Failure `json:"error"`  // nil: the node succeeded
	Ending  *Ending  `json:"ending"` // nil: the program continues

	Interrupted bool `json:"interrupted"` // an interrupt was raised in the node, which may have caught it
	Unbound     bool `json:"unbound"`     // it used a name of Node.Unbound, so it has to run again
}

// Ending is how a node ended the program: with a code, and what it said. The type is that of the exception.
type Ending struct {
	Code    int    `json:"code"`
	Type    string `json:"type"`
	Message string `json:"message"`
}

// Failure is an error that the program raised.
type Failure struct {
	Type      string   `json:"type"`
	Message   string   `json:"message"`
	Traceback []string `json:"traceback"`
	Line      int      `json:"line"`
	Name      string   `json:"name"`    // the variable that was missing; "" when the failure is another
	Printed   bool     `json:"printed"` // the interpreter printed the traceback at the end of stderr
}

// Reads are names that the node read.
type Reads struct {
	Names      []string `json:"reads"`
	Absent     []string `json:"absent"`     // names that it asked for and that had no value
	Comembers  []string `json:"comembers"`  // names that share objects with what it read
	Everything bool     `json:"everything"` // the namespace was handed out as a whole

	HiddenReads []string `json:"hidden_reads"` // keys of generators, options and the working directory
	// variables; with "=" in front if the node only asked whether one is set
	EnvironReads []string `json:"environ_reads"`
}

// Changes are what the node made of the program's values.
type Changes struct {
	Writes    []Write  `json:"writes"`
	Deleted   []string `json:"deleted"` // names that it may have bound and deleted: not there before, nor after
	BindOrder []string `json:"born"`    // names in the order in which it bound them, "-" in front of those that moved

	// Altered are qualified names of what it changed in place and many values can reach: classes, functions and what
	// workspace modules hold.
	Altered        []string    `json:"altered"`
	AliasSensitive []string    `json:"touched"` // names whose sharing may be different now
	AliasesAfter   [][3]string `json:"after"`   // two names and a digest of what they share, of those in AliasSensitive
}

// Write is a name that the node wrote.
type Write struct {
	Name              string          `json:"name"`
	Deleted           bool            `json:"deleted"`
	Digest            state.Digest    `json:"digest"`
	Opaque            string          `json:"opaque"` // why the value cannot be named by content; "" when it can
	Size              int64           `json:"size"`
	Unhanded          int64           `json:"unhanded"` // those of these bytes that the engine was not given before
	Deps              []string        `json:"deps"`     // names that its code may load
	Code              []string        `json:"code"`     // qualified names of classes and functions that it reaches
	LifetimeSensitive bool            `json:"fragile"`
	ReachesModules    bool            `json:"rests"`   // it reaches what a workspace module holds
	Handles           []string        `json:"handles"` // open files that it may use, as in Files.Open
	ModuleParts       []string        `json:"held"`    // parts of workspace modules that it is or reaches
	Info              state.ValueInfo `json:"info"`
}

// Effects are what a node did beside values and files.
type Effects struct {
	Hidden  map[string]state.Digest `json:"hidden"`  // generators, options and the working directory that it changed
	Environ map[string]*string      `json:"environ"` // variables that it changed; nil: unset

	LibraryEnviron []string `json:"library_environ"` // those of these that only imports of libraries changed

	Figures    bool `json:"figures"`     // a display is begun and not shown
	HadFigures bool `json:"had_figures"` // one was, before the node

	Modules    []string `json:"modules"`  // libraries that it changed; "process": the interpreter itself
	Pristine   bool     `json:"pristine"` // it left them as in a new interpreter
	Registered []string `json:"planted"`  // names that what it put into the interpreter may use

	// workspace modules that it changed, or that did something when loaded; packages that it may have set: Undigested
	ModuleState map[string]state.Digest `json:"held"`
	// workspace modules that did nothing when loaded: the file, what they hold
	Quiet map[string][2]string `json:"quiet"`
}

// Undigested is reported in place of a digest where the kernel cannot compute one. The engine then names the state by
// lineage.
const Undigested state.Digest = "?"

// Retry says why a node has to run again. The kernel has undone what the node did, or has not run it.
type Retry struct {
	// Stale: a library that the node imports, and that is none of Node.Imported, would be different in a new
	// interpreter, or the node lists classes of earlier versions. It is to run in a new interpreter.
	Stale bool     `json:"stale"`
	Lists bool     `json:"lists"` // the node lists subclasses, as code of a module does: all of them are to be there
	Again []string `json:"again"` // names of Node.Unbound that the node asked for
}

// Forgotten is what the kernel holds no more, because the node changed what it depends on.
type Forgotten struct {
	Restored []string `json:"restored"` // libraries that were imported since the node before
	Dropped  []string `json:"dropped"`  // names
	// groups that were parked and that reach a class or function that was changed
	Unparked []Group        `json:"unparked"`
	Classes  []state.Digest `json:"classes"`
	Unloaded []string       `json:"unloaded"` // workspace modules
}

// Imports are what the node imported.
type Imports struct {
	Libraries map[string][]string `json:"libraries"` // with the files that identify their version
	// libraries that look at something when imported: what they saw
	Loads   map[string]state.Digest `json:"loads"`
	Files   []string                `json:"files"` // files in the workspace
	Modules []string                `json:"held"`  // workspace modules that the node, or what it read, may run
}

// Files are what the node did with files, by absolute path.
type Files struct {
	Reads    map[string]*string     `json:"reads"` // "presence": only whether the file is there
	Listings []string               `json:"listings"`
	Writes   map[string]*FileBefore `json:"writes"` // nil: nothing was there
	Modes    []string               `json:"modes"`  // whose permissions were asked
	Chmods   map[string]uint32      `json:"chmods"` // permissions before, of files whose permissions changed
	Times    []string               `json:"times"`  // whose times were asked

	// Open are the files that are open after the node: the path at which each was found first, and those that lead to
	// it now. Used are those of them, and of those open before, whose handles the node had.
	Open map[string][]string `json:"open"`
	Used []string            `json:"used"`

	// Disregarded are files that the hooks saw and leave out on purpose, such as a library's own cache.
	Disregarded []string `json:"disregarded"`
	// Marked is Node.Observed, where the driver has sent both marks.
	Marked int `json:"observed"`

	Reported `json:"-"`
}

// Reported is what only the report of a sandbox shows, see reporting.
type Reported struct {
	// Observed says that a report was joined: what child processes did is known as far as no mark says otherwise.
	Observed bool
	// Looks are files whose state a child process asked for: presence, size, permissions, and times to compare.
	Looks []string
	// Maybe are those of Writes that native code or a child process opened to write, and may have left as they were.
	Maybe []string
	// Tools are files in folders of the system that child processes used, and Program is what names them: the first
	// program that was executed, or "" for a copy of the interpreter. A folder that was listed ends in a slash.
	Tools   []string
	Program string
	// ShowsTimes: a program was executed that shows or stores the times of files.
	ShowsTimes bool
	// LeavesRunning: child processes of the node's own run on after it. EndsRunning: those that nodes before it left
	// have ended. MeetsOthers: a process was active in it, or it used a socket.
	LeavesRunning, EndsRunning, MeetsOthers bool
	// Hidden are paths where the bounds hid something from a look.
	Hidden map[string]bool
	// Changed are the files that the node changed under any name, see sandbox.Report.
	Changed map[sandbox.FileID]bool
}

// Input is a part of the standard input: the first byte, the one after the last, and whether the input ends there.
type Input struct {
	From, Upto int64
	Ended      bool
}

// MarshalJSON writes an input as a list of three.
func (i Input) MarshalJSON() ([]byte, error) { return json.Marshal([]any{i.From, i.Upto, i.Ended}) }

// UnmarshalJSON reads an input from a list of three.
func (i *Input) UnmarshalJSON(data []byte) error {
	return json.Unmarshal(data, &[]any{&i.From, &i.Upto, &i.Ended})
}

// FileBefore is what was at a path before a node wrote there.
type FileBefore struct {
	// Copy is where the content is. Of what is not a regular file it is "directory", "special" or "symlink:TARGET".
	Copy string `json:"copy"`
	Mode uint32 `json:"mode"`
	Time int64  `json:"time"` // when the content last changed, nanoseconds
}
