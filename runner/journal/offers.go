package journal

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/xstate-engine/xstate/state"
)

// A tool has two names: its own, and SOURCE.NAME. Where two sources have tools of one name, only the long names work.
// Names of models are apart from those of tools.

// errNotAsked says that a source was not asked.
var errNotAsked = errors.New("it was not asked")

// askAgain is how long a source that could not be asked is left alone.
const askAgain = 10 * time.Second

// offered is what a source offers. A source that was asked before answers at once, so only failures are kept here. Of
// one that cannot be asked, what it offered last is in the store: recorded calls are served without it.
type offered struct {
	source Source
	store  *state.Store // nil: nothing is kept

	mu     sync.Mutex
	failed error
	when   time.Time // failed
	kept   state.Digest
}

// list returns the tools of a source, and keeps a failure for a while.
func (o *offered) list(ctx context.Context, now time.Time) ([]Tool, error) {
	o.mu.Lock()
	failed, when := o.failed, o.when
	o.mu.Unlock()
	if failed != nil && now.Sub(when) < askAgain {
		return nil, failed
	}
	found, err := o.source.Tools(ctx)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	o.mu.Lock()
	o.failed, o.when = err, now
	o.mu.Unlock()
	if err == nil {
		o.keep(ctx, found)
	}
	return o.complete(found), err
}

// keep stores what the source offers, where that is new. Without it, calls can be made all the same.
func (o *offered) keep(ctx context.Context, tools []Tool) {
	if o.store == nil {
		return
	}
	data, err := json.Marshal(append([]Tool{}, tools...)) // an empty list, not null, for no tools
	if err != nil {
		return
	}
	digest := state.DigestOf(data)
	o.mu.Lock()
	known := o.kept == digest
	o.kept = digest
	o.mu.Unlock()
	if known {
		return
	}
	if was, err := o.store.Offers(ctx, o.source.Name()); err == nil && !bytes.Equal(was, data) {
		_ = o.store.PutOffers(ctx, o.source.Name(), data)
	}
}

// last returns what the source offered when it could be asked.
func (o *offered) last(ctx context.Context) (tools []Tool) {
	if o.store == nil {
		return nil
	}
	data, err := o.store.Offers(ctx, o.source.Name())
	if err != nil || json.Unmarshal(data, &tools) != nil {
		return nil
	}
	if d, ok := o.source.(interface{ Declared([]Tool) []Tool }); ok {
		tools = d.Declared(tools) // as the user says today
	}
	return o.complete(tools)
}

// complete returns tools with what a source need not say.
func (o *offered) complete(found []Tool) []Tool {
	name := o.source.Name()
	tools := slices.Clone(found)
	for i := range tools {
		t := &tools[i]
		t.Source, t.Scope, t.Class = name, cmp.Or(t.Scope, name), cmp.Or(t.Class, Irreversible)
		t.Kind = cmp.Or(t.Kind, KindTool)
	}
	return tools
}

// match is a tool that a name means.
type match struct {
	tool   Tool
	source Source
}

// offers are all that sources offer.
type offers []*offered

func newOffers(store *state.Store, sources []Source) (all offers) {
	for _, s := range sources {
		all = append(all, &offered{source: s, store: store})
	}
	return all
}

// listing is what the sources said, in their order.
type listing struct {
	found  []match
	failed []string
}

// ask asks sources at the same time.
func (all offers) ask(ctx context.Context, now time.Time) (l listing, err error) {
	tools, errs := make([][]Tool, len(all)), make([]error, len(all))
	var group sync.WaitGroup
	for i, o := range all {
		group.Go(func() { tools[i], errs[i] = o.list(ctx, now) })
	}
	group.Wait()
	if ctx.Err() != nil {
		return l, context.Cause(ctx)
	}
	for i, o := range all {
		if errs[i] != nil {
			l.failed = append(l.failed, fmt.Sprintf("%s cannot be asked: %v", o.source.Name(), errs[i]))
			tools[i] = o.last(ctx)
		}
		for _, t := range tools[i] {
			l.found = append(l.found, match{t, o.source})
		}
	}
	return l, nil
}

// tool finds the tool that a name means.
func (all offers) tool(ctx context.Context, name string, now time.Time) (match, error) {
	// A long name names its source, so only that one is queried.
	for i, o := range all {
		if strings.HasPrefix(name, o.source.Name()+".") {
			l, err := all[i:i+1].ask(ctx, now)
			if err != nil {
				return match{}, err
			}
			if m, err := l.tool(name); err == nil {
				return m, nil
			}
		}
	}
	l, err := all.ask(ctx, now)
	if err != nil {
		return match{}, err
	}
	return l.tool(name)
}

