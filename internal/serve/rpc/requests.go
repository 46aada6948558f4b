package rpc

import (
	"fmt"
	"strconv"

	"google.golang.org/protobuf/proto"

	v1 "github.com/xstate-engine/xstate/api/xstate/v1"
)

// verbs turn the requests of procedures into commands. Interrupt, ListRuns and Answer are not here: they are not verbs.
var verbs = map[string]func(proto.Message) *command{
	v1.SessionServiceListProcedure: of(func(*v1.ListRequest) *command { return &command{} }),
	v1.SessionServiceGetProcedure:  of(func(*v1.GetRequest) *command { return &command{} }),

	v1.RunServiceExecProcedure:       of(execCommand),
	v1.RunServiceExecStreamProcedure: of(execCommand),
	v1.RunServiceRunProcedure:        of(runCommand),
	v1.RunServiceRunStreamProcedure:  of(runCommand),

	v1.EditServiceEditProcedure:     of(editCommand),
	v1.EditServiceUndoProcedure:     of(undoCommand),
	v1.EditServiceRollbackProcedure: of(rollbackCommand),
	v1.EditServiceForkProcedure:     of(forkCommand),

	v1.CallServiceListCallsProcedure: of(listCallsCommand),
	v1.CallServiceGetCallProcedure:   of(getCallCommand),
	v1.CallServiceApproveProcedure:   of(approveCommand),

	v1.QueryServicePlanProcedure:    of(planCommand),
	v1.QueryServiceWhyProcedure:     of(whyCommand),
	v1.QueryServiceQueryProcedure:   of(queryCommand),
	v1.QueryServiceValueProcedure:   of(valueCommand),
	v1.QueryServiceHistoryProcedure: of(historyCommand),
	v1.QueryServiceShowProcedure:    of(showCommand),
	v1.QueryServiceDiffProcedure:    of(diffCommand),

	v1.AuditServiceReplayProcedure:   of(replayCommand),
	v1.AuditServiceVerifyProcedure:   of(verifyCommand),
	v1.AuditServiceEvidenceProcedure: of(evidenceCommand),
}

// of makes the command of one type of request.
func of[R proto.Message](make func(R) *command) func(proto.Message) *command {
	return func(m proto.Message) *command { return make(m.(R)) }
}

func execCommand(r *v1.ExecRequest) *command {
	c := newCommand("exec", r)
	c.text("replace", r.GetReplace())
	c.is("append", r.GetAppend())
	c.text("language", r.GetLanguage())
	c.number("budget", r.GetBudget())
	c.offers(r.GetTools(), r.GetModels())
	c.stdin = r.GetCode()
	c.argument("-")
	return c
}

func runCommand(r *v1.RunRequest) *command {
	c := newCommand("run", r)
	c.is("verify", r.GetVerify())
	c.is("fresh", r.GetFresh())
	c.texts("always", r.GetAlways())
	c.texts("never", r.GetNever())
	c.is("restore-files", r.GetRestoreFiles())
	c.number("jobs", r.GetJobs())
	c.is("write", r.GetWrite())
	c.given("expect", r.Expect)
	c.is("merge", r.GetMerge())
	c.offers(r.GetTools(), r.GetModels())
	c.program(r.GetSession(), r.GetFile(), r.GetArguments())
	return c
}

func editCommand(r *v1.EditRequest) *command {
	c := newCommand("patch", r)
	c.text("format", r.GetFormat())
	c.text("block", r.GetBlock())
	c.text("expect", r.GetExpect())
	c.is("merge", r.GetMerge())
	c.is("dry-run", r.GetDryRun())
	c.is("run", r.GetRun())
	c.stdin = r.GetPatch()
	c.argument("-")
	return c
}

func undoCommand(r *v1.UndoRequest) *command {
	c := newCommand("undo", r)
	c.text("by", r.GetBy())
	c.is("dry-run", r.GetDryRun())
	c.is("keep-file", r.GetKeepFile())
	c.argument(r.GetSteps())
	return c
}

func rollbackCommand(r *v1.RollbackRequest) *command {
	c := newCommand("rollback", r)
	to := r.GetToStep()
	c.given("to-step", &to)
	c.is("keep-file", r.GetKeepFile())
	return c
}

func forkCommand(r *v1.ForkRequest) *command {
	c := newCommand("fork", r)
	c.given("at-step", r.AtStep)
	c.is("private", r.GetPrivate())
	c.argument(c.need("new", r.GetNew()))
	return c
}

func planCommand(r *v1.PlanRequest) *command {
	c := newCommand("plan", r)
	c.program(r.GetSession(), r.GetFile(), r.GetArguments())
	return c
}

