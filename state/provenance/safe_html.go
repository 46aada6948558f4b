package provenance

import (
	"html"
	"regexp"
	"slices"
	"strings"
)

// safeTags are the elements that safeHTML keeps. None of them runs code, loads anything but an image, or changes how
// the text in it is read, as script, style, svg, math, template, textarea or noscript do.
var safeTags = strings.Fields(`a abbr b big blockquote br caption center code col colgroup dd del details dfn div dl dt
	em figcaption figure font h1 h2 h3 h4 h5 h6 hr i img ins kbd li mark ol p pre q s samp small span strike strong sub
	summary sup table tbody td tfoot th thead tr tt u ul var`)

var voidTags = []string{"br", "col", "hr", "img"}

// safeAttributes are those that safeHTML keeps. The values of href and src are judged apart.
var safeAttributes = strings.Fields(`align alt border cellpadding cellspacing class color colspan face height href open
	reversed rowspan size span src start style title type valign value width`)

// hiddenTags are the elements whose text is not for readers.
var hiddenTags = []string{"script", "style", "template", "noscript", "iframe", "object", "embed", "svg", "math",
	"textarea", "select", "title", "head"}

var (
	tagStart = regexp.MustCompile(`^</?([a-zA-Z][a-zA-Z0-9-]*)`)
	oneField = regexp.MustCompile(`^[\s/]*([^\s=>"'/]+)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s>]*)))?`)
	safeLink = regexp.MustCompile(`^(?i:https?:|mailto:|#|[\w./-]+$)`)
	ownImage = regexp.MustCompile(`^data:image/(png|jpeg|gif|webp|svg\+xml);base64,[A-Za-z0-9+/=\s]*$`)
	// A style may not load anything, nor cover the page.
	badStyle = regexp.MustCompile(`(?i)url|import|expression|behavior|position|z-index|\\|/\*|[<>{}@]`)
)

// safeHTML writes HTML again with nothing in it that runs or loads: elements and attributes that are not known as safe
// are left out, and so is the text of scripts and styles. Whatever is not such an element is escaped, so that the
// result does not depend on how a browser reads HTML that is not well-formed. image returns what an image shows: a data
// URL, or "" to leave it out.
func safeHTML(text string, image func(src string) string) string {
	var out strings.Builder
	var open []string
	for text != "" {
		at := strings.IndexByte(text, '<')
		if at < 0 {
			at = len(text)
		}
		out.WriteString(html.EscapeString(html.UnescapeString(text[:at])))
		if text = text[at:]; text == "" {
			break
		}
		if rest, ok := strings.CutPrefix(text, "<!--"); ok {
			_, text, _ = strings.Cut(rest, "-->")
			continue
		}
		m := tagStart.FindStringSubmatch(text)
		if m == nil {
			if strings.HasPrefix(text, "<!") || strings.HasPrefix(text, "<?") {
				_, text, _ = strings.Cut(text, ">")
				continue
			}
			out.WriteString("&lt;")
			text = text[1:]
			continue
		}
		name, ending := strings.ToLower(m[1]), text[1] == '/'
		fields, rest := tagFields(text[len(m[0]):])
		text = rest
		switch {
		case slices.Contains(hiddenTags, name):
			if !ending {
				text = afterElement(text, name)
			}
		case !slices.Contains(safeTags, name):
		case ending:
			if i := lastIndex(open, name); i >= 0 {
				closeTags(&out, open[i:])
				open = open[:i]
			}
		default:
			out.WriteString("<" + name + safeFields(fields, image) + ">")
			if !slices.Contains(voidTags, name) {
				open = append(open, name)
			}
		}
	}
	closeTags(&out, open)
	return out.String()
}

type field struct{ name, value string }

// tagFields returns the attributes of a tag, and the text after it.
func tagFields(text string) (fields []field, rest string) {
	for {
		text = strings.TrimLeft(text, " \t\r\n\f/")
		m := oneField.FindStringSubmatch(text)
		if text == "" || text[0] == '>' {
			return fields, strings.TrimPrefix(text, ">")
		}
		if m == nil { // a stray quotation mark or sign
			text = text[1:]
			continue
		}
		fields = append(fields, field{strings.ToLower(m[1]), html.UnescapeString(m[2] + m[3] + m[4])})
		text = text[len(m[0]):]
	}
}

func safeFields(fields []field, image func(src string) string) string {
	var out strings.Builder
	for _, f := range fields {
		switch {
		case !slices.Contains(safeAttributes, f.name),
			f.name == "href" && !safeLink.MatchString(f.value),
			f.name == "style" && badStyle.MatchString(f.value):
			continue
		case f.name == "src":
			if !ownImage.MatchString(f.value) {
				f.value = image(f.value)
			}
			if !ownImage.MatchString(f.value) {
				continue
			}
		}
		out.WriteString(" " + f.name + `="` + html.EscapeString(f.value) + `"`)
	}
	return out.String()
}

// afterElement returns the text after the end of an element that is left out.
func afterElement(text, name string) string {
	i := strings.Index(strings.ToLower(text), "</"+name)
	if i < 0 {
		return ""
	}
	_, text, _ = strings.Cut(text[i:], ">")
	return text
}

func lastIndex(list []string, x string) int {
	for i := len(list) - 1; i >= 0; i-- {
		if list[i] == x {
			return i
		}
	}
	return -1
}

func closeTags(out *strings.Builder, open []string) {
	for i := len(open) - 1; i >= 0; i-- {
		out.WriteString("</" + open[i] + ">")
	}
}
