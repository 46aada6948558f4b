package term

import (
	"bytes"
	"encoding/base64"
	"image"
	"image/color"
	"image/png"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/xstate-engine/xstate/state/output"
)

func TestProtocolOf(t *testing.T) {
	for _, c := range []struct {
		env  map[string]string
		want pictureProtocol
	}{
		{map[string]string{"TERM": "xterm-256color"}, NoPictures},
		{map[string]string{"TERM": "xterm-kitty"}, kittyPictures},
		{map[string]string{"TERM": "xterm-256color", "TERM_PROGRAM": "iTerm.app"}, itermPictures},
		{map[string]string{"TERM": "xterm-256color", "TERM_PROGRAM": "WezTerm"}, itermPictures},
		{map[string]string{"TERM": "foot"}, sixelPictures},
		{map[string]string{"TERM": "screen-256color", "KITTY_WINDOW_ID": "1"}, NoPictures},
		{map[string]string{"TERM": "xterm-kitty", "TMUX": "x"}, NoPictures},
		{map[string]string{"TERM": "dumb", "TERM_PROGRAM": "WezTerm"}, NoPictures},
	} {
		if got := protocolOf(func(name string) string { return c.env[name] }); got != c.want {
			t.Errorf("protocolOf(%v) = %d, want %d", c.env, got, c.want)
		}
	}
}

// drawing is a picture of 90 by 70 dots with three colours and noise, so that its file takes several chunks.
func drawing(t *testing.T) (image.Image, output.Output) {
	t.Helper()
	pixels := image.NewRGBA(image.Rect(0, 0, 90, 70))
	for y := range 70 {
		for x := range 90 {
			pixels.Set(x, y, color.RGBA{uint8(x * y), uint8(x * x * y), uint8(x ^ y), 255})
		}
	}
	var out bytes.Buffer
	if err := png.Encode(&out, pixels); err != nil {
		t.Fatal(err)
	}
	return pixels, output.Output{Kind: "display", Data: map[string]string{
		"text/plain": "<Figure>", "image/png": base64.StdEncoding.EncodeToString(out.Bytes())}}
}

// TestPictures: what goes to the terminal decodes to the picture, and takes one line.
func TestPictures(t *testing.T) {
	pixels, o := drawing(t)
	chunk := regexp.MustCompile("\x1b_G([^;]*);([^\x1b]*)\x1b\\\\")
	u := &UI{Pictures: kittyPictures, OutTerminal: true}
	var text strings.Builder
	chunks := chunk.FindAllStringSubmatch(u.Picture(o), -1)
	for i, m := range chunks {
		if last := i == len(chunks)-1; len(m[2]) > 4096 || strings.Contains(m[1], "m=0") != last {
			t.Errorf("chunk %d of %d has %q and %d characters", i, len(chunks), m[1], len(m[2]))
		}
		text.WriteString(m[2])
	}
	if len(chunks) < 2 || text.String() != o.Data["image/png"] {
		t.Errorf("%d chunks hold %d characters, want several with %d", len(chunks), text.Len(),
			len(o.Data["image/png"]))
	}
	u.Pictures = itermPictures
	if got := u.Picture(o); !strings.HasPrefix(got, "\x1b]1337;File=inline=1;size=") ||
		!strings.HasSuffix(got, ":"+o.Data["image/png"]+"\a") {
		t.Errorf("picture for iTerm2 = %.60q…", got)
	}
	u.Pictures = sixelPictures
	got := u.Picture(o)
	if columns := sixelColumns(t, got); len(columns) != 12 || columns[0] != pixels.Bounds().Dx() {
		t.Errorf("bands of a Sixel picture have %v columns, want 12 of 90", columns)
	}
	for _, p := range []pictureProtocol{kittyPictures, itermPictures, sixelPictures} {
		if u.Pictures = p; strings.Contains(u.Picture(o), "\n") {
			t.Errorf("protocol %d takes more than one line", p)
		}
		if got := u.Picture(output.Output{Kind: "stdout", Text: "x"}); got != "" {
			t.Errorf("a text is drawn: %q", got)
		}
		if got := u.Picture(output.Output{Data: map[string]string{"image/svg+xml": "<svg/>"}}); got != "" {
			t.Errorf("an SVG is drawn: %q", got)
		}
	}
}

// sixelColumns returns the number of columns of the first colour of each band.
func sixelColumns(t *testing.T, text string) (columns []int) {
	t.Helper()
	body := text[strings.LastIndex(text, ";")+1:]
	body = strings.TrimSuffix(body[strings.IndexByte(body, '#'):], "\x1b\\")
	run := regexp.MustCompile(`!(\d+)[?-~]|[?-~]`)
	for band := range strings.SplitSeq(strings.TrimSuffix(body, "-"), "-") {
		first, _, _ := strings.Cut(band, "$")
		n := 0
		for _, m := range run.FindAllStringSubmatch(first, -1) {
			count := 1
			if m[1] != "" {
				count, _ = strconv.Atoi(m[1])
			}
			n += count
		}
		columns = append(columns, n)
	}
	return columns
}
