package remote

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"

	"github.com/xstate-engine/xstate/internal/xstatetest/await"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/keys"
)

// refCases are what refs do in every store.
var refCases = []struct {
	name  string
	check func(t *testing.T, s testedStore)
}{
	{"numbers", checkRefNumbers},
	{"many", checkManyRefs},
	{"other keys", checkRefKeys},
	{"divergence", checkDivergence},
	{"an archive that is lost", checkLostArchive},
	{"at once", checkRefsAtOnce},
	{"between a look and a push", checkOvertaken},
}

func TestRefs(t *testing.T) {
	for name, open := range map[string]func(t *testing.T) testedStore{
		"folder":       openTestedFolder,
		"bazel-remote": openTestedServer,
		"bucket":       openTestedBucket,
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t)
			for _, c := range refCases {
				t.Run(c.name, func(t *testing.T) { c.check(t, s) })
			}
		})
	}
}

func testKey(seed byte) ed25519.PrivateKey {
	return ed25519.NewKeyFromSeed(bytes.Repeat([]byte{seed}, ed25519.SeedSize))
}

func testKeyID(seed byte) string { return keys.ID(testKey(seed).Public().(ed25519.PublicKey)) }

// testRefs are the refs as the user with a key sees them, who trusts others.
func testRefs(s Store, seed byte, others ...byte) *Refs {
	var trusted []ed25519.PublicKey
	for _, other := range others {
		trusted = append(trusted, testKey(other).Public().(ed25519.PublicKey))
	}
	return newRefs(s, "test", testKey(seed), trusted)
}

// testRef is a ref of the session that the test alone uses, with its archive.
func testRef(t *testing.T, head state.StepNumber, branch string) (*Ref, []byte) {
	content := testContent(t, fmt.Sprint("archive ", head, branch), 2000)
	hash := state.DigestOf(fmt.Appendf(nil, "%d%s", head, branch))
	return &Ref{Session: t.Name(), Head: head, Hash: hash, Archive: refOf(content), Time: 1}, content
}

// always lets a push follow any.
func always(*Ref) (bool, error) { return true, nil }

func pushRef(t *testing.T, r *Refs, head state.StepNumber, branch string, want int) *Ref {
	t.Helper()
	ref, content := testRef(t, head, branch)
	number, err := r.Push(await.Context(t), ref, bytes.NewReader(content), always)
	if err != nil || number != want {
		t.Fatalf("push of step %d: number %d, %v, want number %d", head, number, err, want)
	}
	return ref
}

func lastRef(t *testing.T, r *Refs) *Last {
	t.Helper()
	last, err := r.Last(await.Context(t), t.Name())
	if err != nil {
		t.Fatal(err)
	}
	return last
}

func wantCode(t *testing.T, err error, code state.Code) {
	t.Helper()
	if state.CodeOf(err) != code {
		t.Errorf("error %v, want %s", err, code)
	}
}

func checkRefNumbers(t *testing.T, s testedStore) {
	ann := testRefs(s, 1)
	if last := lastRef(t, ann); last.Ref != nil || last.Taken != 0 {
		t.Errorf("before the first push: %+v", last)
	}
	pushRef(t, ann, 3, "", 1)
	want := pushRef(t, ann, 5, "", 2)
	last := lastRef(t, testRefs(s, 2, 1))
	if d := cmp.Diff(&Last{Ref: &Found[Ref]{*want, testKeyID(1)}, Number: 2, Taken: 2}, last); d != "" {
		t.Errorf("the last ref (-want +got):\n%s", d)
	}
	var got bytes.Buffer
	if err := ann.Fetch(await.Context(t), want, &got); err != nil || refOf(got.Bytes()) != want.Archive {
		t.Errorf("the archive: %d bytes, %v", got.Len(), err)
	}
	none := newRefs(s, "test", nil, nil)
	_, err := none.Push(await.Context(t), want, &bytes.Reader{}, always)
	wantCode(t, err, CodeReadOnly)
}

// checkManyRefs puts more refs than are asked for at once. A record that was lost hides none of the others.
func checkManyRefs(t *testing.T, s testedStore) {
	ann := testRefs(s, 1)
	const many, lost = 3*firstRefs + 2, 7
	writers, ctx := errgroup.WithContext(await.Context(t))
	for number := 1; number <= many; number++ {
		if number == lost {
			continue
		}
		ref, _ := testRef(t, state.StepNumber(number), "")
		writers.Go(func() error {
			taken, err := ann.take(ctx, number, ref)
			if err == nil && !taken {
				err = fmt.Errorf("number %d is taken", number)
			}
			return err
		})
	}
	if err := writers.Wait(); err != nil {
		t.Fatal(err)
	}
	if last := lastRef(t, ann); last.Number != many || last.Ref.Record.Head != many {
		t.Errorf("the last number is %d, want %d", last.Number, many)
	}
	pushRef(t, ann, many+1, "", many+1)
}

