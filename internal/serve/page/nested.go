package page

import (
	"strconv"

	"github.com/xstate-engine/xstate/state/inspect"
)

// nested is an item of nested data as the template shows it.
type nested struct {
	Key, Type, Text, Size string
	Items                 []nested
	More                  int64  // items that are not shown
	To                    string // the address of the item itself; "": it has no more than what is shown
	Open                  bool   // it is not folded
}

// unfolded is how many items of the first level there may be for those to be unfolded that have few items.
const unfolded = 12

// tree returns what is shown of nested data, and which of its items.
func (l *looking) tree(t *inspect.Tree) (nested, span) {
	root := l.item(&t.Root, nil, int(t.From))
	for i := range root.Items {
		x := &root.Items[i]
		x.Open = len(root.Items) <= unfolded && len(x.Items) <= unfolded
	}
	shown := int64(len(t.Root.Items))
	all := t.From + shown + t.Root.More
	return root, l.spans("item", t.From, shown, all, inspect.Standard.Rows, toRow)
}

// item is an item that path leads to. The first of its items is at a position.
func (l *looking) item(x *inspect.Item, path []int, from int) nested {
	n := nested{Key: x.Key, Type: x.Type, Text: x.Text, More: x.More}
	if x.Size != nil {
		n.Size = strconv.FormatInt(*x.Size, 10)
	}
	if len(path) > 0 && (x.More > 0 || x.Opens) {
		n.To = l.into(path...)
	}
	for i := range x.Items {
		n.Items = append(n.Items, l.item(&x.Items[i], append(path[:len(path):len(path)], from+i), 0))
	}
	return n
}
