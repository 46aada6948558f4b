package patch

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/xstate-engine/xstate/patch/syntax"
)

// A text cell is a cell of a notebook that is not a block: text (Markdown or raw), or code that is blank. A patch names
// it by its id or by its place, as it names a block. Only the file holds it, so an edit of it is an edit of the file.

// cellTypes are the types of cells.
var cellTypes = []string{"code", "markdown", "raw"}

// lastCell is the name of the last cell of a notebook, where neither its id nor its place is given.
const lastCell = "cell--1"

// countedCell returns the place in a name such as cell-3.
func countedCell(name string) (place int, ok bool) {
	_, err := fmt.Sscanf(name+";", "cell-%d;", &place)
	return place, err == nil
}

// top returns the fields of a notebook.
func (p *Program) top() map[string]value {
	body := bytes.TrimPrefix(p.raw, []byte(syntax.BOM))
	fields, _ := value{at: len(p.raw) - len(body), raw: json.RawMessage(body)}.object()
	return fields
}

// cellList returns the cells of a notebook of nbformat 4.
func (p *Program) cellList() []value {
	cells, _ := p.top()["cells"].array()
	return cells
}

// textPlaces returns the places of the text cells of a notebook.
func (p *Program) textPlaces() []int {
	if p == nil || p.Kind != KindNotebook {
		return nil
	}
	return p.textsOf(p.cellList())
}

// textsOf returns the places of the cells that are not blocks.
func (p *Program) textsOf(cells []value) (places []int) {
	for i := range cells {
		if !slices.Contains(p.Cells, i) {
			places = append(places, i)
		}
	}
	return places
}

// textBlocks returns the text cells of a notebook as blocks. The title is how a patch names the cell.
func (p *Program) textBlocks() (texts []Block) {
	cells := p.cellList()
	for _, place := range p.textsOf(cells) {
		fields, _ := cells[place].object()
		source, _, _ := fields["source"].multiline()
		b := Block{ID: fields["id"].text(), Dialect: fields["cell_type"].text(), Source: source}
		b.Title = cmp.Or(b.ID, fmt.Sprintf("cell-%d", place))
		texts = append(texts, b)
	}
	return texts
}

// cellIDs returns the ids of all cells.
func (p *Program) cellIDs() []string { return idsOf(p.cellList()) }

func idsOf(cells []value) (ids []string) {
	for _, c := range cells {
		fields, _ := c.object()
		if id := fields["id"].text(); id != "" {
			ids = append(ids, id)
		}
	}
	return ids
}

// style returns how a notebook writes JSON.
func (p *Program) style() jsonStyle { return styleOf(p.raw, bytes.IndexByte(p.raw, '{')) }

// hasIDs reports whether the cells of a notebook with these fields have ids: since nbformat 4.5.
func hasIDs(top map[string]value) bool {
	var minor int
	return top["nbformat_minor"].into(&minor) && minor >= 5
}
