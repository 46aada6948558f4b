package state

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
)

// Draw is one value that a program drew: a clock that it read, or randomness of the operating system.
type Draw struct {
	Source string          `cbor:"source"`
	Value  json.RawMessage `cbor:"value"`
}

// MarshalJSON writes a draw as a list of two, as kernels take it.
func (d Draw) MarshalJSON() ([]byte, error) { return json.Marshal([]any{d.Source, d.Value}) }

// UnmarshalJSON is the inverse of MarshalJSON.
func (d *Draw) UnmarshalJSON(text []byte) error {
	pair := []any{&d.Source, &d.Value}
	if err := json.Unmarshal(text, &pair); err != nil {
		return err
	}
	if len(pair) != 2 {
		return fmt.Errorf("a draw has %d parts", len(pair))
	}
	return nil
}

// DrawingNode is a node of a program that draws and makes calls with effects.
type DrawingNode struct {
	Block BlockID
	Node  int // in the block
}

// Drawn is what a node drew, in order, before the last of its calls that has an effect or asks a person. The node is
// given it again while its calls are not settled, so that it makes the same ones.
type Drawn struct {
	Code  Digest `cbor:"code"`            // the node's
	Ended bool   `cbor:"ended,omitempty"` // the node came to its end, and no call was lost
	Draws []Draw `cbor:"draws,omitempty"`
}

const drawnPrefix = "drawn "

func (n DrawingNode) record() string { return fmt.Sprintf("%s%s %d", drawnPrefix, n.Block, n.Node) }

// PutDrawn keeps what a node drew, durably, in the place of what it drew before.
func (s *Store) PutDrawn(ctx context.Context, session string, n DrawingNode, d Drawn) error {
	return s.PutSessionRecord(ctx, session, n.record(), d)
}

// Drawn returns what the nodes of a session drew. A fork begins with that of its parent.
func (s *Store) Drawn(ctx context.Context, session string) (map[DrawingNode]Drawn, error) {
	records, err := s.SessionRecords(ctx, session)
	if err != nil {
		return nil, err
	}
	all := map[DrawingNode]Drawn{}
	for name, data := range records {
		text, is := strings.CutPrefix(name, drawnPrefix)
		if !is {
			continue
		}
		var n DrawingNode
		var d Drawn
		if _, err := fmt.Sscanf(text, "%s %d", &n.Block, &n.Node); err != nil {
			return nil, damaged(historyFile, fmt.Sprintf("the record %q of %q names no node", name, session), err)
		}
		if err := decode(data, &d); err != nil {
			return nil, damaged(historyFile, fmt.Sprintf("the record %q of %q cannot be read", name, session), err)
		}
		all[n] = d
	}
	return all, nil
}
