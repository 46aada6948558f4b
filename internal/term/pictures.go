package term

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"image"
	"image/color/palette"
	"image/draw"
	_ "image/gif" // for image.Decode
	_ "image/jpeg"
	"image/png"
	"slices"
	"strings"

	"github.com/xstate-engine/xstate/state/output"
	"github.com/xstate-engine/xstate/state/provenance"
)

// Picture returns what draws a picture on the terminal, in one line; "" if the terminal cannot show it.
func (u *UI) Picture(o output.Output) string {
	figures := provenance.Figures("", []output.Output{o})
	if u.Pictures == NoPictures || len(figures) == 0 {
		return ""
	}
	f := figures[0]
	switch {
	case u.Pictures == itermPictures && f.Media != "image/svg+xml":
		text := base64.StdEncoding.EncodeToString(f.Data)
		return fmt.Sprintf("\x1b]1337;File=inline=1;size=%d:%s\a", len(f.Data), text)
	case u.Pictures == kittyPictures && f.Media == "image/png":
		return kitty(f.Data)
	}
	pixels, _, err := image.Decode(bytes.NewReader(f.Data))
	if err != nil {
		return ""
	}
	if u.Pictures == kittyPictures {
		var out bytes.Buffer
		if png.Encode(&out, pixels) != nil {
			return ""
		}
		return kitty(out.Bytes())
	}
	return sixel(pixels)
}

// kitty returns a PNG file for Kitty, which takes at most 4096 characters at a time. The terminal does not answer
// (q=2).
func kitty(data []byte) string {
	text := []byte(base64.StdEncoding.EncodeToString(data))
	var out strings.Builder
	control := "a=T,f=100,q=2,"
	for chunk := range slices.Chunk(text, 4096) {
		text = text[len(chunk):]
		more := 0
		if len(text) > 0 {
			more = 1
		}
		fmt.Fprintf(&out, "\x1b_G%sm=%d;%s\x1b\\", control, more, chunk)
		control = ""
	}
	return out.String()
}

// sixel returns a picture in bands of six lines. A character encodes the dots of one colour in a column of a band.
func sixel(from image.Image) string {
	size := from.Bounds().Size()
	if size.X == 0 || size.Y == 0 {
		return ""
	}
	pixels := image.NewPaletted(image.Rect(0, 0, size.X, size.Y), palette.Plan9)
	flat := image.NewRGBA(pixels.Rect)
	draw.Draw(flat, flat.Rect, image.White, image.Point{}, draw.Src)
	draw.Draw(flat, flat.Rect, from, from.Bounds().Min, draw.Over)
	draw.FloydSteinberg.Draw(pixels, pixels.Rect, flat, image.Point{})
	var out strings.Builder
	fmt.Fprintf(&out, "\x1bPq\"1;1;%d;%d", size.X, size.Y)
	for i, c := range pixels.Palette {
		r, g, b, _ := c.RGBA()
		fmt.Fprintf(&out, "#%d;2;%d;%d;%d", i, r*100/0xffff, g*100/0xffff, b*100/0xffff)
	}
	for y := 0; y < size.Y; y += 6 {
		band := map[uint8][]byte{}
		for row := y; row < min(y+6, size.Y); row++ {
			for x, c := range pixels.Pix[row*pixels.Stride : row*pixels.Stride+size.X] {
				if band[c] == nil {
					band[c] = make([]byte, size.X)
				}
				band[c][x] |= 1 << (row - y)
			}
		}
		for c := range len(pixels.Palette) {
			if dots := band[uint8(c)]; dots != nil {
				fmt.Fprintf(&out, "#%d", c)
				sixelRow(&out, dots)
				out.WriteByte('$')
			}
		}
		out.WriteByte('-')
	}
	return out.String() + "\x1b\\"
}

// sixelRow writes the columns of a band, with a count before a character that repeats.
func sixelRow(out *strings.Builder, dots []byte) {
	for len(dots) > 0 {
		n := 1
		for n < len(dots) && dots[n] == dots[0] {
			n++
		}
		if n > 3 {
			fmt.Fprintf(out, "!%d%c", n, '?'+dots[0])
		} else {
			out.WriteString(strings.Repeat(string(rune('?'+dots[0])), n))
		}
		dots = dots[n:]
	}
}
