package remote

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"

	reapi "github.com/bazelbuild/remote-apis/build/bazel/remote/execution/v2"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/xstate-engine/xstate/internal/xstatetest/await"
)

// scriptedServer answers as bazel-remote does not: with limits, refusals, and records that are blobs. A service that it
// lacks answers every call with an error.
type scriptedServer struct {
	reapi.UnimplementedCapabilitiesServer
	reapi.UnimplementedActionCacheServer
	reapi.UnimplementedContentAddressableStorageServer

	limit  int64         // of a batch
	record *reapi.Digest // where each record is; nil: there is none
	blob   []byte        // what each blob holds
	refuse codes.Code    // how writes are refused

	mu     sync.Mutex
	calls  []string
	tokens []string
}

// start serves on loopback until the test ends, and returns the host and port.
func (s *scriptedServer) start(t *testing.T, options ...grpc.ServerOption) string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	options = append(options, grpc.UnaryInterceptor(s.noteCall), grpc.UnknownServiceHandler(s.noService))
	server := grpc.NewServer(options...)
	reapi.RegisterCapabilitiesServer(server, s)
	reapi.RegisterActionCacheServer(server, s)
	reapi.RegisterContentAddressableStorageServer(server, s)
	ended := make(chan error)
	go func() { ended <- server.Serve(listener) }()
	t.Cleanup(func() {
		server.Stop()
		if err := await.Receive(t, "the server ends", ended); err != nil {
			t.Error(err)
		}
	})
	return listener.Addr().String()
}

func (s *scriptedServer) noteCall(ctx context.Context, request any, i *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (
	any, error) {
	s.note(ctx, i.FullMethod)
	return handle(ctx, request)
}

func (s *scriptedServer) noService(_ any, stream grpc.ServerStream) error {
	method, _ := grpc.MethodFromServerStream(stream)
	s.note(stream.Context(), method)
	return status.Error(s.refuse, "refused")
}

func (s *scriptedServer) note(ctx context.Context, method string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, method[strings.LastIndex(method, "/")+1:])
	s.tokens = append(s.tokens, metadata.ValueFromIncomingContext(ctx, "authorization")...)
}

// noted returns the calls until now, and their tokens.
func (s *scriptedServer) noted() (calls, tokens []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.calls), slices.Clone(s.tokens)
}

func (s *scriptedServer) GetCapabilities(context.Context, *reapi.GetCapabilitiesRequest) (
	*reapi.ServerCapabilities, error) {
	return &reapi.ServerCapabilities{
		CacheCapabilities: &reapi.CacheCapabilities{MaxBatchTotalSizeBytes: s.limit}}, nil
}

func (s *scriptedServer) GetActionResult(context.Context, *reapi.GetActionResultRequest) (*reapi.ActionResult, error) {
	if s.record == nil {
		return nil, status.Error(codes.NotFound, "not found")
	}
	return &reapi.ActionResult{StdoutDigest: s.record}, nil
}

func (s *scriptedServer) UpdateActionResult(context.Context, *reapi.UpdateActionResultRequest) (
	*reapi.ActionResult, error) {
	return nil, status.Error(s.refuse, "refused")
}

func (s *scriptedServer) BatchReadBlobs(_ context.Context, request *reapi.BatchReadBlobsRequest) (
	*reapi.BatchReadBlobsResponse, error) {
	answer := &reapi.BatchReadBlobsResponse{}
	for _, digest := range request.Digests {
		one := &reapi.BatchReadBlobsResponse_Response{Digest: digest, Data: s.blob}
		answer.Responses = append(answer.Responses, one)
	}
	return answer, nil
}

func (s *scriptedServer) BatchUpdateBlobs(context.Context, *reapi.BatchUpdateBlobsRequest) (
	*reapi.BatchUpdateBlobsResponse, error) {
	return &reapi.BatchUpdateBlobsResponse{Responses: []*reapi.BatchUpdateBlobsResponse_Response{
		{Status: status.New(s.refuse, "refused").Proto()}}}, nil
}

