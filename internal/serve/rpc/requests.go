package rpc

import (
	"fmt"

	"google.golang.org/protobuf/proto"

	v1 "github.com/xstate-engine/xstate/api/xstate/v1"
	"github.com/xstate-engine/xstate/internal/verb"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/inspect"
)

// operations are what the procedures ask. Interrupt, ListRuns and AnswerCall are not here: the service does them.
var operations = map[string]func(proto.Message) *call{
	v1.SessionServiceListProcedure: of(func(*v1.ListRequest) *call { return &call{ask: &verb.Status{}} }),
	v1.SessionServiceGetProcedure:  of(func(*v1.GetRequest) *call { return &call{ask: &verb.Status{}} }),

	v1.RunServiceExecProcedure:       of(execCall),
	v1.RunServiceExecStreamProcedure: of(execCall),
	v1.RunServiceRunProcedure:        of(runCall),
	v1.RunServiceRunStreamProcedure:  of(runCall),

	v1.EditServiceEditProcedure:     of(editCall),
	v1.EditServiceUndoProcedure:     of(undoCall),
	v1.EditServiceRollbackProcedure: of(rollbackCall),
	v1.EditServiceForkProcedure:     of(forkCall),

	v1.CallServiceListCallsProcedure: of(listCallsCall),
	v1.CallServiceGetCallProcedure:   of(getCallCall),
	v1.CallServiceApproveProcedure:   of(approveCall),

	v1.QueryServicePlanProcedure:    of(planCall),
	v1.QueryServiceWhyProcedure:     of(whyCall),
	v1.QueryServiceQueryProcedure:   of(queryCall),
	v1.QueryServiceValueProcedure:   of(valueCall),
	v1.QueryServiceHistoryProcedure: of(historyCall),
	v1.QueryServiceShowProcedure:    of(showCall),
	v1.QueryServiceDiffProcedure:    of(diffCall),

	v1.AuditServiceReplayProcedure:   of(replayCall),
	v1.AuditServiceVerifyProcedure:   of(verifyCall),
	v1.AuditServiceEvidenceProcedure: of(evidenceCall),
	v1.AuditServiceFlowProcedure:     of(flowCall),

	v1.AuditServiceCheckVerifierProcedure: of(checkVerifierCall),
}

// of makes the call of one type of request.
func of[R proto.Message](make func(R) *call) func(proto.Message) *call {
	return func(m proto.Message) *call { return make(m.(R)) }
}

func execCall(r *v1.ExecRequest) *call {
	c := newCall(r)
	c.offers(r.GetTools(), r.GetModels())
	c.ask = &verb.Exec{
		InSession: verb.In(r.GetSession()), Code: r.GetCode(), Language: r.GetLanguage(), Replace: r.GetReplace(),
		Append: r.GetAppend(), Text: int64(c.atLeast0("budget", r.GetBudget())),
		Timeout: c.timeout(r.GetTimeoutSeconds()), Origin: c.origin(r.GetOrigin()),
	}
	return c
}

func runCall(r *v1.RunRequest) *call {
	c := newCall(r)
	c.offers(r.GetTools(), r.GetModels())
	c.program(r.GetSession(), r.GetFile(), r.GetArguments())
	c.ask = &verb.Run{
		InSession: verb.In(r.GetSession()), File: r.GetFile(), Arguments: r.GetArguments(), Verify: r.GetVerify(),
		Fresh: r.GetFresh(), Contents: r.Contents, Until: r.GetUntil(), Always: given(r.GetAlways()),
		Never:        given(r.GetNever()),
		RestoreFiles: r.GetRestoreFiles(), Jobs: int(r.GetJobs()),
		RemoteJobs: int(r.GetRemoteJobs()), Elsewhere: r.GetElsewhere(), Write: r.GetWrite(), Merge: r.GetMerge(),
		Expect: c.step("expect", r.Expect), Timeout: c.timeout(r.GetTimeoutSeconds()), Python: r.GetPython(),
		Origin: c.origin(r.GetOrigin()),
	}
	return c
}

func editCall(r *v1.EditRequest) *call {
	c := newCall(r)
	c.ask = &verb.Patch{
		InSession: verb.In(r.GetSession()), Text: r.GetPatch(), Format: r.GetFormat(), Block: r.GetBlock(),
		Expect: r.GetExpect(), Merge: r.GetMerge(), DryRun: r.GetDryRun(), Run: r.GetRun(),
		Timeout: c.timeout(r.GetTimeoutSeconds()), Origin: c.origin(r.GetOrigin()),
	}
	return c
}

