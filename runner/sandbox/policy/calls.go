package policy

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Calls says where the tools and models come from that programs call, by the names of their tables. See package
// journal/source.
type Calls struct {
	MCP     map[string]MCP
	OpenAPI map[string]OpenAPI
	Models  map[string]Model
	Tools   map[string]Tool // by the name of the tool, with or without that of its source
}

// MCP is a server of the Model Context Protocol: a program that xstate starts, or an address.
type MCP struct {
	Command []string
	Folder  string   // that the command starts in; "": that of the program
	Env     []string // variables that the command gets beside the usual ones
	URL     string
	Headers map[string]string // values name variables of the environment as $NAME
	Timeout time.Duration
}

// OpenAPI is an HTTP interface that a document describes.
type OpenAPI struct {
	Document string // an absolute path, or an address
	Base     string // the address that paths begin at; "": the document says it
	Headers  map[string]string
	Timeout  time.Duration
}

// Model is a language model.
type Model struct {
	API     string // one of APIs
	URL     string // "": that of the maker of the interface
	Model   string
	Key     string  // the variable that holds the key; "": none is sent
	Input   float64 // US dollars for a million tokens
	Output  float64
	Script  string // for the interface script: an absolute path
	Timeout time.Duration
}

// Tool is what a user declares of a tool, over what its source says.
type Tool struct {
	Class    string // "": as the source says
	AtLeast  string // the class that a file demands which only narrows; "": none
	Scope    string
	Lifetime time.Duration
	Undo     string
	Identity []string // the arguments that distinguish calls with effects
	Price    float64  // US dollars for a call
	Timeout  time.Duration
}

// APIs are the interfaces of models.
var APIs = []string{"openai", "anthropic", "script"}

// Classes are the classes of tools, the strictest last. See journal.Class.
var Classes = []string{"pure", "read", "idempotent", "reversible", "irreversible"}

// Variables are the variables of the environment whose values the sources of tools need. They are secrets.
func (c *Calls) Variables() (names []string) {
	headers := func(values map[string]string) {
		for _, v := range values {
			for _, m := range variableIn.FindAllStringSubmatch(v, -1) {
				names = append(names, m[1])
			}
		}
	}
	for _, s := range c.MCP {
		headers(s.Headers)
		for _, name := range s.Env {
			if credential.MatchString(name) && !strings.HasSuffix(name, "*") {
				names = append(names, name)
			}
		}
	}
	for _, s := range c.OpenAPI {
		headers(s.Headers)
	}
	for _, m := range c.Models {
		names = append(names, m.Key)
	}
	slices.Sort(names)
	return slices.DeleteFunc(slices.Compact(names), func(n string) bool { return n == "" })
}

// Expand replaces each $NAME in the value of a header.
func Expand(value string, getenv func(string) string) (string, error) {
	var missing error
	value = variableIn.ReplaceAllStringFunc(value, func(name string) string {
		found := getenv(name[1:])
		if found == "" {
			missing = fmt.Errorf("the variable %s is not set", name[1:])
		}
		return found
	})
	return value, missing
}

// StricterClass returns the stricter one of two classes; "" is the least strict.
func StricterClass(a, b string) string {
	if slices.Index(Classes, a) > slices.Index(Classes, b) {
		return a
	}
	return b
}

var (
	sourceName = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)
	headerName = regexp.MustCompile("^[!#$%&'*+.^_`|~0-9A-Za-z-]+$")
	variableIn = regexp.MustCompile(`\$([A-Za-z_][A-Za-z0-9_]*)`)
	// credential finds names of headers and variables that hold a secret.
	credential = regexp.MustCompile(`(?i)authorization|cookie|token|secret|password|(^|[-_])(api)?_?key`)
)

func oneOf(words []string) func(string) error {
	return func(text string) error {
		if !slices.Contains(words, text) {
			return errors.New("there is no such word")
		}
		return nil
	}
}

func checkSome(text string) error {
	if text == "" || strings.ContainsRune(text, 0) {
		return errors.New("the text is empty, or has a zero byte")
	}
	return nil
}

func checkURL(text string) error {
	if !isURL(text) || strings.ContainsAny(text, " \t\n") {
		return errors.New("this is no address")
	}
	return nil
}

// isURL reports whether a text is an address rather than a path.
func isURL(text string) bool {
	return strings.HasPrefix(text, "http://") || strings.HasPrefix(text, "https://")
}

func checkHeader(text string) error {
	if strings.ContainsAny(text, "\r\n\x00") {
		return errors.New("a header is one line")
	}
	if strings.Contains(variableIn.ReplaceAllString(text, ""), "$") {
		return errors.New("$ begins the name of a variable")
	}
	return nil
}

func checkMoney(text string) error { _, err := parseMoney(text); return err }

func parseMoney(text string) (float64, error) {
	n, err := strconv.ParseFloat(strings.ReplaceAll(text, "_", ""), 64)
	if err != nil || !(n >= 0 && n <= 1e6) {
		return 0, errors.New("this is no amount from 0 to 1000000")
	}
	return n, nil
}
