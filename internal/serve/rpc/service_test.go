package rpc

import (
	"context"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/structpb"

	v1 "github.com/xstate-engine/xstate/api/xstate/v1"
	"github.com/xstate-engine/xstate/internal/api"
	"github.com/xstate-engine/xstate/internal/verb"
	"github.com/xstate-engine/xstate/internal/wording"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/inspect"
)

// fake are operations that keep the calls and answer each in one way.
type fake struct {
	mu    sync.Mutex
	calls []verb.Call
	do    func(ctx context.Context, c verb.Call) (any, *api.Error)
}

func (f *fake) Operate(ctx context.Context, c verb.Call) (any, *api.Error) {
	f.mu.Lock()
	f.calls = append(f.calls, c)
	f.mu.Unlock()
	return f.do(ctx, c)
}

// last returns what the last call asked.
func (f *fake) last() verb.Request {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls[len(f.calls)-1].Request
}

// answers is an operation with this answer.
func answers(document any) func(context.Context, verb.Call) (any, *api.Error) {
	return func(context.Context, verb.Call) (any, *api.Error) { return document, nil }
}

// serving listens on a unix socket, as a server does, and returns its path and a client.
func serving(t *testing.T, d verb.Operations, patience time.Duration) (socket string, client *http.Client) {
	t.Helper()
	return servingIn(t, "/work", d, patience)
}

// servingIn is serving with another folder than /work.
func servingIn(
	t *testing.T, served string, d verb.Operations, patience time.Duration,
) (socket string, client *http.Client) {
	t.Helper()
	s := &Service{E2B: true, Operations: d, Store: "/store", Folder: served, Environ: []string{"A=1"}}
	folder, err := os.MkdirTemp("", "rpc") // t.TempDir is too long for a socket in places
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(folder) })
	socket = filepath.Join(folder, "s")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(Bounded(s.Handler(), patience))
	server.Listener.Close()
	server.Listener = listener
	server.Config.Protocols = new(http.Protocols)
	server.Config.Protocols.SetHTTP1(true)
	server.Config.Protocols.SetUnencryptedHTTP2(true)
	server.Start()
	t.Cleanup(server.Close)
	return socket, overSocket(t, socket, false)
}

// overSocket returns a client that speaks HTTP/1.1, or HTTP/2 without TLS.
func overSocket(t *testing.T, socket string, two bool) *http.Client {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(!two)
	protocols.SetUnencryptedHTTP2(two)
	transport := &http.Transport{
		Protocols: protocols,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", socket)
		},
	}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

func TestEveryMethodIsAnOperation(t *testing.T) {
	if len(methods()) < 20 {
		t.Fatalf("the API has %d methods, want more", len(methods()))
	}
	own := []string{v1.RunServiceInterruptProcedure, v1.RunServiceListRunsProcedure, v1.CallServiceAnswerCallProcedure}
	for _, name := range slices.Sorted(maps.Keys(methods())) {
		if (operations[name] == nil) != slices.Contains(own, name) {
			t.Errorf("%s is an operation: %v", name, operations[name] != nil)
		}
	}
	for name := range operations {
		if methods()[name] == nil {
			t.Errorf("there is no method %s", name)
		}
	}
}