func whyCommand(r *v1.WhyRequest) *command {
	c := newCommand("why", r)
	c.argument(c.need("block", r.GetBlock()))
	return c
}

func queryCommand(r *v1.QueryRequest) *command {
	c := newCommand("query", r)
	c.given("at-step", r.AtStep)
	c.number("limit", r.GetLimit())
	c.text("after", r.GetAfter())
	c.answer = "program"
	ask := func(field, flag, value string) {
		c.text(flag, c.need(field, value))
		c.answer = field
	}
	set := func(field string, on bool) {
		if !on {
			c.fail(fmt.Errorf("the field %s is false: leave it out", field))
		}
		c.is(field, on)
		c.answer = field
	}
	switch q := r.GetAsk().(type) {
	case *v1.QueryRequest_Block:
		ask("block", "block", q.Block)
	case *v1.QueryRequest_Symbol:
		ask("symbol", "symbol", q.Symbol)
	case *v1.QueryRequest_AffectedBy:
		ask("affected_by", "affected-by", q.AffectedBy)
	case *v1.QueryRequest_DependsOn:
		ask("depends_on", "depends-on", q.DependsOn)
	case *v1.QueryRequest_Version:
		ask("version", "version", q.Version)
	case *v1.QueryRequest_Patch:
		ask("patch", "patch", q.Patch)
	case *v1.QueryRequest_Where:
		ask("where", "where", q.Where)
	case *v1.QueryRequest_Path:
		set("path", true)
		c.arguments = []string{c.need("path.from", q.Path.GetFrom()), c.need("path.to", q.Path.GetTo())}
	case *v1.QueryRequest_Failed:
		set("failed", q.Failed)
	case *v1.QueryRequest_Unverified:
		set("unverified", q.Unverified)
	case *v1.QueryRequest_Volatile:
		set("volatile", q.Volatile)
	}
	return c
}

func valueCommand(r *v1.ValueRequest) *command {
	c := newCommand("query", r)
	c.given("at-step", r.AtStep)
	c.text("value", c.need("name", r.GetName()))
	return c
}

func historyCommand(r *v1.HistoryRequest) *command {
	c := newCommand("log", r)
	c.given("limit", r.Limit)
	c.number("after", r.GetAfter())
	return c
}

// anyAnswer says that the document shows itself which one it is.
const anyAnswer = "any"

func showCommand(r *v1.ShowRequest) *command {
	c := newCommand("show", r)
	c.argument(r.GetOf())
	c.answer = anyAnswer
	return c
}

func diffCommand(r *v1.DiffRequest) *command {
	c := newCommand("diff", r)
	if r.GetTo() != "" {
		c.need("from", r.GetFrom())
	}
	c.argument(r.GetFrom())
	c.argument(r.GetTo())
	return c
}

func replayCommand(r *v1.ReplayRequest) *command {
	c := newCommand("replay", r)
	c.number("from", r.GetFrom())
	c.number("to", r.GetTo())
	c.number("step", r.GetStep())
	c.text("block", r.GetBlock())
	c.is("cached", r.GetCached())
	c.is("until-divergence", r.GetUntilDivergence())
	c.number("jobs", r.GetJobs())
	return c
}

func verifyCommand(r *v1.VerifyRequest) *command {
	c := newCommand("verify", r)
	c.number("times", r.GetTimes())
	c.argument(c.need("block", r.GetBlock()))
	return c
}

func evidenceCommand(r *v1.EvidenceRequest) *command {
	c := newCommand("evidence", r)
	c.given("at-step", r.AtStep)
	c.argument(c.need("of", r.GetOf()))
	return c
}

func listCallsCommand(r *v1.ListCallsRequest) *command {
	c := newCommand("calls", r)
	c.is("waiting", r.GetWaiting())
	c.text("tool", r.GetTool())
	c.text("block", r.GetBlock())
	c.number("since", r.GetSince())
	c.is("cost", r.GetCost())
	return c
}

func getCallCommand(r *v1.GetCallRequest) *command {
	c := newCommand("calls", r)
	c.argument(strconv.Itoa(int(r.GetCall())))
	return c
}

func approveCommand(r *v1.ApproveRequest) *command {
	c := newCommand("approve", r)
	c.text("choice", r.GetChoice())
	c.is("deny", r.GetDeny())
	c.text("reason", r.GetReason())
	c.text("result", r.GetResult())
	c.text("by", r.GetBy())
	c.argument(strconv.Itoa(int(r.GetCall())))
	return c
}
