package state

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/xstate-engine/xstate/state/output"
)

func TestOutputsAreReadAgainWhenTheirFileChanged(t *testing.T) {
	s := checkedOpen(t, storeDir(t), Options{})
	var text strings.Builder
	for n := range 200_000 { // more than fits inline
		text.WriteByte(byte('a' + n*n%23))
	}
	want := []output.Output{{Kind: "display", Data: map[string]string{"image/png": text.String()}}}
	digest, err := s.PutOutputs(want)
	if err != nil {
		t.Fatal(err)
	}
	trace := &Trace{Outputs: digest}
	for range 2 {
		got, ok, err := s.Outputs(trace)
		if err != nil || !ok || !cmp.Equal(got, want) {
			t.Fatalf("Outputs = %d outputs, %v, %v", len(got), ok, err)
		}
		got[0] = output.Output{} // the next caller does not see that
	}
	path, info := s.blobs.file(digest)
	if info == nil {
		t.Fatal("the outputs have no file of their own")
	}
	if err := os.WriteFile(path, []byte("damaged"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, ok, err := s.Outputs(trace); ok || err != nil {
		t.Errorf("Outputs of a damaged file = %v, %v", ok, err)
	}
}