// TestServerRefuses: codes that say that this user or the cache can write no more are ErrReadOnly, others are not.
func TestServerRefuses(t *testing.T) {
	for code, readOnly := range map[codes.Code]bool{
		codes.ResourceExhausted: true, codes.PermissionDenied: true, codes.Unauthenticated: true,
		codes.Unavailable: false, codes.Internal: false, codes.InvalidArgument: false,
	} {
		t.Run(code.String(), func(t *testing.T) {
			server := &scriptedServer{limit: 1000, refuse: code}
			address := "grpc://" + server.start(t)
			s := openTestServer(t, address, Server{})
			small, large := testContent(t, "small", 1000), testContent(t, "large", 1001)
			for what, err := range map[string]error{
				"PutRecord":     s.PutRecord(await.Context(t), testNames(t, 1)[0], []byte("record"), nil),
				"PutBlob":       s.PutBlob(await.Context(t), refOf(small), bytes.NewReader(small)),
				"PutBlob large": s.PutBlob(await.Context(t), refOf(large), bytes.NewReader(large)),
			} {
				if err == nil || errors.Is(err, ErrReadOnly) != readOnly || !strings.Contains(err.Error(), address) {
					t.Errorf("%s: %v; is it %v: %t", what, err, ErrReadOnly, readOnly)
				}
			}
			found, err := s.Blob(await.Context(t), refOf(large), &bytes.Buffer{})
			if found || err == nil || errors.Is(err, ErrReadOnly) {
				t.Errorf("Blob: %t, %v, want another error", found, err)
			}
		})
	}
}

// TestServerLimits: a blob over the limit of the server goes by a stream, and the limit is asked for once.
func TestServerLimits(t *testing.T) {
	server := &scriptedServer{limit: 1000}
	s := openTestServer(t, "grpc://"+server.start(t), Server{})
	for _, size := range []int{1000, 1001, 1000} {
		content := testContent(t, "", size)
		s.PutBlob(await.Context(t), refOf(content), bytes.NewReader(content)) // no matter what this server answers
	}
	want := []string{"GetCapabilities", "BatchUpdateBlobs", "Write", "BatchUpdateBlobs"}
	if calls, _ := server.noted(); !slices.Equal(calls, want) {
		t.Errorf("calls %q, want %q", calls, want)
	}
}

// TestServerOutlinesRecords: a server may put a record into a blob.
func TestServerOutlinesRecords(t *testing.T) {
	record := []byte("a record")
	digest := &reapi.Digest{Hash: string(refOf(record).Digest), SizeBytes: int64(len(record))}
	for name, c := range map[string]struct {
		digest *reapi.Digest
		want   string
	}{
		"blob":      {digest, "a record"},
		"nothing":   {&reapi.Digest{}, ""},
		"too large": {&reapi.Digest{Hash: digest.Hash, SizeBytes: maxRecord + 1}, ""},
		"missing":   {nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			server := &scriptedServer{record: c.digest, blob: record}
			s := openTestServer(t, "grpc://"+server.start(t)+"/instance", Server{})
			if got := oneRecord(t, s, testNames(t, 1)[0]); string(got) != c.want {
				t.Errorf("record %q, want %q", got, c.want)
			}
		})
	}
}

// TestServerToken: each call has the token, and only a call over TLS.
func TestServerToken(t *testing.T) {
	server, files := &scriptedServer{}, makeCertificates(t)
	own, err := tls.LoadX509KeyPair(files.serverCertificate, files.serverKey)
	if err != nil {
		t.Fatal(err)
	}
	at := server.start(t, grpc.Creds(credentials.NewServerTLSFromCert(&own)))
	s := openTestServer(t, "grpcs://"+at, Server{Authorities: files.authorities, Token: "secret"})
	if got := oneRecord(t, s, testNames(t, 1)[0]); got != nil {
		t.Errorf("record %q", got)
	}
	if _, tokens := server.noted(); !slices.Equal(tokens, []string{"Bearer secret"}) {
		t.Errorf("tokens %q, want one", tokens)
	}
	if _, err := openServer("grpc://"+at, Server{Token: "secret"}); err == nil {
		t.Error("a token would be sent in plain text")
	}
}

func TestServerAddress(t *testing.T) {
	for address, want := range map[string]serverAddress{
		"grpc://cache:9092":                 {host: "cache:9092"},
		"grpc://[::1]:9092/":                {host: "[::1]:9092"},
		"grpcs://cache.example.org:443/a/b": {host: "cache.example.org:443", instance: "a/b", secure: true},
		"grpc://cache":                      {},
		"grpc://:9092":                      {},
		"http://cache:9092":                 {},
		"grpcs://me:secret@cache:9092":      {},
		"grpcs://cache:9092?token=secret":   {},
		"grpcs://me:secret@cache:port":      {},
		"cache:9092":                        {},
		"":                                  {},
	} {
		got, err := parseAddress(address)
		if got != want || (err == nil) != (want != serverAddress{}) {
			t.Errorf("%s: %+v, %v, want %+v", address, got, err, want)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: the error has the password: %v", address, err)
		}
	}
}