// checkRefKeys: what a key signed that is not trusted is none, and takes its number all the same. So does a record that
// was put in another's place.
func checkRefKeys(t *testing.T, s testedStore) {
	ann, ben, eve := testRefs(s, 1), testRefs(s, 2, 1), testRefs(s, 3)
	first := pushRef(t, ann, 1, "", 1)
	pushRef(t, eve, 9, "eve", 2)
	moved := oneRecord(t, s, refName(t.Name(), 1))
	putRecord(t, s, refName(t.Name(), 3), moved)
	putRecord(t, s, refName(t.Name(), 4), []byte("short"))
	last := lastRef(t, ben)
	want := &Last{Ref: &Found[Ref]{*first, testKeyID(1)}, Number: 1, Taken: 4, Unknown: []string{testKeyID(3)}}
	if d := cmp.Diff(want, last); d != "" {
		t.Errorf("the last ref (-want +got):\n%s", d)
	}
	pushRef(t, ben, 2, "", 5)
	if last := lastRef(t, ann); last.Number != 1 || !slices.Contains(last.Unknown, testKeyID(2)) {
		t.Errorf("ann does not trust ben: %+v", last)
	}
}

func checkDivergence(t *testing.T, s testedStore) {
	ann, ben := testRefs(s, 1, 2), testRefs(s, 2, 1)
	first := pushRef(t, ann, 1, "", 1)
	failure := errors.New("the disk fails")
	for _, c := range []struct {
		follows Follows
		want    func(error) bool
	}{
		{func(r *Ref) (bool, error) { return r.Hash != first.Hash, nil },
			func(err error) bool { return state.CodeOf(err) == CodeDiverged }},
		{func(*Ref) (bool, error) { return false, failure },
			func(err error) bool { return errors.Is(err, failure) }},
	} {
		ref, content := testRef(t, 2, "ben")
		_, err := ben.Push(await.Context(t), ref, bytes.NewReader(content), c.follows)
		if !c.want(err) {
			t.Errorf("push: %v", err)
		}
		wantMissing(t, s, []state.BlobRef{ref.Archive}, ref.Archive)
	}
	if last := lastRef(t, ann); last.Taken != 1 {
		t.Errorf("after pushes that were refused number %d is taken", last.Taken)
	}
}

func checkLostArchive(t *testing.T, s testedStore) {
	ann := testRefs(s, 1)
	ref := pushRef(t, ann, 1, "", 1)
	s.lose(t, ref.Archive)
	if has, err := ann.Has(await.Context(t), ref.Archive); has || err != nil {
		t.Errorf("Has: %t, %v", has, err)
	}
	wantCode(t, ann.Fetch(await.Context(t), ref, io.Discard), CodeDamaged)
	if last := lastRef(t, ann); last.Ref == nil {
		t.Error("the ref of a lost archive is lost, too")
	}
	pushRef(t, ann, 1, "", 2)
	if err := ann.Fetch(await.Context(t), ref, io.Discard); err != nil {
		t.Error(err)
	}
}

// checkRefsAtOnce makes several users push at once, who follow each other. In a folder each push has a number. A server
// may overwrite one with another that was written in the same moment. The last ref is whole in both.
func checkRefsAtOnce(t *testing.T, s testedStore) {
	const users = 4
	pushes, ctx := errgroup.WithContext(await.Context(t))
	numbers := make([]int, users)
	for user := range users {
		ref, content := testRef(t, 1, fmt.Sprint("user ", user))
		r := testRefs(s, byte(user+1), 1, 2, 3, 4)
		pushes.Go(func() (err error) {
			numbers[user], err = r.Push(ctx, ref, bytes.NewReader(content), always)
			return err
		})
	}
	if err := pushes.Wait(); err != nil {
		t.Fatal(err)
	}
	last := lastRef(t, testRefs(s, 1, 2, 3, 4))
	if most := slices.Max(numbers); last.Number != most || last.Taken != most {
		t.Errorf("the last number is %d, and the pushes got %v", last.Number, numbers)
	}
	if err := testRefs(s, 1).Fetch(await.Context(t), &last.Ref.Record, io.Discard); err != nil {
		t.Error(err)
	}
	slices.Sort(numbers)
	if _, is := s.Store.(*folder); is && !slices.Equal(numbers, []int{1, 2, 3, 4}) {
		t.Errorf("numbers %v, want each once", numbers)
	}
}