// tool finds the tool that a name means.
func (l *listing) tool(name string) (match, error) {
	for _, m := range l.named(KindTool, "") {
		if name == m.tool.Source+"."+m.tool.Name {
			return m, nil
		}
	}
	switch found := l.named(KindTool, name); len(found) {
	case 0:
		return match{}, noTool(fmt.Sprintf("there is no tool %q", name), l.failed)
	case 1:
		return found[0], nil
	default:
		return match{},
			&state.Error{Code: CodeNoTool, Message: fmt.Sprintf("%d sources have a tool %q", len(found), name),
				Hint: fmt.Sprintf("name the source, too: %s.%s", found[0].tool.Source, name)}
	}
}

// model finds the model that a name means. "" is the one named default, or the only one.
func (all offers) model(ctx context.Context, name string, now time.Time) (match, error) {
	var l listing
	for i := range all { // a model needs no server of tools, so sources are asked in turn
		own, err := all[i:i+1].ask(ctx, now)
		if err != nil {
			return match{}, err
		}
		l.found, l.failed = append(l.found, own.found...), append(l.failed, own.failed...)
		if m := l.named(KindModel, cmp.Or(name, "default")); len(m) > 0 {
			return m[0], nil
		}
	}
	return l.model(name)
}

// model finds the model that a name means.
func (l *listing) model(name string) (match, error) {
	if m := l.named(KindModel, cmp.Or(name, "default")); len(m) > 0 {
		return m[0], nil
	}
	models := l.named(KindModel, "")
	switch {
	case name == "" && len(models) == 1:
		return models[0], nil
	case name == "" && len(models) > 1:
		return match{}, &state.Error{Code: CodeNoTool,
			Hint:    "name one in the call, or name one of them default: [models.default]",
			Message: fmt.Sprintf("there are %d models, and no default", len(models))}
	case name == "":
		return match{}, noTool("there is no model", l.failed)
	}
	return match{}, noTool(fmt.Sprintf("there is no model %q", name), l.failed)
}

// known is what is known of all sources without starting or connecting to one. It failed where nothing is known.
func (all offers) known(ctx context.Context, now time.Time) (l listing) {
	for _, o := range all {
		var tools []Tool
		err := errNotAsked
		if r, ok := o.source.(Remote); !ok || r.Connected() {
			tools, err = o.list(ctx, now)
		}
		if err != nil {
			if tools = o.last(ctx); tools == nil {
				l.failed = append(l.failed, o.source.Name())
			}
		}
		for _, t := range tools {
			l.found = append(l.found, match{t, o.source})
		}
	}
	return l
}

// named returns what a listing has of a name; "": of all names.
func (l *listing) named(kind Kind, name string) (found []match) {
	for _, m := range l.found {
		if m.tool.Kind == kind && (name == "" || m.tool.Name == name) {
			found = append(found, m)
		}
	}
	return found
}

func noTool(message string, failed []string) error {
	return &state.Error{Code: CodeNoTool, Message: strings.Join(append([]string{message}, failed...), "; "),
		Hint: "name a source in xstate.toml: [mcp.NAME], [openapi.NAME] or [models.NAME]"}
}

// all returns the tools by the names that programs use, sorted.
func (all offers) all(ctx context.Context, now time.Time) (tools []Tool, failed []string) {
	l, err := all.ask(ctx, now)
	if err != nil {
		return nil, []string{err.Error()}
	}
	for _, m := range l.named(KindTool, "") {
		if len(l.named(KindTool, m.tool.Name)) > 1 {
			m.tool.Name = m.tool.Source + "." + m.tool.Name
		}
		tools = append(tools, m.tool)
	}
	slices.SortFunc(tools, func(a, b Tool) int { return cmp.Compare(a.Name, b.Name) })
	return tools, l.failed
}

// lentName is where the store has a tool that a caller offered. No source has a name with a slash.
func lentName(r Request) string { return fmt.Sprintf("lent/%s/%s", r.Kind, r.Tool) }

// keepLent stores a tool that a caller offers. Without it, code that called the tool runs again.
func keepLent(ctx context.Context, store *state.Store, r Request, t Tool) {
	data, err := json.Marshal(t)
	if err != nil {
		return
	}
	if was, err := store.Offers(ctx, lentName(r)); err == nil && !bytes.Equal(was, data) {
		_ = store.PutOffers(ctx, lentName(r), data)
	}
}

// lentOnce returns what keepLent stored last; nil: nothing.
func lentOnce(ctx context.Context, store *state.Store, r Request) *Tool {
	data, err := store.Offers(ctx, lentName(r))
	var t Tool
	if err != nil || json.Unmarshal(data, &t) != nil {
		return nil
	}
	return &t
}
