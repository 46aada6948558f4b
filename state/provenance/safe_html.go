package provenance

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/microcosm-cc/bluemonday"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// safeTags are the elements that safeHTML keeps. None of them runs code, loads anything but an image, or changes how
// the text in it is read, as script, style, svg, math, template, textarea or noscript do.
var safeTags = strings.Fields(`a abbr b big blockquote br caption center code col colgroup dd del details dfn div dl dt
	em figcaption figure font h1 h2 h3 h4 h5 h6 hr i img ins kbd li mark ol p pre q s samp small span strike strong sub
	summary sup table tbody td tfoot th thead tr tt u ul var`)

// safeAttributes are those that safeHTML keeps. The values of href, src and style are judged apart.
var safeAttributes = strings.Fields(`align alt border cellpadding cellspacing class color colspan face height open
	reversed rowspan size span start title type valign value width`)

// hiddenTags are the elements whose text is not for readers.
var hiddenTags = []string{"script", "style", "template", "noscript", "iframe", "object", "embed", "svg", "math",
	"textarea", "select", "title", "head"}

var (
	anyValue  = regexp.MustCompile(`(?s)^.*$`)
	safeLink  = regexp.MustCompile(`^(?i:https?:|mailto:|#|[\w./-]+$)`)
	ownImage  = regexp.MustCompile(`^data:image/(png|jpeg|gif|webp|svg\+xml);base64,[A-Za-z0-9+/=\s]*$`)
	safeStyle = regexp.MustCompile(`^[\w\s#%(),.:;'"!+-]*$`)
	// A style may not load anything, nor cover the page.
	badStyle = regexp.MustCompile(`(?i)url|import|expression|behavior|position|z-index`)
)

// allowed is the policy of safeHTML.
var allowed = sync.OnceValue(func() *bluemonday.Policy {
	p := bluemonday.NewPolicy()
	p.AllowElements(safeTags...)
	p.AllowNoAttrs().OnElements(safeTags...)
	p.AllowAttrs(safeAttributes...).Matching(anyValue).OnElements(safeTags...)
	p.AllowAttrs("style").Matching(safeStyle).OnElements(safeTags...)
	p.AllowAttrs("href").Matching(safeLink).OnElements("a")
	p.AllowAttrs("src").Matching(ownImage).OnElements("img")
	p.AllowURLSchemes("http", "https", "mailto", "data")
	p.AllowRelativeURLs(true)
	p.RequireParseableURLs(true)
	return p
})

// safeHTML writes HTML again with nothing in it that runs or loads: elements and attributes that are not known as safe
// are left out, and so is the text of scripts and styles. The text is read as a browser reads what is in a body, so
// every element that is opened is closed. image returns what an image shows: a data URL, or "" to leave it out.
func safeHTML(text string, image func(src string) string) string {
	body := &html.Node{Type: html.ElementNode, Data: "body", DataAtom: atom.Body}
	nodes, err := html.ParseFragment(strings.NewReader(text), body)
	if err != nil {
		return html.EscapeString(text)
	}
	for _, n := range nodes {
		body.AppendChild(n)
	}
	mend(body, image)
	var out strings.Builder
	for n := range body.ChildNodes() {
		if err := html.Render(&out, n); err != nil {
			return html.EscapeString(text)
		}
	}
	return allowed().Sanitize(out.String())
}

// mend removes from a tree what is hidden, and gives images what they show.
func mend(n *html.Node, image func(src string) string) {
	var next *html.Node
	for c := n.FirstChild; c != nil; c = next {
		next = c.NextSibling
		if c.Type == html.ElementNode && slices.Contains(hiddenTags, c.Data) {
			n.RemoveChild(c)
			continue
		}
		mend(c, image)
	}
	n.Attr = slices.DeleteFunc(n.Attr, func(a html.Attribute) bool {
		return a.Key == "style" && badStyle.MatchString(a.Val)
	})
	for i := range n.Attr {
		if a := &n.Attr[i]; a.Key == "src" && !ownImage.MatchString(a.Val) {
			a.Val = image(a.Val)
		}
	}
}
