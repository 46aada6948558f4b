package remote

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"

	"github.com/xstate-engine/xstate/internal/xstatetest/await"
	"github.com/xstate-engine/xstate/state"
)

// A storeCase is what every store does.
type storeCase struct {
	name  string
	check func(t *testing.T, s testedStore)
}

// testedStore is a store, and a way to lose a blob of it that it has.
type testedStore struct {
	Store
	lose func(t *testing.T, ref state.BlobRef)
}

var storeCases = []storeCase{
	{"records", checkRecords},
	{"a record is created once", checkCreateOnly},
	{"a thousand records", checkManyRecords},
	{"blobs", checkBlobs},
	{"a blob of another size", checkWrongSize},
	{"a blob that disappears", checkLostBlob},
	{"a name that is no digest", checkNoDigest},
	{"a context that has ended", checkEndedContext},
	{"a context that ends", checkEndingContext},
	{"concurrent use", checkConcurrentUse},
}

func TestStores(t *testing.T) {
	for name, open := range map[string]func(t *testing.T) testedStore{
		"folder":       openTestedFolder,
		"bazel-remote": openTestedServer,
		"bucket":       openTestedBucket,
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t)
			for _, c := range storeCases {
				t.Run(c.name, func(t *testing.T) { c.check(t, s) })
			}
		})
	}
}

func openTestedFolder(t *testing.T) testedStore {
	at := t.TempDir()
	s := openFolder(at)
	t.Cleanup(func() { closeStore(t, s) })
	return testedStore{s, func(t *testing.T, ref state.BlobRef) {
		if err := os.Remove(filepath.Join(at, blobFolder, string(ref.Digest[:2]), string(ref.Digest))); err != nil {
			t.Fatal(err)
		}
	}}
}

func openTestedServer(t *testing.T) testedStore {
	server := startBazelRemote(t)
	s := openTestServer(t, server.address("grpc"), Server{})
	return testedStore{s, func(t *testing.T, ref state.BlobRef) { server.lose(t, s, ref) }}
}

func closeStore(t *testing.T, s Store) {
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

func checkRecords(t *testing.T, s testedStore) {
	ctx := await.Context(t)
	names := testNames(t, 3)
	putRecord(t, s, names[0], []byte("first"))
	putRecord(t, s, names[2], []byte("third"))
	got, err := s.Records(ctx, []state.Digest{names[2], names[1], names[0], names[2]})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([][]byte{[]byte("third"), nil, []byte("first"), []byte("third")}, got); d != "" {
		t.Errorf("records (-want +got):\n%s", d)
	}
	if got, err := s.Records(ctx, nil); err != nil || len(got) != 0 {
		t.Errorf("records of no names: %q, %v", got, err)
	}
}

func checkCreateOnly(t *testing.T, s testedStore) {
	name := testNames(t, 1)[0]
	content := testContent(t, "blob", 10)
	putBlob(t, s, content)
	putRecord(t, s, name, []byte("first"), refOf(content))
	putRecord(t, s, name, []byte("second"), refOf(content))
	if got := oneRecord(t, s, name); string(got) != "first" {
		t.Errorf("after a second PutRecord the record is %q, want the first", got)
	}
}

func checkManyRecords(t *testing.T, s testedStore) {
	names := testNames(t, 1000)
	want := make([][]byte, len(names))
	writers, ctx := errgroup.WithContext(await.Context(t))
	writers.SetLimit(16)
	for i, name := range names {
		if i%7 == 3 {
			continue // it is missing
		}
		want[i] = fmt.Appendf(nil, "record %d", i)
		writers.Go(func() error { return s.PutRecord(ctx, name, want[i], nil) })
	}
	if err := writers.Wait(); err != nil {
		t.Fatal(err)
	}
	got, err := s.Records(await.Context(t), names)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("records (-want +got):\n%s", d)
	}
}

// checkBlobs writes and reads blobs. No size makes a store read or write it in large parts.
func checkBlobs(t *testing.T, s testedStore) {
	const largestPart = 8 << 20
	for _, size := range []int{0, 1 << 10, maxBatch, 3 << 20, 70 << 20} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			ctx := await.Context(t)
			content := testContent(t, "", size)
			ref := refOf(content)
			from := &partsReader{r: bytes.NewReader(content)}
			if err := s.PutBlob(ctx, ref, from); err != nil {
				t.Fatal(err)
			}
			if missing, err := s.Missing(ctx, []state.BlobRef{ref}); err != nil || len(missing) != 0 {
				t.Errorf("missing: %v, %v", missing, err)
			}
			into := &partsWriter{}
			found, err := s.Blob(ctx, ref, into)
			if err != nil || !found {
				t.Fatalf("Blob: %t, %v", found, err)
			}
			if !bytes.Equal(into.content.Bytes(), content) {
				t.Errorf("%d bytes came back that differ", into.content.Len())
			}
			if from.largest > largestPart || into.largest > largestPart {
				t.Errorf("parts of %d bytes were read, and of %d written", from.largest, into.largest)
			}
			putBlob(t, s, content) // again
		})
	}
}

