package provenance

import "github.com/xstate-engine/xstate/patch"

// Format is a form in which a program after a step is exported. An archive holds a whole session and is not a Format:
// see Archive.
type Format string

const (
	FormatScript   Format = "py"    // "# %%" cells
	FormatMarkdown Format = "md"    // fenced code
	FormatNotebook Format = "ipynb" // nbformat 4.5
	FormatHTML     Format = "html"  // a page that needs no other file and runs nothing
	FormatPROV     Format = "prov"  // PROV-JSON

	FormatAgentTrace Format = "agent-trace" // Agent Trace 0.1: the author of each line
)

// Formats are all of them.
var Formats = []Format{FormatScript, FormatMarkdown, FormatNotebook, FormatHTML, FormatPROV, FormatAgentTrace}

// ExportOptions selects what Export writes besides the code. The zero value is the code and the outputs of blocks.
type ExportOptions struct {
	NoOutputs bool // leave out what blocks put out
	NoFailed  bool // leave out blocks that failed, and those that were blocked by them
	// for FormatAgentTrace: the program's file, as it is named from the root of the repository; the session's name when
	// empty
	File string
	Data []byte // for FormatAgentTrace: what the file holds

	Program *patch.Program                    // the program's file, for the texts around its blocks; nil: no texts
	Images  *ImageFolder                      // for FormatMarkdown: takes the pictures; nil: no pictures
	Open    func(name string) ([]byte, error) // reads a picture that a text shows, by its path; nil: links stay
}

// ImageFolder is a folder of pictures beside a document.
type ImageFolder struct {
	Link  string            // the folder, as links of the document name it
	Files map[string][]byte // the pictures that the document links to, by name; Export fills it
}
