package kernel

import (
	"bytes"
	"encoding/json"
	"testing"
)

func TestFrameRoundTrip(t *testing.T) {
	for _, body := range [][]byte{nil, []byte("x"), bytes.Repeat([]byte{0xff}, 1<<16)} {
		var wire bytes.Buffer
		if err := writeFrame(&wire, map[string]string{"op": "é"}, body); err != nil {
			t.Fatal(err)
		}
		header, got, err := readFrame(&wire)
		if err != nil {
			t.Fatalf("readFrame of %d bytes: %v", len(body), err)
		}
		var fields map[string]string
		if err := json.Unmarshal(header, &fields); err != nil || fields["op"] != "é" || !bytes.Equal(got, body) {
			t.Errorf("readFrame = %s, %d bytes, %v; want op é, %d bytes", header, len(got), err, len(body))
		}
	}
}

// FuzzReadFrame: whatever a broken kernel sends is an error or a frame, and claims of size are not believed.
func FuzzReadFrame(f *testing.F) {
	f.Add([]byte("Traceback (most recent call last):\n  File"))
	f.Add([]byte{0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 1, '{', '}', 'x'})
	f.Fuzz(func(t *testing.T, data []byte) {
		header, body, err := readFrame(bytes.NewReader(data))
		if err == nil && len(header)+len(body)+12 > len(data) {
			t.Errorf("readFrame(%q) made %d bytes of %d", data, len(header)+len(body), len(data))
		}
	})
}
