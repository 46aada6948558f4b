package remote

import (
	"bytes"
	"context"
	"fmt"

	reapi "github.com/bazelbuild/remote-apis/build/bazel/remote/execution/v2"
	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/xstate-engine/xstate/state"
)

// maxCalls is how many records are asked for at once. The API has no call for several.
const maxCalls = 128

// actionSize is the size of the action that a record is the result of. The action itself is never made.
const actionSize = 1

func (s *server) Records(ctx context.Context, names []state.Digest) ([][]byte, error) {
	found := make([][]byte, len(names))
	calls, ctx := errgroup.WithContext(ctx)
	calls.SetLimit(maxCalls)
	for i, name := range names {
		calls.Go(func() (err error) {
			found[i], err = s.record(ctx, name)
			return err
		})
	}
	if err := calls.Wait(); err != nil {
		return nil, err
	}
	return found, nil
}

// record returns a record, or nil if it is missing.
func (s *server) record(ctx context.Context, name state.Digest) ([]byte, error) {
	action, err := digestOf(name, actionSize)
	if err != nil {
		return nil, err
	}
	result, err := s.actions.GetActionResult(ctx, &reapi.GetActionResultRequest{
		InstanceName: s.instance, ActionDigest: action, InlineStdout: true})
	if status.Code(err) == codes.NotFound {
		return nil, nil
	}
	if err != nil {
		return nil, s.failed(ctx, "read a record", err)
	}
	if len(result.GetStdoutRaw()) > 0 {
		return result.GetStdoutRaw(), nil
	}
	return s.outlined(ctx, result.GetStdoutDigest())
}

// outlined returns a record that the server has made a blob, which it may do.
func (s *server) outlined(ctx context.Context, digest *reapi.Digest) ([]byte, error) {
	ref := state.BlobRef{Digest: state.Digest(digest.GetHash()), Size: digest.GetSizeBytes()}
	if ref.Size <= 0 || ref.Size > maxRecord {
		return nil, nil
	}
	var record bytes.Buffer
	found, err := s.Blob(ctx, ref, &record)
	if !found || err != nil {
		return nil, err
	}
	return record.Bytes(), nil
}

func (s *server) PutRecord(ctx context.Context, name state.Digest, record []byte, refs []state.BlobRef) error {
	action, err := digestOf(name, actionSize)
	if err != nil {
		return err
	}
	result := &reapi.ActionResult{StdoutRaw: record}
	for i, ref := range refs {
		digest, err := digestOf(ref.Digest, ref.Size)
		if err != nil {
			return err
		}
		file := &reapi.OutputFile{Path: fmt.Sprintf("blobs/%d", i), Digest: digest}
		result.OutputFiles = append(result.OutputFiles, file)
	}
	// The API has no call that creates alone. Two writers that ask at once both write, which loses one of the records.
	_, err = s.actions.GetActionResult(ctx, &reapi.GetActionResultRequest{
		InstanceName: s.instance, ActionDigest: action})
	if err == nil {
		return nil
	}
	if status.Code(err) != codes.NotFound {
		return s.failed(ctx, "look for a record", err)
	}
	_, err = s.actions.UpdateActionResult(ctx, &reapi.UpdateActionResultRequest{
		InstanceName: s.instance, ActionDigest: action, ActionResult: result})
	if err != nil {
		return s.notTaken(ctx, "write a record", err)
	}
	return nil
}
