package provenance

// Format is a form in which a program after a step is exported. An archive of a whole session is no such form: see
// Archive.
type Format string

const (
	FormatScript   Format = "py"    // "# %%" cells
	FormatMarkdown Format = "md"    // fenced code
	FormatNotebook Format = "ipynb" // nbformat 4.5
	FormatPROV     Format = "prov"  // PROV-JSON

	FormatAgentTrace Format = "agent-trace" // Agent Trace 0.1: the author of each line
)

// Formats are all of them.
var Formats = []Format{FormatScript, FormatMarkdown, FormatNotebook, FormatPROV, FormatAgentTrace}

// ExportOptions selects what Export writes besides the code. The zero value is everything.
type ExportOptions struct {
	NoOutputs bool // leave out what blocks put out
	// of FormatAgentTrace: the program's file, as it is named from the root of the repository; the session's name when
	// empty
	File string
	Data []byte // of FormatAgentTrace: what the file holds
}
