package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strconv"

	reapi "github.com/bazelbuild/remote-apis/build/bazel/remote/execution/v2"
	"github.com/google/uuid"
	"google.golang.org/genproto/googleapis/bytestream"
	"google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"

	"github.com/xstate-engine/xstate/state"
)

// Servers accept messages of 4 MiB, or more.
const (
	maxBatch   = 1 << 20   // the largest blob in one message, in bytes
	maxPart    = 256 << 10 // the largest part of a stream, in bytes
	maxDigests = 10_000    // the most digests in one message, of about 80 bytes each
)

func (s *server) Missing(ctx context.Context, refs []state.BlobRef) (missing []state.BlobRef, err error) {
	for some := range slices.Chunk(refs, maxDigests) {
		found, err := s.missing(ctx, some)
		if err != nil {
			return nil, err
		}
		missing = append(missing, found...)
	}
	return missing, nil
}

// missing asks about refs that fit into one message.
func (s *server) missing(ctx context.Context, refs []state.BlobRef) (missing []state.BlobRef, err error) {
	digests := make([]*reapi.Digest, len(refs))
	for i, ref := range refs {
		if digests[i], err = digestOf(ref.Digest, ref.Size); err != nil {
			return nil, err
		}
	}
	answer, err := s.contents.FindMissingBlobs(ctx, &reapi.FindMissingBlobsRequest{
		InstanceName: s.instance, BlobDigests: digests})
	if err != nil {
		return nil, s.failed(ctx, "look for blobs", err)
	}
	absent := map[state.BlobRef]bool{}
	for _, d := range answer.GetMissingBlobDigests() {
		absent[state.BlobRef{Digest: state.Digest(d.GetHash()), Size: d.GetSizeBytes()}] = true
	}
	for _, ref := range refs {
		if absent[ref] {
			missing = append(missing, ref)
		}
	}
	return missing, nil
}

// batchLimit returns the size of the largest blob that is sent in one message.
func (s *server) batchLimit(ctx context.Context) (int64, error) {
	if known := s.batch.Load(); known > 0 {
		return known, nil
	}
	limit := int64(maxBatch)
	answer, err := s.capabilities.GetCapabilities(ctx, &reapi.GetCapabilitiesRequest{InstanceName: s.instance})
	if err != nil {
		return 0, s.failed(ctx, "ask for limits", err)
	}
	if most := answer.GetCacheCapabilities().GetMaxBatchTotalSizeBytes(); most > 0 {
		limit = min(limit, most)
	}
	s.batch.Store(limit)
	return limit, nil
}

func (s *server) Blob(ctx context.Context, ref state.BlobRef, w io.Writer) (bool, error) {
	digest, err := digestOf(ref.Digest, ref.Size)
	if err != nil {
		return false, err
	}
	limit, err := s.batchLimit(ctx)
	if err != nil {
		return false, err
	}
	if ref.Size <= limit {
		return s.readBatch(ctx, digest, w)
	}
	return s.readStream(ctx, ref, w)
}

func (s *server) readBatch(ctx context.Context, digest *reapi.Digest, w io.Writer) (bool, error) {
	answer, err := s.contents.BatchReadBlobs(ctx, &reapi.BatchReadBlobsRequest{
		InstanceName: s.instance, Digests: []*reapi.Digest{digest}})
	if err == nil {
		err = outcome(answer.GetResponses())
	}
	if grpcstatus.Code(err) == codes.NotFound {
		return false, nil
	}
	if err != nil {
		return false, s.failed(ctx, "read a blob", err)
	}
	_, err = w.Write(answer.Responses[0].GetData())
	return err == nil, err
}

// outcome returns the error of a batch with one blob.
func outcome[Response interface{ GetStatus() *status.Status }](responses []Response) error {
	if len(responses) != 1 {
		return fmt.Errorf("%d responses for one blob", len(responses))
	}
	return grpcstatus.ErrorProto(responses[0].GetStatus())
}

