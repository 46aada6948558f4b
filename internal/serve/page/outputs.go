package page

import (
	"fmt"
	"strings"

	"github.com/xstate-engine/xstate/state/provenance"
	"github.com/xstate-engine/xstate/state/query"
)

// longOutput is how many bytes of a text that a block put out are shown at its beginning, and as many at its end.
const longOutput = 100_000

// outputsOf are the outputs of a block as a page shows them: a long text without its middle, since each browser that
// has the page open gets all of it with each change.
func outputsOf(b *query.BlockView) ([]provenance.PageOutput, error) {
	list, err := provenance.PageOutputs(b)
	for i := range list {
		o := &list[i]
		left := len(o.Text) - 2*longOutput
		if isRich(*o) || left <= 0 {
			continue
		}
		o.Text = fmt.Sprintf("%s\n… %d bytes are recorded, and not shown here …\n%s",
			strings.ToValidUTF8(o.Text[:longOutput], ""), left, strings.ToValidUTF8(o.Text[longOutput+left:], ""))
	}
	return list, err
}

// isRich reports whether an output is more than text.
func isRich(o provenance.PageOutput) bool { return o.Image != "" || o.HTML != "" }