func undoCall(r *v1.UndoRequest) *call {
	c := newCall(r)
	c.ask = &verb.Undo{
		InSession: verb.In(r.GetSession()), Steps: r.GetSteps(), By: r.GetBy(), DryRun: r.GetDryRun(),
		KeepFile: r.GetKeepFile(), Origin: c.origin(r.GetOrigin()),
	}
	return c
}

func rollbackCall(r *v1.RollbackRequest) *call {
	c, to := newCall(r), r.GetToStep()
	c.ask = &verb.Rollback{
		InSession: verb.In(r.GetSession()), To: c.step("to_step", &to), KeepFile: r.GetKeepFile(),
		Origin: c.origin(r.GetOrigin()),
	}
	return c
}

func forkCall(r *v1.ForkRequest) *call {
	c := newCall(r)
	c.ask = &verb.Fork{
		InSession: verb.In(r.GetSession()), Moment: c.moment(r.AtStep, ""), New: c.need("new", r.GetNew()),
		Private: r.GetPrivate(), Origin: c.origin(r.GetOrigin()),
	}
	return c
}

func planCall(r *v1.PlanRequest) *call {
	c := newCall(r)
	c.program(r.GetSession(), r.GetFile(), r.GetArguments())
	c.ask = &verb.Plan{
		InSession: verb.In(r.GetSession()), File: r.GetFile(), Contents: r.Contents, Arguments: r.GetArguments(),
		Python: r.GetPython(),
	}
	return c
}

func whyCall(r *v1.WhyRequest) *call {
	c := newCall(r)
	c.ask = &verb.Why{
		InSession: verb.In(r.GetSession()), Block: c.need("block", r.GetBlock()),
	}
	return c
}

func queryCall(r *v1.QueryRequest) *call {
	c := newCall(r)
	q := &verb.Query{InSession: verb.In(r.GetSession()), Moment: c.moment(r.AtStep, r.GetAt()), After: r.GetAfter()}
	if n := int(r.GetLimit()); n != 0 {
		q.Limit = &n
	}
	c.ask, c.answer = q, "program"
	ask := func(field string, into *string, value string) { *into, c.answer = c.need(field, value), field }
	set := func(field string, into *bool, on bool) {
		if !on {
			c.fail(fmt.Errorf("the field %s is false: leave it out", field))
		}
		*into, c.answer = on, field
	}
	switch asked := r.GetAsk().(type) {
	case *v1.QueryRequest_Block:
		ask("block", &q.Block, asked.Block)
	case *v1.QueryRequest_Symbol:
		ask("symbol", &q.Symbol, asked.Symbol)
	case *v1.QueryRequest_AffectedBy:
		ask("affected_by", &q.AffectedBy, asked.AffectedBy)
	case *v1.QueryRequest_DependsOn:
		ask("depends_on", &q.DependsOn, asked.DependsOn)
	case *v1.QueryRequest_Version:
		ask("version", &q.Version, asked.Version)
	case *v1.QueryRequest_Patch:
		ask("patch", &q.Patch, asked.Patch)
	case *v1.QueryRequest_Where:
		ask("where", &q.Where, asked.Where)
	case *v1.QueryRequest_Path:
		q.From, q.To = c.need("path.from", asked.Path.GetFrom()), c.need("path.to", asked.Path.GetTo())
		c.answer = "path"
	case *v1.QueryRequest_Failed:
		set("failed", &q.Failed, asked.Failed)
	case *v1.QueryRequest_Unverified:
		set("unverified", &q.Unverified, asked.Unverified)
	case *v1.QueryRequest_Volatile:
		set("volatile", &q.Volatile, asked.Volatile)
	}
	return c
}

func valueCall(r *v1.ValueRequest) *call {
	c := newCall(r)
	c.ask = &verb.Query{
		InSession: verb.In(r.GetSession()), Moment: c.moment(r.AtStep, r.GetAt()), Value: c.need("name", r.GetName()),
		Place: c.place(r.GetPlace()),
	}
	return c
}