func (s *server) readStream(ctx context.Context, ref state.BlobRef, w io.Writer) (bool, error) {
	inner, cancel := context.WithCancel(ctx)
	defer cancel() // it ends the stream, also where an error of w comes before the stream's end
	stream, err := s.streams.Read(inner, &bytestream.ReadRequest{
		ResourceName: path.Join(s.instance, "blobs", string(ref.Digest), strconv.FormatInt(ref.Size, 10))})
	if err != nil {
		return false, s.failed(ctx, "read a blob", err)
	}
	for left := ref.Size; ; {
		part, err := stream.Recv()
		left -= int64(len(part.GetData()))
		switch {
		case errors.Is(err, io.EOF):
			return true, nil
		case grpcstatus.Code(err) == codes.NotFound:
			return false, nil
		case err == nil && left < 0: // an endless stream would fill the disk
			return false, fmt.Errorf("%s: a blob has more than its %d bytes", s.address, ref.Size)
		case err != nil:
			return false, s.failed(ctx, "read a blob", err)
		}
		if _, err := w.Write(part.GetData()); err != nil {
			return false, err
		}
	}
}

func (s *server) PutBlob(ctx context.Context, ref state.BlobRef, r io.Reader) error {
	digest, err := digestOf(ref.Digest, ref.Size)
	if err != nil {
		return err
	}
	limit, err := s.batchLimit(ctx)
	if err != nil {
		return err
	}
	r = &interruptible{ctx, r}
	if ref.Size <= limit {
		return s.writeBatch(ctx, digest, r)
	}
	return s.writeStream(ctx, ref, r)
}

func (s *server) writeBatch(ctx context.Context, digest *reapi.Digest, r io.Reader) error {
	content, err := readPart(r, digest.SizeBytes)
	if err != nil {
		return err
	}
	answer, err := s.contents.BatchUpdateBlobs(ctx, &reapi.BatchUpdateBlobsRequest{
		InstanceName: s.instance,
		Requests:     []*reapi.BatchUpdateBlobsRequest_Request{{Digest: digest, Data: content}},
	})
	if err == nil {
		err = outcome(answer.GetResponses())
	}
	if err != nil {
		return s.notTaken(ctx, "write a blob", err)
	}
	return nil
}

// readPart reads a part of a known size.
func readPart(r io.Reader, size int64) ([]byte, error) {
	part := make([]byte, size)
	_, err := io.ReadFull(r, part)
	if errors.Is(err, io.EOF) { // not one byte is left
		err = io.ErrUnexpectedEOF
	}
	return part, err
}

func (s *server) writeStream(ctx context.Context, ref state.BlobRef, r io.Reader) error {
	inner, cancel := context.WithCancel(ctx)
	defer cancel() // the server forgets what it has got, unless it has all
	stream, err := s.streams.Write(inner)
	if err != nil {
		return s.notTaken(ctx, "write a blob", err)
	}
	if err := s.send(ctx, stream, ref, r); err != nil {
		return err
	}
	answer, err := stream.CloseAndRecv()
	if err != nil {
		return s.notTaken(ctx, "write a blob", err)
	}
	if answer.GetCommittedSize() != ref.Size {
		return fmt.Errorf("%s: write a blob: the server took %d of %d bytes",
			s.address, answer.GetCommittedSize(), ref.Size)
	}
	return nil
}

// send sends a blob in parts, until it or the server ends. The server ends early if it has the blob, or an error. The
// name is one that an upload could be resumed by.
func (s *server) send(ctx context.Context, to bytestream.ByteStream_WriteClient, ref state.BlobRef, r io.Reader) error {
	name := path.Join(s.instance, "uploads", uuid.NewString(), "blobs", string(ref.Digest),
		strconv.FormatInt(ref.Size, 10))
	for at := int64(0); at < ref.Size; {
		part, err := readPart(r, min(maxPart, ref.Size-at)) // a new one each time: what was sent must not change
		if err != nil {
			return err
		}
		next := at + int64(len(part))
		err = to.Send(&bytestream.WriteRequest{
			ResourceName: name, WriteOffset: at, Data: part, FinishWrite: next == ref.Size})
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return s.failed(ctx, "write a blob", err)
		}
		at = next
	}
	return nil
}
