package remote

import (
	"bytes"
	"context"
	"errors"
	"os"
	"testing"

	"github.com/xstate-engine/xstate/internal/xstatetest/await"
	"github.com/xstate-engine/xstate/internal/xstatetest/gateway"
	"github.com/xstate-engine/xstate/state"
)

// bucketAs opens the bucket of a gateway with a password.
func bucketAs(t *testing.T, g *gateway.Gateway, password string) Store {
	t.Helper()
	s, err := openBucket(g.Address(), func(name string) string {
		return map[string]string{"AWS_ACCESS_KEY_ID": gateway.User, "AWS_SECRET_ACCESS_KEY": password}[name]
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeStore(t, s) })
	return s
}

func openTestedBucket(t *testing.T) testedStore {
	g := gateway.Start(t)
	return testedStore{bucketAs(t, g, gateway.Password), func(t *testing.T, ref state.BlobRef) {
		g.Lose(t, blobObjects, string(ref.Digest))
	}}
}

// TestBucketPoisoned: who may write to a bucket may put another content in the place of a blob. A cache does not take
// it.
func TestBucketPoisoned(t *testing.T) {
	g := gateway.Start(t)
	s := bucketAs(t, g, gateway.Password)
	content := testContent(t, "", 100)
	putBlob(t, s, content)
	object := g.File(blobObjects, string(refOf(content).Digest))
	if err := os.WriteFile(object, testContent(t, "other", 100), 0o600); err != nil {
		t.Fatal(err)
	}
	local, err := state.Open(t.Context(), t.TempDir(), state.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer local.Close()
	cache := New(Options{Store: s, Address: g.Address(), Local: local})
	if cache.Fetch(await.Context(t), []state.BlobRef{refOf(content)}) || local.HasBlob(refOf(content).Digest) {
		t.Error("the content was taken over")
	}
}

// TestBucketRefuses: a server that does not know the user is an error for who reads, and takes nothing.
func TestBucketRefuses(t *testing.T) {
	g := gateway.Start(t)
	s := bucketAs(t, g, "wrong")
	content := testContent(t, "", 100)
	if err := s.PutBlob(await.Context(t), refOf(content), bytes.NewReader(content)); !errors.Is(err, ErrReadOnly) {
		t.Errorf("PutBlob: %v, want %v", err, ErrReadOnly)
	}
	if _, err := s.Records(await.Context(t), testNames(t, 1)); err == nil || errors.Is(err, ErrReadOnly) {
		t.Errorf("Records: %v, want an error", err)
	}
}

// TestBucketGone: each call to a server that is gone ends with an error that names it.
func TestBucketGone(t *testing.T) {
	g := gateway.Start(t)
	s := bucketAs(t, g, gateway.Password)
	content := testContent(t, "", 100)
	putBlob(t, s, content)
	g.Kill(t)
	for call, err := range allCalls(await.Context(t), s, refOf(content)) {
		t.Run(call, func(t *testing.T) {
			if err == nil || errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("error %v, want one of the connection", err)
			}
		})
	}
}

func TestParseBucket(t *testing.T) {
	for address, want := range map[string]bucketAddress{
		"s3://results":                {name: "results"},
		"s3://results/team/main/":     {name: "results", prefix: "team/main"},
		"s3://r?endpoint=http://h:90": {name: "r", endpoint: "http://h:90"},
		"s3://r/p?region=eu-west-1":   {name: "r", prefix: "p", region: "eu-west-1"},
	} {
		if got, err := parseBucket(address); got != want || err != nil {
			t.Errorf("parseBucket(%q) = %+v, %v; want %+v", address, got, err, want)
		}
	}
	for _, address := range []string{"s3://", "s3://user:password@b", "s3://b:80/p", "s3://b?key=x", "s3://b#x"} {
		if got, err := parseBucket(address); err == nil {
			t.Errorf("parseBucket(%q) = %+v, want an error", address, got)
		}
	}
}