func checkWrongSize(t *testing.T, s testedStore) {
	ctx := await.Context(t)
	failure := errors.New("the disk fails")
	for _, size := range []int{1, 1000, 3 << 20} {
		content := testContent(t, fmt.Sprint(size), size)
		ref := refOf(content)
		if err := s.PutBlob(ctx, ref, bytes.NewReader(content[:size-1])); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%d bytes less one: %v, want %v", size, err, io.ErrUnexpectedEOF)
		}
		broken := io.MultiReader(bytes.NewReader(content[:size/2]), iotest.ErrReader(failure))
		if err := s.PutBlob(ctx, ref, broken); !errors.Is(err, failure) {
			t.Errorf("half of %d bytes: %v, want %v", size, err, failure)
		}
		wantMissing(t, s, []state.BlobRef{ref}, ref)
		putBlob(t, s, content)
		longer := state.BlobRef{Digest: ref.Digest, Size: ref.Size + 1}
		wantMissing(t, s, []state.BlobRef{longer, ref}, longer)
	}
}

func checkLostBlob(t *testing.T, s testedStore) {
	for _, size := range []int{1000, 3 << 20} {
		content := testContent(t, fmt.Sprint(size), size)
		kept := testContent(t, fmt.Sprint("kept ", size), size)
		putBlob(t, s, content)
		putBlob(t, s, kept)
		s.lose(t, refOf(content))
		wantMissing(t, s, []state.BlobRef{refOf(kept), refOf(content)}, refOf(content))
		var got bytes.Buffer
		if found, err := s.Blob(await.Context(t), refOf(content), &got); err != nil || found {
			t.Errorf("Blob of %d bytes that are lost: %t, %v", size, found, err)
		}
		putBlob(t, s, content)
		wantMissing(t, s, []state.BlobRef{refOf(content)})
	}
}

func checkNoDigest(t *testing.T, s testedStore) {
	ref := state.BlobRef{Digest: "../../etc/passwd", Size: 1}
	for call, err := range allCalls(await.Context(t), s, ref) {
		if err == nil || errors.Is(err, ErrReadOnly) {
			t.Errorf("%s: %v, want another error", call, err)
		}
	}
}

func checkEndedContext(t *testing.T, s testedStore) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for call, err := range allCalls(ctx, s, refOf(testContent(t, "", 100))) {
		// A folder writes a record in one step, and looks first whether it has a blob.
		if _, is := s.Store.(*folder); is && (call == "PutRecord" || call == "Blob") {
			continue
		}
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v, want %v", call, err, context.Canceled)
		}
	}
}

// checkEndingContext ends contexts while a blob is read and written.
func checkEndingContext(t *testing.T, s testedStore) {
	content := testContent(t, "", 70<<20) // more than what can be on its way
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	from := io.MultiReader(bytes.NewReader(content[:maxPart]), eventReader(cancel), bytes.NewReader(content[maxPart:]))
	if err := s.PutBlob(ctx, refOf(content), from); !errors.Is(err, context.Canceled) {
		t.Errorf("PutBlob: %v, want %v", err, context.Canceled)
	}
	wantMissing(t, s, []state.BlobRef{refOf(content)}, refOf(content))
	putBlob(t, s, content)
	ctx, cancel = context.WithCancel(t.Context())
	defer cancel()
	found, err := s.Blob(ctx, refOf(content), eventWriter(cancel))
	if found || !errors.Is(err, context.Canceled) {
		t.Errorf("Blob: %t, %v, want %v", found, err, context.Canceled)
	}
}

// checkConcurrentUse makes several users write and read the same, and something of each.
func checkConcurrentUse(t *testing.T, s testedStore) {
	names := testNames(t, 9)
	shared := testContent(t, "shared", 2<<20)
	users, ctx := errgroup.WithContext(await.Context(t))
	for user := range 8 {
		own := testContent(t, fmt.Sprint("own ", user), 1000*(user+1))
		users.Go(func() error {
			refs := []state.BlobRef{refOf(shared), refOf(own)}
			for i, content := range [][]byte{shared, own} {
				if err := s.PutBlob(ctx, refs[i], bytes.NewReader(content)); err != nil {
					return err
				}
			}
			for _, name := range []state.Digest{names[8], names[user]} {
				if err := s.PutRecord(ctx, name, []byte(name), refs); err != nil {
					return err
				}
			}
			return readAll(ctx, s, []state.Digest{names[8], names[user]}, refs)
		})
	}
	if err := users.Wait(); err != nil {
		t.Error(err)
	}
}

