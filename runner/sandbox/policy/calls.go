package policy

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
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
	Script  string // of the interface script: an absolute path
	Timeout time.Duration
}

// Tool is what a user declares of a tool, over what its source says.
type Tool struct {
	Class    string // "": as the source says
	AtLeast  string // the class that a file demands which only narrows; "": none
	Scope    string
	Lifetime time.Duration
	Undo     string
	Price    float64 // US dollars for a call
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

// callTables are the tables that say where tools come from, and what one of them needs.
var callTables = map[string]func(group) error{
	"mcp": group.checkMCP, "openapi": group.checkOpenAPI, "models": group.checkModel,
	"tools": func(group) error { return nil },
}

// group is what one file says in one table such as [mcp.NAME].
type group struct {
	table, name string
	settings    []*Setting
}

func (g *group) header() string { return "[" + keyText([]string{g.table, g.name}) + "]" }

// groups returns the tables of sources and tools in a file, in order.
func groups(found []Setting) (all []group) {
	for i := range found {
		s := &found[i]
		if len(s.parts) < 2 || callTables[s.parts[0]] == nil {
			continue
		}
		at := slices.IndexFunc(all, func(g group) bool { return g.table == s.parts[0] && g.name == s.parts[1] })
		if at < 0 {
			at = len(all)
			all = append(all, group{table: s.parts[0], name: s.parts[1]})
		}
		all[at].settings = append(all[at].settings, s)
	}
	return all
}

// checkGroups refuses tables that lack something, or have too much.
func checkGroups(found []Setting) error {
	for _, g := range groups(found) {
		if (g.table == "mcp" || g.table == "openapi") && !sourceName.MatchString(g.name) {
			return g.settings[0].refuse(CodeInvalid, "write letters, digits, - and _", "%q is no name of a source", g.name)
		}
		if err := callTables[g.table](g); err != nil {
			return err
		}
		for _, s := range g.settings {
			if u, err := url.Parse(s.Value); isURL(s.Value) && (err != nil || u.User != nil) {
				return s.refuse(CodeInvalid, urlHint, "%s is no address, or holds a password", s.Field)
			}
			name := s.parts[len(s.parts)-1]
			if s.field != fieldMCPHeader && s.field != fieldOpenAPIHeader {
				continue
			}
			if !headerName.MatchString(name) {
				return s.refuse(CodeInvalid, "write a name such as Authorization", "%q is no name of a header", name)
			}
			if credential.MatchString(name) && !variableIn.MatchString(s.Value) {
				return s.refuse(CodeInvalid, headerHint, "%s seems to hold a secret, which files do not hold", s.Field)
			}
		}
	}
	return nil
}

// of returns the settings of a field.
func (g *group) of(field string) (all []*Setting) {
	for _, s := range g.settings {
		if s.field == field {
			all = append(all, s)
		}
	}
	return all
}

// exclude refuses fields that have no meaning beside another.
func (g group) exclude(why string, fields ...string) error {
	for _, f := range fields {
		if found := g.of(f); found != nil {
			return found[0].refuse(CodeInvalid, "remove it", "%s has no meaning %s", found[0].Field, why)
		}
	}
	return nil
}

// demand refuses a table without a field.
func (g group) demand(field, example string) error {
	if g.of(field) != nil {
		return nil
	}
	return g.settings[0].refuse(CodeInvalid, "write "+example, "%s lacks it: %s", g.header(),
		field[strings.LastIndexByte(field, '.')+1:])
}

func (g group) checkMCP() error {
	if g.of(fieldMCPURL) != nil {
		return g.exclude("beside url", fieldMCPCommand, fieldMCPEnv)
	}
	return cmp.Or(g.exclude("beside command", fieldMCPHeader),
		g.demand(fieldMCPCommand, `command = ["…"], or url = "http://…"`))
}

func (g group) checkOpenAPI() error {
	return g.demand(fieldOpenAPIDocument, `document = "openapi.json"`)
}

func (g group) checkModel() error {
	api := g.of(fieldModelAPI)
	if api == nil {
		return g.demand(fieldModelAPI, `api = "openai", "anthropic" or "script"`)
	}
	if api[0].Value == "script" {
		return cmp.Or(g.exclude("for a script", fieldModelURL, fieldModelKey, fieldModelModel),
			g.demand(fieldModelScript, `script = "answers.jsonl"`))
	}
	return cmp.Or(g.exclude("for the interface "+api[0].Value, fieldModelScript),
		g.demand(fieldModelModel, `model = "…"`))
}

// calls adds the tables of a file. One of a nearer file replaces the same of another.
func (m *merge) calls(found []Setting, mayAllow bool) {
	for _, g := range groups(found) {
		switch {
		case g.table == "tools" && !mayAllow:
			m.narrowTool(g)
			continue
		case !mayAllow:
			g.ignore(untrusted(g.settings[0]))
			continue
		}
		for i := range m.policy.Settings {
			s := &m.policy.Settings[i]
			if len(s.parts) > 1 && s.parts[0] == g.table && s.parts[1] == g.name && s.File != g.settings[0].File {
				s.Ignored = g.settings[0].Place() + " replaces it"
			}
		}
		m.add(g)
	}
}

func (g *group) ignore(why string) {
	for _, s := range g.settings {
		s.Ignored = why
	}
}

// narrowTool takes the class of a tool from a file that may only make it stricter.
func (m *merge) narrowTool(g group) {
	for _, s := range g.settings {
		if s.field != fieldToolClass {
			s.Ignored = untrusted(s)
			continue
		}
		tools := &m.policy.Calls.Tools
		t := (*tools)[g.name]
		t.AtLeast = StricterClass(t.AtLeast, s.Value)
		set(tools, g.name, t)
	}
}

// StricterClass returns the stricter one of two classes; "" is the least strict.
func StricterClass(a, b string) string {
	if slices.Index(Classes, a) > slices.Index(Classes, b) {
		return a
	}
	return b
}

// add makes the values of a table.
func (m *merge) add(g group) {
	c := &m.policy.Calls
	switch g.table {
	case "mcp":
		s := MCP{Headers: map[string]string{}}
		if file := g.settings[0].File; file != m.User {
			s.Folder = real(filepath.Dir(file))
		}
		g.each(map[string]func(*Setting){
			fieldMCPCommand: func(x *Setting) { s.Command = append(s.Command, x.Value) },
			fieldMCPEnv:     func(x *Setting) { s.Env = append(s.Env, x.Value) },
			fieldMCPURL:     text(&s.URL), fieldMCPTimeout: span(&s.Timeout), fieldMCPHeader: header(s.Headers),
		})
		set(&c.MCP, g.name, s)
	case "openapi":
		s := OpenAPI{Headers: map[string]string{}}
		g.each(map[string]func(*Setting){
			fieldOpenAPIDocument: func(x *Setting) { s.Document = cmp.Or(x.path, x.Value) },
			fieldOpenAPIBase:     text(&s.Base), fieldOpenAPITimeout: span(&s.Timeout),
			fieldOpenAPIHeader: header(s.Headers),
		})
		set(&c.OpenAPI, g.name, s)
	case "models":
		var s Model
		g.each(map[string]func(*Setting){
			fieldModelAPI: text(&s.API), fieldModelURL: text(&s.URL), fieldModelModel: text(&s.Model),
			fieldModelKey: text(&s.Key), fieldModelInput: dollars(&s.Input), fieldModelOutput: dollars(&s.Output),
			fieldModelScript: func(x *Setting) { s.Script = x.path }, fieldModelTimeout: span(&s.Timeout),
		})
		set(&c.Models, g.name, s)
	case "tools":
		s := Tool{AtLeast: c.Tools[g.name].AtLeast}
		g.each(map[string]func(*Setting){
			fieldToolClass: text(&s.Class), fieldToolScope: text(&s.Scope), fieldToolLifetime: span(&s.Lifetime),
			fieldToolUndo: text(&s.Undo), fieldToolPrice: dollars(&s.Price), fieldToolTimeout: span(&s.Timeout),
		})
		set(&c.Tools, g.name, s)
	}
}

// each hands each setting to what takes its field.
func (g *group) each(take map[string]func(*Setting)) {
	for _, s := range g.settings {
		take[s.field](s)
	}
}

func text(to *string) func(*Setting) { return func(s *Setting) { *to = s.Value } }
func span(to *time.Duration) func(*Setting) {
	return func(s *Setting) { *to = must(parseDuration(s.Value)) }
}
func dollars(to *float64) func(*Setting) { return func(s *Setting) { *to = must(parseMoney(s.Value)) } }
func header(to map[string]string) func(*Setting) {
	return func(s *Setting) { to[s.parts[len(s.parts)-1]] = s.Value }
}

// set adds to a map, which it makes where there is none.
func set[V any](to *map[string]V, name string, v V) {
	if *to == nil {
		*to = map[string]V{}
	}
	(*to)[name] = v
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
