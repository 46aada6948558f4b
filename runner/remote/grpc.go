package remote

import (
	"context"
	"fmt"
	"sync/atomic"

	reapi "github.com/bazelbuild/remote-apis/build/bazel/remote/execution/v2"
	"google.golang.org/genproto/googleapis/bytestream"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/xstate-engine/xstate/state"
)

// server is a store on a server of the Remote Execution API v2. A record is an entry of its action cache: the digest of
// the action is the name, standard output is the record, and the blobs that it refers to are output files.
type server struct {
	address  string // as the user wrote it, for errors
	instance string
	batch    atomic.Int64 // the largest blob that is sent in one message; 0: the server was not asked yet

	connection   *grpc.ClientConn
	actions      reapi.ActionCacheClient
	contents     reapi.ContentAddressableStorageClient
	streams      bytestream.ByteStreamClient
	capabilities reapi.CapabilitiesClient
}

// openServer returns the store at an address (see serverAddress). The first call connects to it.
func openServer(address string, o Server) (Store, error) {
	at, err := parseAddress(address)
	if err != nil {
		return nil, err
	}
	connection, err := o.connect(at)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", address, err)
	}
	return &server{
		address:      address,
		instance:     at.instance,
		connection:   connection,
		actions:      reapi.NewActionCacheClient(connection),
		contents:     reapi.NewContentAddressableStorageClient(connection),
		streams:      bytestream.NewByteStreamClient(connection),
		capabilities: reapi.NewCapabilitiesClient(connection),
	}, nil
}

// connect returns a connection that the first call makes.
func (o Server) connect(at serverAddress) (*grpc.ClientConn, error) {
	dial, err := o.dial(at)
	if err != nil {
		return nil, err
	}
	// A server could demand by its entries in DNS that calls are repeated. Users leave a slow store alone instead.
	dial = append(dial, grpc.WithDisableServiceConfig(), grpc.WithUserAgent("xstate"))
	return grpc.NewClient("dns:///"+at.host, dial...)
}

func (s *server) Close() error { return s.connection.Close() }

// failed says where and in what a call failed. Where the context has ended, its error is the reason: users ask for it.
func (s *server) failed(ctx context.Context, what string, err error) error {
	if ctx.Err() != nil {
		err = ctx.Err()
	} else if status.Code(err) == codes.DeadlineExceeded { // the server knows the deadline, and may be first
		err = fmt.Errorf("%w: %w", context.DeadlineExceeded, err)
	}
	return fmt.Errorf("%s: %s: %w", s.address, what, err)
}

// notTaken is failed for a call that writes.
func (s *server) notTaken(ctx context.Context, what string, err error) error {
	switch status.Code(err) {
	case codes.ResourceExhausted, codes.PermissionDenied, codes.Unauthenticated:
		err = fmt.Errorf("%w: %w", ErrReadOnly, err)
	}
	return s.failed(ctx, what, err)
}

// digestOf returns a digest as the API has it.
func digestOf(d state.Digest, size int64) (*reapi.Digest, error) {
	if !d.IsContent() || size < 0 {
		return nil, fmt.Errorf("%q is no digest of a content with %d bytes", d, size)
	}
	return &reapi.Digest{Hash: string(d), SizeBytes: size}, nil
}
