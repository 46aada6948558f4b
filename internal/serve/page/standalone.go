package page

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"html/template"
	"sync"
	"time"

	"github.com/xstate-engine/xstate/internal/api"
	"github.com/xstate-engine/xstate/state/provenance"
	"github.com/xstate-engine/xstate/state/query"
)

// Standalone is a program after a step, for a page that needs neither a server nor another file.
type Standalone struct {
	Snapshot *query.Snapshot
	Parts    []provenance.PagePart // the blocks, with the texts around them
	Graph    api.Graph
	Steps    []query.Entry // newest first
	Earlier  bool          // there are more steps before
}

// standaloneTemplates show times in UTC: equal histories give equal pages.
var standaloneTemplates = sync.OnceValue(func() *template.Template {
	return parseTemplates(template.FuncMap{"when": func(t time.Time) string {
		return t.UTC().Format("2006-01-02 15:04:05 UTC")
	}})
})

// standaloneData is what the template of a standalone page gets.
type standaloneData struct {
	*Standalone
	*view
	Policy  string
	Style   template.CSS
	Script  template.JS
	Parts   []standalonePart
	Drawing *view
	Values  *view
}

// standalonePart is a block with what is known of it, or a text.
type standalonePart struct {
	provenance.PagePart
	Part   part
	Causes []cause
}

// HTML makes the page. Its links lead to other parts of it.
func (s *Standalone) HTML() ([]byte, error) {
	style, err := files.ReadFile("assets/page.css")
	if err != nil {
		return nil, err
	}
	script, err := files.ReadFile("assets/page.js")
	if err != nil {
		return nil, err
	}
	step := s.Snapshot.Step.Number
	v := &view{Session: s.Snapshot.Session, Title: s.Snapshot.Session, AtStep: &step, Step: step, standalone: true}
	data := &standaloneData{Standalone: s, view: v, Style: template.CSS(style), Script: template.JS(script),
		Policy: fmt.Sprintf("default-src 'none'; img-src data:; style-src '%s'; script-src '%s'; form-action 'none'; "+
			"base-uri 'none'", hashOf(style), hashOf(script))}
	for _, p := range s.Parts {
		x := standalonePart{PagePart: p}
		if p.Block != nil {
			if x.Part, err = v.part(p.Block); err != nil {
				return nil, err
			}
			c := causes{}
			x.Causes = c.of(p.Block)
		}
		data.Parts = append(data.Parts, x)
	}
	data.Drawing, data.Values = v.with(newDrawing(s.Snapshot, &s.Graph)), v.with(valuesOf(s.Snapshot))
	var out bytes.Buffer
	if err := standaloneTemplates().ExecuteTemplate(&out, "standalone", data); err != nil {
		return nil, fmt.Errorf("make the page: %w", err)
	}
	return out.Bytes(), nil
}

// newDrawing is the graph of a whole program.
func newDrawing(d *query.Snapshot, g *api.Graph) *graphData {
	data := &graphData{Total: len(d.Blocks), sketch: newWhole(d, g, false, false).sketch("", "")}
	data.Drawing = data.draw()
	return data
}

// with is the view with other data.
func (v *view) with(data any) *view {
	other := *v
	other.Data = data
	return &other
}

// hashOf names a text in a content security policy.
func hashOf(text []byte) string {
	sum := sha256.Sum256(text)
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}
