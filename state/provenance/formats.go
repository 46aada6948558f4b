package provenance

// Format is what a program at a step is exported as. An archive of a whole session is not one: see Store.Export.
type Format string

const (
	FormatScript   Format = "py"    // "# %%" cells
	FormatMarkdown Format = "md"    // fenced code
	FormatNotebook Format = "ipynb" // nbformat 4.5
	FormatPROV     Format = "prov"  // PROV-JSON

	FormatAgentTrace Format = "agent-trace" // Agent Trace 0.1: who wrote which lines
)

// Formats are all of them.
var Formats = []Format{FormatScript, FormatMarkdown, FormatNotebook, FormatPROV, FormatAgentTrace}

// Exported says what of a program is written, beside its code. The zero value is everything.
type ExportOptions struct {
	NoOutputs bool // leave out what blocks put out
	// of FormatAgentTrace: the program's file, as it is named from the root of the repository; the session's name when
	// empty
	File string
	Data []byte // of FormatAgentTrace: what the file holds
}