// overtaken is a store in which another user takes the number of a record just before this one does.
type overtaken struct {
	Store
	before func()
}

func (o *overtaken) PutRecord(ctx context.Context, name state.Digest, record []byte, refs []state.BlobRef) error {
	if before := o.before; before != nil {
		o.before = nil
		before()
	}
	return o.Store.PutRecord(ctx, name, record, refs)
}

func checkOvertaken(t *testing.T, s testedStore) {
	ben := testRefs(s, 2, 1)
	race := &overtaken{Store: s}
	ann := testRefs(race, 1, 2)
	race.before = func() { pushRef(t, ben, 1, "ben", 1) }
	pushRef(t, ann, 2, "", 2)
	race.before = func() { pushRef(t, ben, 3, "ben", 3) }
	ref, content := testRef(t, 3, "ann")
	_, err := ann.Push(await.Context(t), ref, bytes.NewReader(content), func(r *Ref) (bool, error) {
		return r.Head < 3, nil
	})
	wantCode(t, err, CodeDiverged)
	if last := lastRef(t, ann); last.Number != 3 || last.Ref.Signer != testKeyID(2) {
		t.Errorf("the last ref has number %d and is signed by %s", last.Number, last.Ref.Signer)
	}
}

// TestDamagedArchive: an archive that is longer, shorter or other than its ref says is not taken, and no more of it is
// written than the ref says.
func TestDamagedArchive(t *testing.T) {
	at := t.TempDir()
	s := openFolder(at)
	t.Cleanup(func() { closeStore(t, s) })
	ann := testRefs(s, 1)
	ref := pushRef(t, ann, 1, "", 1)
	file := filepath.Join(at, blobFolder, string(ref.Archive.Digest[:2]), string(ref.Archive.Digest))
	for name, content := range map[string][]byte{
		"longer":  make([]byte, 1<<20),
		"shorter": make([]byte, 10),
		"other":   make([]byte, ref.Archive.Size),
		"empty":   {},
	} {
		t.Run(name, func(t *testing.T) {
			if err := os.WriteFile(file, content, 0o666); err != nil {
				t.Fatal(err)
			}
			var got bytes.Buffer
			wantCode(t, ann.Fetch(await.Context(t), ref, &got), CodeDamaged)
			if int64(got.Len()) > ref.Archive.Size {
				t.Errorf("%d bytes were written, want at most %d", got.Len(), ref.Archive.Size)
			}
		})
	}
}

// TestRefsOfBadStore: a store that fails, forgets, or has a record for every name ends no call in a loop.
func TestRefsOfBadStore(t *testing.T) {
	failure := errors.New("no route")
	ref, content := testRef(t, 1, "")
	for name, c := range map[string]struct {
		records func(names []state.Digest) ([][]byte, error)
		want    state.Code
	}{
		"fails":   {func([]state.Digest) ([][]byte, error) { return nil, failure }, CodeUnavailable},
		"too few": {func([]state.Digest) ([][]byte, error) { return nil, nil }, CodeUnavailable},
		"forgets": {func(names []state.Digest) ([][]byte, error) { return make([][]byte, len(names)), nil },
			CodeUnavailable},
		"has all": {func(names []state.Digest) ([][]byte, error) {
			return slices.Repeat([][]byte{make([]byte, sealedSize)}, len(names)), nil
		}, CodeUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			r := testRefs(&badRecords{testFolder(t), c.records}, 1)
			_, err := r.Push(await.Context(t), ref, bytes.NewReader(content), always)
			wantCode(t, err, c.want)
		})
	}
}

// badRecords is a store that answers with other records than it has.
type badRecords struct {
	Store
	records func(names []state.Digest) ([][]byte, error)
}

func (b *badRecords) Records(_ context.Context, names []state.Digest) ([][]byte, error) {
	return b.records(names)
}

// TestExact: what is written beyond the size, or fails, is reported.
func TestExact(t *testing.T) {
	content := []byte("content")
	sum := sha256.Sum256(content)
	ref := state.BlobRef{Digest: state.Digest(fmt.Sprintf("%x", sum)), Size: int64(len(content))}
	e := newExact(ref, io.Discard)
	for _, part := range [][]byte{content[:3], {}, content[3:]} {
		if e.whole() {
			t.Error("it is whole too early")
		}
		if _, err := e.Write(part); err != nil {
			t.Error(err)
		}
	}
	if !e.whole() || e.long {
		t.Errorf("whole: %t, long: %t", e.whole(), e.long)
	}
	if _, err := e.Write([]byte("x")); !errors.Is(err, errLong) || !e.long {
		t.Errorf("one byte more: %v", err)
	}
}
