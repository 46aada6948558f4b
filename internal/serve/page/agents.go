package page

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/xstate-engine/xstate/internal/api"
	"github.com/xstate-engine/xstate/internal/verb"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/query"
)

// agentsData is what the view of the agents shows.
type agentsData struct {
	Waiting []waitingCall
	Credit  *api.Credit
	Shared  []sharedBlock
	Budgets []api.BudgetLine
	NoLimit string           // why the budgets are not known
	Tree    []query.RunCalls // has treeSteps steps
	Earlier state.StepNumber // the tree goes on with the steps before; 0: it does not
	Total   api.CallTotal
	Denied  []api.Denied
}

// waitingCall is a call that waits for a decision, with the calls with effects before it.
type waitingCall struct {
	api.CallRow
	Undo   string // whether its effect can be taken back
	Before []earlierCall
}

// earlierCall is a call that happened before one that waits.
type earlierCall struct {
	api.CallRow
	Undo string
}

// callsShown is how many calls before one that waits are shown.
const callsShown = 5

// agents shows what each agent did, and what they called and were denied.
func (v *view) agents() error {
	calls, err := ask[api.Calls](v.r.Context(), v.p, &verb.Calls{InSession: verb.In(v.Session)})
	if err != nil {
		return err
	}
	v.Session = calls.Session
	in := verb.In(v.Session)
	asked, err := ask[api.Calls](v.r.Context(), v.p, &verb.Calls{InSession: in, Waiting: true})
	if err != nil {
		return err
	}
	data := &agentsData{Waiting: v.waiting(asked.Calls, calls.Calls), Total: calls.Total}
	if data.Credit, err = ask[api.Credit](v.r.Context(), v.p, &verb.Credit{InSession: in}); err != nil {
		return err
	}
	if data.Shared, err = v.shared(data.Credit); err != nil {
		return err
	}
	limits, err := ask[api.Budgets](v.r.Context(), v.p, &verb.Calls{InSession: in, Budgets: true})
	if err != nil { // a file of the policy is malformed
		data.NoLimit = err.Error()
	} else {
		data.Budgets = limits.Budgets
	}
	if len(calls.Calls) > 0 {
		if err := v.callTree(data); err != nil {
			return err
		}
	}
	denied, err := ask[api.QueryDenied](v.r.Context(), v.p, &verb.Query{InSession: in, Denied: true})
	if err != nil {
		return err
	}
	data.Denied = denied.Denied
	v.Name, v.Title, v.Data = "agents", "Agents", data
	return nil
}

// treeSteps is how many steps the tree of calls goes back at a time.
const treeSteps = 12

// callTree adds the calls of the last runs, or of those before a step.
func (v *view) callTree(data *agentsData) error {
	limit := treeSteps
	end := data.Credit.Step + 1
	if n, err := strconv.ParseUint(v.query.Get("before"), 10, 32); err == nil && n > 0 {
		end = min(end, state.StepNumber(n))
	}
	tree, err := ask[api.CallTree](v.r.Context(), v.p,
		&verb.Log{InSession: verb.In(v.Session), Tree: true, After: end, Limit: &limit})
	if err != nil {
		return err
	}
	data.Tree = slices.DeleteFunc(tree.Runs, func(r query.RunCalls) bool { return len(r.Blocks) == 0 })
	if end > treeSteps+1 {
		data.Earlier = end - treeSteps
	}
	return nil
}

// waiting returns the calls that wait, each with those of all that happened before it, the last first.
func (v *view) waiting(asked, all []api.CallRow) (list []waitingCall) {
	for i := range asked {
		c := &asked[i]
		w := waitingCall{CallRow: *c, Undo: undoText(c.Class)}
		at := slices.IndexFunc(all, func(x api.CallRow) bool { return x.Call == c.Call })
		for j := at + 1; j < len(all) && len(w.Before) < callsShown; j++ {
			if b := &all[j]; b.State != string(state.CallWaiting) && !b.Served {
				w.Before = append(w.Before, earlierCall{*b, v.undoOf(b)})
			}
		}
		list = append(list, w)
	}
	return list
}

// classReversible is the class of tools whose effects another tool takes back.
const classReversible = "reversible"

// undoText says, by the class of a tool, whether the effect of a call can be taken back.
func undoText(class string) string {
	switch class {
	case "pure", "read":
		return "It changes nothing."
	case "idempotent":
		return "It changes something; doing it twice does not change more, and no tool takes it back."
	case classReversible:
		return "It changes something, and another tool can take it back."
	}
	return "It cannot be taken back."
}

// undoOf says how the effect of a call that happened is taken back.
func (v *view) undoOf(c *api.CallRow) string {
	if c.Class == classReversible {
		d, err := ask[api.Call](v.r.Context(), v.p, &verb.WholeCall{Call: c.Call})
		switch {
		case err != nil || d.Undo == nil:
		case d.Undo.Done != 0:
			return "It was taken back by " + d.Undo.Tool + "."
		default:
			return d.Undo.Tool + " takes it back, if asked."
		}
	}
	return undoText(c.Class)
}

// sharedBlock is a block that several agents edited.
type sharedBlock struct {
	Block  state.BlockID
	Agents []string
	Edits  []query.Entry // the newest first
	More   int           // edits that are not listed
	Taken  []query.Entry // edits that took back what another agent wrote
}

// Bounds of what is shown of blocks that several agents edited.
const (
	sharedShown = 100
	editsShown  = 12
)

// shared lists the blocks that several agents edited, those with most edits first.
func (v *view) shared(credit *api.Credit) (list []sharedBlock, err error) {
	agents := map[string]bool{}
	for i := range credit.Rows {
		if credit.Rows[i].Patches > 0 {
			agents[credit.Rows[i].Agent] = true
		}
	}
	if len(agents) < 2 {
		return nil, nil
	}
	all := 0
	log, err := ask[api.Log](v.r.Context(), v.p,
		&verb.Log{InSession: verb.In(v.Session), Kind: query.AnyEdit, Limit: &all})
	if err != nil {
		return nil, err
	}
	byBlock := map[state.BlockID]*sharedBlock{}
	by := map[state.StepNumber]string{}
	for i := range slices.Backward(log.Steps) {
		e := &log.Steps[i].Entry
		b := byBlock[e.Block]
		if b == nil {
			b = &sharedBlock{Block: e.Block}
			byBlock[e.Block] = b
		}
		agent := cmp.Or(e.Origin.Agent, "not named")
		b.Edits, b.Agents = append(b.Edits, *e), query.AppendNew(b.Agents, agent)
		if by[e.Number] = agent; e.Undoes > 0 && by[e.Undoes] != agent {
			b.Taken = append(b.Taken, *e)
		}
	}
	for _, b := range byBlock {
		if len(b.Agents) < 2 {
			continue
		}
		slices.Reverse(b.Edits)
		list = append(list, *b)
	}
	slices.SortFunc(list, func(a, b sharedBlock) int {
		return cmp.Or(cmp.Compare(len(b.Edits), len(a.Edits)), cmp.Compare(a.Block, b.Block))
	})
	list = list[:min(len(list), sharedShown)]
	for i := range list {
		if b := &list[i]; len(b.Edits) > editsShown {
			b.More, b.Edits = len(b.Edits)-editsShown, b.Edits[:editsShown]
		}
	}
	return list, nil
}
