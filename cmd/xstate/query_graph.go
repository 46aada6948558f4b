package main

import (
	"fmt"
	"strings"

	"github.com/xstate-engine/xstate/internal/api"
	"github.com/xstate-engine/xstate/internal/term"
	"github.com/xstate-engine/xstate/state/query"
)

func (w *printer) queryPath(d *query.Dependencies, from, to string) error {
	nodes, err := d.Path(from, to)
	if err != nil {
		return err
	}
	if w.ui.JSON {
		return w.ui.Document(
			api.QueryPath{Answer: api.AnswerAt(d.Snapshot.Session, d.Snapshot.Step.Number), Path: nodes},
		)
	}
	if len(nodes) == 0 {
		w.ui.Talk("%s does not depend on %s", to, from)
		return nil
	}
	w.ui.Print("%s\n", strings.Join(nodes, " -> "))
	return nil
}

func (w *printer) queryAffected(d *query.Dependencies, what string) error {
	found, err := d.Affected(what)
	if err != nil || w.ui.JSON {
		return w.orDocument(err, d, what, found)
	}
	w.printDependents(found)
	w.ui.Talk(
		"if %s changes, at most %s of %d must re-run, %s by recorded times",
		what,
		term.Plural(len(found), "block"),
		len(d.Snapshot.Blocks),
		term.Seconds(total(found)),
	)
	return nil
}

func (w *printer) queryReaders(d *query.Dependencies, what string) error {
	found, err := d.Readers(what)
	if err != nil || w.ui.JSON {
		return w.orDocument(err, d, what, found)
	}
	w.printDependents(found)
	w.ui.Talk("%s read %s directly", term.Plural(len(found), "block"), what)
	return nil
}

func total(found []query.Dependent) float64 {
	sum := 0.0
	for _, b := range found {
		sum += b.Seconds
	}
	return sum
}

// orDocument prints dependents as a document, unless there is an error.
func (w *printer) orDocument(err error, d *query.Dependencies, what string, found []query.Dependent) error {
	if err != nil {
		return err
	}
	return w.ui.Document(
		api.QueryDependents{
			Answer:  api.AnswerAt(d.Snapshot.Session, d.Snapshot.Step.Number),
			Of:      what,
			Seconds: micro(total(found)),
			Blocks:  found,
		},
	)
}

func (w *printer) printDependents(found []query.Dependent) {
	var rows [][]string
	for _, b := range found {
		rows = append(
			rows,
			[]string{
				fmt.Sprintf("[%d]", b.Index+1),
				string(b.Block),
				term.Seconds(b.Seconds),
				b.Evidence,
				viaText(b.Through),
			},
		)
	}
	w.ui.Table(rows)
}

const viaShown = 4

func viaText(list []query.Via) string {
	var parts []string
	for i, v := range list {
		if i == viaShown {
			parts = append(parts, fmt.Sprintf("and %d more", len(list)-i))
			break
		}
		if v.From == "" {
			parts = append(parts, "reads "+string(v.Key))
		} else {
			parts = append(parts, string(v.Key)+" from "+v.From)
		}
	}
	return strings.Join(parts, ", ")
}

func (w *printer) querySymbol(d *query.Dependencies, name string) error {
	s, err := d.Symbol(name)
	if err != nil {
		return err
	}
	if w.ui.JSON {
		return w.ui.Document(
			api.QuerySymbol{Answer: api.AnswerAt(d.Snapshot.Session, d.Snapshot.Step.Number), Symbol: s},
		)
	}
	var rows [][]string
	add := func(what string, uses []query.SymbolUse) {
		for _, use := range uses {
			rows = append(rows,
				[]string{what, use.Node, use.Evidence, term.Short(string(use.Digest)), valueText(use.Value)})
		}
	}
	add("written by", s.Writers)
	add("read by", s.Readers)
	w.ui.Table(shortCells(rows))
	return nil
}

func (w *printer) queryVolatile(d *query.Dependencies) error {
	found := d.Volatile()
	if w.ui.JSON {
		return w.ui.Document(
			api.QueryVolatile{Answer: api.AnswerAt(d.Snapshot.Session, d.Snapshot.Step.Number), Blocks: found},
		)
	}
	var rows [][]string
	for _, v := range found {
		text := strings.Join(v.Marks, ", ")
		if len(v.Inherited) > 0 {
			text = strings.TrimPrefix(text+"; ", "; ") + "rests on " + strings.Join(v.Inherited, ", ")
		}
		rows = append(rows, []string{fmt.Sprintf("[%d]", v.Index+1), string(v.Block), text})
	}
	w.ui.Table(rows)
	w.ui.Talk("%s of %d may differ from run to run", term.Plural(len(found), "block"), len(d.Snapshot.Blocks))
	return nil
}
