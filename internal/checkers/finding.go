package checkers

// Finding is what a checker reports of a place in a file.
type Finding struct {
	Checker  string `json:"checker"`
	Rule     string `json:"rule,omitempty"` // as the checker calls it: F401, arg-type, SC2086
	Severity string `json:"severity"`       // error, warning or note
	Message  string `json:"message"`
	File     string `json:"file"`
	Line     int    `json:"line"`             // from 1
	Column   int    `json:"column,omitempty"` // from 1; 0 if it is not known
}
