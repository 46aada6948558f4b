package patch

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
)

// A text cell is a cell of a notebook that is no block: text (Markdown or raw), or code that is blank. A patch names it
// by its id or by its place, as it names a block. Only the file holds it, so an edit of it is an edit of the file.

// cellTypes are the types of cells.
var cellTypes = []string{"code", "markdown", "raw"}

// lastCell is the name of the last cell of a notebook, of which nobody says the id or the place.
const lastCell = "cell--1"

// countedCell returns the place in a name such as cell-3.
func countedCell(name string) (place int, ok bool) {
	_, err := fmt.Sscanf(name+";", "cell-%d;", &place)
	return place, err == nil
}

// cellList returns the cells of a notebook of nbformat 4.
func (p *Program) cellList() []value {
	body := bytes.TrimPrefix(p.raw, []byte(bom))
	top, _ := value{at: len(p.raw) - len(body), raw: json.RawMessage(body)}.object()
	cells, _ := top["cells"].array()
	return cells
}

// textPlaces returns the places of the text cells of a notebook.
func (p *Program) textPlaces() (places []int) {
	if p == nil || p.Kind != KindNotebook {
		return nil
	}
	blocks := map[int]bool{}
	for _, place := range p.Cells {
		blocks[place] = true
	}
	for i := range p.cellList() {
		if !blocks[i] {
			places = append(places, i)
		}
	}
	return places
}

// textBlocks returns the text cells of a notebook as blocks. The title is how a patch names the cell.
func (p *Program) textBlocks() (texts []Block) {
	cells := p.cellList()
	for _, place := range p.textPlaces() {
		fields, _ := cells[place].object()
		source, _, _ := fields["source"].multiline()
		b := Block{ID: fields["id"].text(), Dialect: fields["cell_type"].text(), Source: source}
		b.Title = cmp.Or(b.ID, fmt.Sprintf("cell-%d", place))
		texts = append(texts, b)
	}
	return texts
}

// cellIDs returns the ids of all cells.
func (p *Program) cellIDs() (ids []string) {
	for _, c := range p.cellList() {
		fields, _ := c.object()
		if id := fields["id"].text(); id != "" {
			ids = append(ids, id)
		}
	}
	return ids
}

// style returns how a notebook writes JSON.
func (p *Program) style() jsonStyle { return styleOf(p.raw, bytes.IndexByte(p.raw, '{')) }

// hasIDs reports whether the cells of a notebook have ids: since nbformat 4.5.
func (p *Program) hasIDs() bool {
	top, _ := value{raw: json.RawMessage(bytes.TrimPrefix(p.raw, []byte(bom)))}.object()
	var minor int
	return top["nbformat_minor"].into(&minor) && minor >= 5
}