// place is a place in a value; nil: none is asked for.
func (c *call) place(p *v1.ValuePlace) *inspect.Place {
	if p == nil {
		return nil
	}
	at := &inspect.Place{
		Row: int(c.atLeast0("place.row", p.GetRow())), Column: int(c.atLeast0("place.column", p.GetColumn())),
	}
	for _, step := range p.GetPath() {
		at.Path = append(at.Path, int(c.atLeast0("place.path", step)))
	}
	return at
}

func historyCall(r *v1.HistoryRequest) *call {
	c := newCall(r)
	ask := &verb.Log{InSession: verb.In(r.GetSession()), After: state.StepNumber(c.atLeast0("after", r.GetAfter()))}
	if r.Limit != nil {
		n := int(r.GetLimit())
		ask.Limit = &n
	}
	c.ask = ask
	return c
}

// anyAnswer says that the document shows itself which one it is.
const anyAnswer = "any"

func showCall(r *v1.ShowRequest) *call {
	c := newCall(r)
	c.ask, c.answer = &verb.Show{InSession: verb.In(r.GetSession()), Of: r.GetOf()}, anyAnswer
	return c
}

func diffCall(r *v1.DiffRequest) *call {
	c := newCall(r)
	if r.GetTo() != "" {
		c.need("from", r.GetFrom())
	}
	c.ask = &verb.Diff{InSession: verb.In(r.GetSession()), From: r.GetFrom(), To: r.GetTo()}
	return c
}

func replayCall(r *v1.ReplayRequest) *call {
	c := newCall(r)
	c.ask = &verb.Replay{
		InSession: verb.In(r.GetSession()), From: c.stepOrNone("from", r.GetFrom()), To: c.stepOrNone("to", r.GetTo()),
		Step: c.stepOrNone("step", r.GetStep()), Block: r.GetBlock(), Cached: r.GetCached(),
		UntilDivergence: r.GetUntilDivergence(), Jobs: int(r.GetJobs()), Timeout: c.timeout(r.GetTimeoutSeconds()),
	}
	return c
}

func verifyCall(r *v1.VerifyRequest) *call {
	c := newCall(r)
	c.ask = &verb.Verify{
		InSession: verb.In(r.GetSession()), Block: c.need("block", r.GetBlock()), Times: int(r.GetTimes()),
		Timeout: c.timeout(r.GetTimeoutSeconds()), Origin: c.origin(r.GetOrigin()),
	}
	return c
}

func checkVerifierCall(r *v1.CheckVerifierRequest) *call {
	c := newCall(r)
	c.ask = &verb.CheckVerifier{
		InSession: verb.In(r.GetSession()), Block: c.need("block", r.GetBlock()), Inputs: r.GetInputs(),
		Verdict: r.GetVerdict(), Timeout: c.timeout(r.GetTimeoutSeconds()), Python: r.GetPython(),
	}
	return c
}

func evidenceCall(r *v1.EvidenceRequest) *call {
	c := newCall(r)
	c.ask = &verb.Evidence{
		InSession: verb.In(r.GetSession()), Moment: c.moment(r.AtStep, r.GetAt()), Of: c.need("of", r.GetOf()),
	}
	return c
}

func flowCall(r *v1.FlowRequest) *call {
	c := newCall(r)
	c.ask = &verb.Flow{
		InSession: verb.In(r.GetSession()), Moment: c.moment(r.AtStep, r.GetAt()), Call: state.CallID(r.GetCall()),
	}
	return c
}

func listCallsCall(r *v1.ListCallsRequest) *call {
	c := newCall(r)
	c.ask = &verb.Calls{
		InSession: verb.In(r.GetSession()), Waiting: r.GetWaiting(), Tool: r.GetTool(), Block: r.GetBlock(),
		Since: state.StepNumber(c.atLeast0("since", r.GetSince())), Cost: r.GetCost(),
	}
	return c
}

func getCallCall(r *v1.GetCallRequest) *call {
	c := newCall(r)
	c.ask = &verb.WholeCall{Call: c.callID(r.GetCall())}
	return c
}

func approveCall(r *v1.ApproveRequest) *call {
	c := newCall(r)
	c.ask = &verb.Approve{
		Calls: []state.CallID{c.callID(r.GetCall())}, Choice: r.GetChoice(), Deny: r.GetDeny(), Reason: r.GetReason(),
		Result: r.GetResult(), By: r.GetBy(),
	}
	return c
}
