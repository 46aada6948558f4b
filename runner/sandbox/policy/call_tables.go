package policy

import (
	"cmp"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

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
			return g.settings[0].refuse(CodeInvalid, "write letters, digits, - and _", "%q is no name of a source",
				g.name)
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

// addCalls adds the tables of a file. One of a nearer file replaces the same of another.
func (p *Policy) addCalls(found []Setting, mayAllow bool) {
	for _, g := range groups(found) {
		switch {
		case g.table == "tools" && !mayAllow:
			p.narrowTool(g)
			continue
		case !mayAllow:
			g.ignore(g.settings[0].untrusted())
			continue
		}
		for i := range p.Settings {
			s := &p.Settings[i]
			if len(s.parts) > 1 && s.parts[0] == g.table && s.parts[1] == g.name && s.File != g.settings[0].File {
				s.Ignored = g.settings[0].Place() + " replaces it"
			}
		}
		p.addGroup(g)
	}
}

func (g *group) ignore(why string) {
	for _, s := range g.settings {
		s.Ignored = why
	}
}

// narrowTool takes the class of a tool from a file that may only make it stricter.
func (p *Policy) narrowTool(g group) {
	for _, s := range g.settings {
		if s.field != fieldToolClass {
			s.Ignored = s.untrusted()
			continue
		}
		tools := &p.Calls.Tools
		t := (*tools)[g.name]
		t.AtLeast = StricterClass(t.AtLeast, s.Value)
		set(tools, g.name, t)
	}
}

// addGroup makes the values of a table.
func (p *Policy) addGroup(g group) {
	c := &p.Calls
	switch g.table {
	case "mcp":
		s := MCP{Headers: map[string]string{}}
		if file := g.settings[0].File; file != p.user {
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
			fieldToolIdentity: func(x *Setting) { s.Identity = append(s.Identity, x.Value) },
			fieldToolUndo:     text(&s.Undo), fieldToolPrice: dollars(&s.Price), fieldToolTimeout: span(&s.Timeout),
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

// set adds to a map, which it makes if it is nil.
func set[V any](to *map[string]V, name string, v V) {
	if *to == nil {
		*to = map[string]V{}
	}
	(*to)[name] = v
}