// TestRequests: what each request asks.
func TestRequests(t *testing.T) {
	origin, err := structpb.NewStruct(map[string]any{"agent": "a", "cost_usd": 0.25, "mine": []any{"x"}})
	if err != nil {
		t.Fatal(err)
	}
	by := state.Origin{Agent: "a", Cost: 250_000_000, Unknown: state.Fields{"mine": []byte(`["x"]`)}}
	zero, none, first, second := int32(0), 0, state.StepNumber(0), state.StepNumber(2)
	for _, test := range []struct {
		procedure string
		request   proto.Message
		want      verb.Request
	}{
		{v1.SessionServiceListProcedure, &v1.ListRequest{}, &verb.Status{}},
		{v1.RunServiceExecProcedure, &v1.ExecRequest{}, &verb.Exec{}},
		{v1.RunServiceExecProcedure, &v1.ExecRequest{
			Code: "1", Session: "--store=/tmp", Append: true, Replace: "-x", Budget: 5, TimeoutSeconds: 1.5,
		}, &verb.Exec{InSession: verb.In("--store=/tmp"), Code: "1", Append: true, Replace: "-x", Text: 5,
			Timeout: 1500 * time.Millisecond}},
		{v1.RunServiceRunProcedure, &v1.RunRequest{
			File: "--fresh", Arguments: []string{"--n", "5"}, Always: []string{"a", "b"}, Expect: &zero, Python: "p",
		}, &verb.Run{File: "--fresh", Arguments: []string{"--n", "5"}, Always: []string{"a", "b"}, Expect: &first,
			Python: "p"}},
		{v1.EditServiceEditProcedure, &v1.EditRequest{Session: "p.py", Patch: "t", Expect: "3", DryRun: true},
			&verb.Patch{InSession: verb.In("p.py"), Text: "t", Expect: "3", DryRun: true}},
		{v1.EditServiceUndoProcedure, &v1.UndoRequest{Steps: "--by", Origin: origin},
			&verb.Undo{Steps: "--by", Origin: by}},
		{v1.EditServiceRollbackProcedure, &v1.RollbackRequest{ToStep: 0}, &verb.Rollback{To: &first}},
		{v1.EditServiceForkProcedure, &v1.ForkRequest{New: "-t", AtStep: &zero},
			&verb.Fork{New: "-t", Moment: verb.Moment{AtStep: &first}}},
		{v1.QueryServicePlanProcedure, &v1.PlanRequest{File: "p.py"}, &verb.Plan{File: "p.py"}},
		{v1.QueryServiceWhyProcedure, &v1.WhyRequest{Block: "--all"}, &verb.Why{Block: "--all"}},
		{v1.QueryServiceQueryProcedure, &v1.QueryRequest{At: "now"}, &verb.Query{Moment: verb.Moment{At: "now"}}},
		{v1.QueryServiceQueryProcedure, &v1.QueryRequest{
			Ask: &v1.QueryRequest_Path{Path: &v1.PathEnds{From: "a", To: "--b"}},
		}, &verb.Query{From: "a", To: "--b"}},
		{v1.QueryServiceQueryProcedure, &v1.QueryRequest{Ask: &v1.QueryRequest_Volatile{Volatile: true}},
			&verb.Query{Volatile: true}},
		{v1.QueryServiceValueProcedure, &v1.ValueRequest{Name: "-x"}, &verb.Query{Value: "-x"}},
		{v1.QueryServiceValueProcedure,
			&v1.ValueRequest{Name: "x", Place: &v1.ValuePlace{Row: 50, Path: []int32{0, 2}}},
			&verb.Query{Value: "x", Place: &inspect.Place{Row: 50, Path: []int{0, 2}}}},
		{v1.QueryServiceHistoryProcedure, &v1.HistoryRequest{Limit: &zero}, &verb.Log{Limit: &none}},
		{v1.QueryServiceShowProcedure, &v1.ShowRequest{Of: "3"}, &verb.Show{Of: "3"}},
		{v1.QueryServiceDiffProcedure, &v1.DiffRequest{From: "1", To: "2"}, &verb.Diff{From: "1", To: "2"}},
		{v1.CallServiceListCallsProcedure, &v1.ListCallsRequest{Tool: "t", Since: 2},
			&verb.Calls{Tool: "t", Since: 2}},
		{v1.CallServiceGetCallProcedure, &v1.GetCallRequest{Call: 3}, &verb.WholeCall{Call: 3}},
		{v1.CallServiceApproveProcedure, &v1.ApproveRequest{Call: 3, Deny: true},
			&verb.Approve{Calls: []state.CallID{3}, Deny: true}},
		{v1.AuditServiceReplayProcedure, &v1.ReplayRequest{From: 2, Cached: true},
			&verb.Replay{From: &second, Cached: true}},
		{v1.AuditServiceVerifyProcedure, &v1.VerifyRequest{Block: "b", Times: 2}, &verb.Verify{Block: "b", Times: 2}},
		{v1.AuditServiceEvidenceProcedure, &v1.EvidenceRequest{Of: "x"}, &verb.Evidence{Of: "x"}},
	} {
		c, err := operations[test.procedure](test.request).of(t.Context(), &Service{Store: "/store", Folder: "/work"})
		if err != nil || c.Store != "/store" || c.Folder != "/work" {
			t.Errorf("%s: store %s, folder %s, %v", test.procedure, c.Store, c.Folder, err)
		}
		if d := cmp.Diff(test.want, c.Request); d != "" {
			t.Errorf("%s of %v (-want +got):\n%s", test.procedure, test.request, d)
		}
	}
}

// TestClients: the generated client gets the same answer over each protocol.
func TestClients(t *testing.T) {
	three := "3"
	d := &fake{do: answers(&api.Exec{Version: 1, Session: "main", Step: 7, Result: &three})}
	socket, one := serving(t, d, time.Minute)
	two := overSocket(t, socket, true)
	for name, client := range map[string]v1.RunServiceClient{
		"proto":    v1.NewRunServiceClient(one, "http://xstate"),
		"json":     v1.NewRunServiceClient(one, "http://xstate", connect.WithProtoJSON()),
		"grpc":     v1.NewRunServiceClient(two, "http://xstate", connect.WithGRPC()),
		"grpc-web": v1.NewRunServiceClient(one, "http://xstate", connect.WithGRPCWeb()),
		"http2":    v1.NewRunServiceClient(two, "http://xstate"),
	} {
		answer, err := client.Exec(t.Context(), connect.NewRequest(&v1.ExecRequest{
			Code: "1 + 2", Environ: map[string]string{"B": "2"},
		}))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		want := &v1.Exec{Version: 1, Session: "main", Step: 7, Result: proto.String("3")}
		if !proto.Equal(answer.Msg, want) {
			t.Errorf("%s: Exec = %v, want %v", name, answer.Msg, want)
		}
		if ask, ok := d.last().(*verb.Exec); !ok || ask.Code != "1 + 2" {
			t.Errorf("%s: %+v is asked, want the code", name, d.last())
		}
	}
	if d := cmp.Diff([]string{"A=1", "B=2", "XSTATE_PASS=B"}, d.calls[0].Environ); d != "" {
		t.Errorf("environment (-want +got):\n%s", d)
	}
}

// TestWords: the methods have what hints say of them. Their names begin with a capital letter, times are in seconds,
// and what is asked of calls is listed.
func TestWords(t *testing.T) {
	byName := map[string]protoreflect.MethodDescriptor{}
	for _, m := range methods() {
		byName[strings.ToLower(string(m.Name()))] = m
	}
	said := wording.API.Names()
	if len(said) == 0 {
		t.Fatal("hints name no methods")
	}
	for name, fields := range said {
		m := byName[name]
		if name == "calls" {
			m = byName["listcalls"]
		}
		if m == nil {
			t.Errorf("hints name the method %s, which is not there", name)
			continue
		}
		for _, f := range fields {
			if f == "timeout" {
				f = "timeout_seconds"
			}
			if m.Input().Fields().ByName(protoreflect.Name(f)) == nil {
				t.Errorf("hints name the field %s of %s, which it does not have", f, name)
			}
		}
	}
}
