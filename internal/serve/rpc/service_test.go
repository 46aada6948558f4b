package rpc

import (
	"context"
	"io"
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
	"github.com/xstate-engine/xstate/internal/serve"
	"github.com/xstate-engine/xstate/internal/wording"
)

// fake is a Doer that keeps the calls and answers each in one way.
type fake struct {
	mu    sync.Mutex
	calls []serve.Call
	stdin []string
	do    func(ctx context.Context, c serve.Call) int
}

func (f *fake) Do(ctx context.Context, c serve.Call) int {
	code, _ := io.ReadAll(c.Stdin)
	f.mu.Lock()
	f.calls = append(f.calls, c)
	f.stdin = append(f.stdin, string(code))
	f.mu.Unlock()
	return f.do(ctx, c)
}

// last returns the arguments and the input of the last call.
func (f *fake) last() (args []string, stdin string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls[len(f.calls)-1].Args, f.stdin[len(f.stdin)-1]
}

// prints is what a verb does that prints a text and exits.
func prints(text string, exit int) func(context.Context, serve.Call) int {
	return func(_ context.Context, c serve.Call) int {
		io.WriteString(c.Stdout, text)
		return exit
	}
}

// serving listens on a unix socket, as a server does, and returns its path and a client.
func serving(t *testing.T, d serve.Doer, patience time.Duration) (socket string, client *http.Client) {
	t.Helper()
	return servingIn(t, "/work", d, patience)
}

// servingIn is serving with another folder than /work.
func servingIn(t *testing.T, served string, d serve.Doer, patience time.Duration) (socket string, client *http.Client) {
	t.Helper()
	s := &Service{E2B: true, Do: d, Store: "/store", Folder: served, Environ: []string{"A=1"}}
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

func TestEveryMethodIsAVerb(t *testing.T) {
	if len(methods()) < 20 {
		t.Fatalf("the API has %d methods, want more", len(methods()))
	}
	own := []string{v1.RunServiceInterruptProcedure, v1.RunServiceListRunsProcedure, v1.CallServiceAnswerCallProcedure}
	for _, name := range slices.Sorted(maps.Keys(methods())) {
		if (verbs[name] == nil) != slices.Contains(own, name) {
			t.Errorf("%s is a verb: %v", name, verbs[name] != nil)
		}
	}
	for name := range verbs {
		if methods()[name] == nil {
			t.Errorf("there is no method %s", name)
		}
	}
}

// TestRequestsAreVerbs: what a request holds is a value or an argument, whatever it looks like.
func TestRequestsAreVerbs(t *testing.T) {
	origin, err := structpb.NewStruct(map[string]any{"agent": "--json"})
	if err != nil {
		t.Fatal(err)
	}
	zero := int32(0)
	end := " --json --store=/store"
	for _, test := range []struct {
		procedure string
		request   proto.Message
		want      string
	}{
		{v1.SessionServiceListProcedure, &v1.ListRequest{}, "--json --store=/store"},
		{v1.RunServiceExecProcedure, &v1.ExecRequest{}, "exec" + end + " -- -"},
		{v1.RunServiceExecProcedure, &v1.ExecRequest{
			Session: "--store=/tmp", Append: true, Replace: "-x", Budget: 5, TimeoutSeconds: 1.5,
		}, "exec --session=--store=/tmp --timeout=1.5s --replace=-x --append --budget=5" + end + " -- -"},
		{v1.RunServiceRunProcedure, &v1.RunRequest{
			File: "--fresh", Arguments: []string{"--n", "5"}, Always: []string{"a", "b"}, Expect: &zero,
		}, "run --always=a --always=b --expect=0 ./--fresh" + end + " -- --n 5"},
		{v1.EditServiceEditProcedure, &v1.EditRequest{Session: "p.py", Expect: "3", DryRun: true},
			"patch --session=p.py --expect=3 --dry-run" + end + " -- -"},
		{v1.EditServiceUndoProcedure, &v1.UndoRequest{Steps: "--by", Origin: origin},
			`undo --origin={"agent":"--json"}` + end + " -- --by"},
		{v1.EditServiceRollbackProcedure, &v1.RollbackRequest{ToStep: 0}, "rollback --to-step=0" + end},
		{v1.EditServiceForkProcedure, &v1.ForkRequest{New: "-t", AtStep: &zero}, "fork --at-step=0" + end + " -- -t"},
		{v1.QueryServicePlanProcedure, &v1.PlanRequest{File: "p.py"}, "plan p.py" + end},
		{v1.QueryServiceWhyProcedure, &v1.WhyRequest{Block: "--all"}, "why" + end + " -- --all"},
		{v1.QueryServiceQueryProcedure, &v1.QueryRequest{At: "now"}, "query --at=now" + end},
		{v1.QueryServiceQueryProcedure, &v1.QueryRequest{
			Ask: &v1.QueryRequest_Path{Path: &v1.PathEnds{From: "a", To: "--b"}},
		}, "query --path" + end + " -- a --b"},
		{v1.QueryServiceValueProcedure, &v1.ValueRequest{Name: "-x"}, "query --value=-x" + end},
		{v1.QueryServiceHistoryProcedure, &v1.HistoryRequest{Limit: &zero}, "log --limit=0" + end},
		{v1.QueryServiceShowProcedure, &v1.ShowRequest{Of: "3"}, "show" + end + " -- 3"},
		{v1.QueryServiceDiffProcedure, &v1.DiffRequest{From: "1", To: "2"}, "diff" + end + " -- 1 2"},
		{v1.AuditServiceReplayProcedure, &v1.ReplayRequest{From: 2, Cached: true}, "replay --from=2 --cached" + end},
		{v1.AuditServiceVerifyProcedure, &v1.VerifyRequest{Block: "b", Times: 2}, "verify --times=2" + end + " -- b"},
		{v1.AuditServiceEvidenceProcedure, &v1.EvidenceRequest{Of: "x"}, "evidence" + end + " -- x"},
	} {
		c, err := verbs[test.procedure](test.request).call(t.Context(), &Service{Store: "/store", Folder: "/work"},
			"json")
		if err != nil {
			t.Errorf("%s: %v", test.procedure, err)
		}
		got := strings.ReplaceAll(strings.Join(c.Args, " "), `": "`, `":"`) // protobuf's JSON has spaces at random
		if d := cmp.Diff(test.want, got); d != "" {
			t.Errorf("%s of %v (-want +got):\n%s", test.procedure, test.request, d)
		}
	}
}

// TestClients: the generated client gets the same answer over each protocol.
func TestClients(t *testing.T) {
	d := &fake{do: prints(`{"version":1,"session":"main","step":7,"result":"3","error":null,"others":[]}`+"\n", 1)}
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
		if _, stdin := d.last(); stdin != "1 + 2" {
			t.Errorf("%s: the code is %q, want it as standard input", name, stdin)
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