// readAll demands that a store has records that are their names, and some blobs.
func readAll(ctx context.Context, s Store, names []state.Digest, refs []state.BlobRef) error {
	records, err := s.Records(ctx, names)
	if err != nil {
		return err
	}
	for i, name := range names {
		if string(records[i]) != string(name) {
			return fmt.Errorf("record %s is %q", name, records[i])
		}
	}
	if missing, err := s.Missing(ctx, refs); err != nil || len(missing) > 0 {
		return fmt.Errorf("missing: %v, %v", missing, err)
	}
	for _, ref := range refs {
		var got bytes.Buffer
		if found, err := s.Blob(ctx, ref, &got); err != nil || !found || refOf(got.Bytes()) != ref {
			return fmt.Errorf("blob %v: %t, %v, %v", ref, found, err, refOf(got.Bytes()))
		}
	}
	return nil
}

// allCalls makes each call that a store has, with one name, and returns their errors.
func allCalls(ctx context.Context, s Store, ref state.BlobRef) map[string]error {
	_, records := s.Records(ctx, []state.Digest{ref.Digest})
	_, missing := s.Missing(ctx, []state.BlobRef{ref})
	_, blob := s.Blob(ctx, ref, io.Discard)
	return map[string]error{
		"Records":   records,
		"PutRecord": s.PutRecord(ctx, ref.Digest, []byte("record"), nil),
		"Missing":   missing,
		"Blob":      blob,
		"PutBlob":   s.PutBlob(ctx, ref, strings.NewReader(strings.Repeat("x", int(ref.Size)))),
	}
}

// testNames returns names of records that the test alone uses.
func testNames(t *testing.T, n int) []state.Digest {
	names := make([]state.Digest, n)
	for i := range names {
		names[i] = state.DigestOf(fmt.Appendf(nil, "%s %d", t.Name(), i))
	}
	return names
}

// testContent returns bytes that the test alone uses, and that cannot be compressed.
func testContent(t *testing.T, what string, size int) []byte {
	content := make([]byte, size)
	rand.NewChaCha8(sha256.Sum256([]byte(t.Name() + what))).Read(content) // it does not fail
	return content
}

func refOf(content []byte) state.BlobRef {
	sum := sha256.Sum256(content)
	return state.BlobRef{Digest: state.Digest(hex.EncodeToString(sum[:])), Size: int64(len(content))}
}

func putBlob(t *testing.T, s Store, content []byte) {
	t.Helper()
	if err := s.PutBlob(await.Context(t), refOf(content), bytes.NewReader(content)); err != nil {
		t.Fatal(err)
	}
}

func putRecord(t *testing.T, s Store, name state.Digest, record []byte, refs ...state.BlobRef) {
	t.Helper()
	if err := s.PutRecord(await.Context(t), name, record, refs); err != nil {
		t.Fatal(err)
	}
}

func oneRecord(t *testing.T, s Store, name state.Digest) []byte {
	t.Helper()
	got, err := s.Records(await.Context(t), []state.Digest{name})
	if err != nil || len(got) != 1 {
		t.Fatalf("%d records, %v", len(got), err)
	}
	return got[0]
}

func wantMissing(t *testing.T, s Store, refs []state.BlobRef, want ...state.BlobRef) {
	t.Helper()
	if got, err := s.Missing(await.Context(t), refs); err != nil || !slices.Equal(got, want) {
		t.Errorf("missing: %v, %v, want %v", got, err, want)
	}
}

// partsReader remembers the largest part that was read.
type partsReader struct {
	r       io.Reader
	largest int
}

func (p *partsReader) Read(part []byte) (int, error) {
	n, err := p.r.Read(part)
	p.largest = max(p.largest, n)
	return n, err
}

// partsWriter remembers what was written, and its largest part.
type partsWriter struct {
	content bytes.Buffer
	largest int
}

func (p *partsWriter) Write(part []byte) (int, error) {
	p.largest = max(p.largest, len(part))
	return p.content.Write(part)
}

// eventReader calls a function where another reader would end.
type eventReader func()

func (e eventReader) Read([]byte) (int, error) { e(); return 0, io.EOF }

// eventWriter calls a function at each part.
type eventWriter func()

func (e eventWriter) Write(part []byte) (int, error) { e(); return len(part), nil }
