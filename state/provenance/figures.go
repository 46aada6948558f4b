package provenance

import (
	"bytes"
	"encoding/base64"
	"encoding/xml"
	"fmt"
	"io"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/output"
)

// Figure is a picture that a block put out.
type Figure struct {
	Name  string // a file name: the block, its number among the block's figures, and an ending
	Media string // such as image/png
	Data  []byte
}

// imageEndings are the media types of pictures, with the endings of their files.
var imageEndings = map[string]string{
	"image/png": ".png", "image/jpeg": ".jpg", "image/gif": ".gif", "image/webp": ".webp", "image/svg+xml": ".svg",
}

// Figures returns the pictures that a block put out, in order.
func Figures(block state.BlockID, outputs []output.Output) []Figure {
	var list []Figure
	for _, o := range outputs {
		if f, ok := figureOf(o); ok {
			f.Name = fmt.Sprintf("%s-%d%s", fileName(string(block)), len(list)+1, f.Name)
			list = append(list, f)
		}
	}
	return list
}

// figureOf returns the picture of an output, named by its ending only. If there are several, it is the first by media
// type, which prefers pixels to SVG: an SVG may need fonts.
func figureOf(o output.Output) (Figure, bool) {
	for _, media := range slices.Sorted(maps.Keys(o.Data)) {
		ending, ok := imageEndings[media]
		if !ok {
			continue
		}
		if media == "image/svg+xml" {
			return Figure{ending, media, []byte(o.Data[media])}, true
		}
		if data, err := base64.StdEncoding.DecodeString(strings.TrimSpace(o.Data[media])); err == nil {
			return Figure{ending, media, data}, true
		}
	}
	return Figure{}, false
}

var notInFileNames = regexp.MustCompile(`[^A-Za-z0-9._-]+`)

// fileName is a name without characters that mean something to a file system or in a link.
func fileName(name string) string {
	return strings.TrimLeft(notInFileNames.ReplaceAllString(name, "-"), ".-")
}

// URL returns the picture as part of a page (RFC 2397).
func (f Figure) URL() string {
	return "data:" + f.Media + ";base64," + base64.StdEncoding.EncodeToString(f.Data)
}

// mediaOf returns the media type of a picture by its name, or "".
func mediaOf(name string) string {
	ending := strings.Replace(strings.ToLower(path.Ext(name)), ".jpeg", ".jpg", 1)
	for media, e := range imageEndings {
		if e == ending {
			return media
		}
	}
	return ""
}

// isPicture reports whether a content is of the type that its name claims. A file that a text names as a picture may be
// anything else, and the document is for others.
func isPicture(media string, data []byte) bool {
	begins := func(text string) bool { return bytes.HasPrefix(data, []byte(text)) }
	switch media {
	case "image/png":
		return begins("\x89PNG\r\n\x1a\n")
	case "image/jpeg":
		return begins("\xff\xd8\xff")
	case "image/gif":
		return begins("GIF87a") || begins("GIF89a")
	case "image/webp":
		return begins("RIFF") && len(data) >= 12 && string(data[8:12]) == "WEBP"
	case "image/svg+xml":
		return isSVG(data)
	}
	return false
}

// isSVG reports whether a text is XML whose outermost element is svg.
func isSVG(data []byte) bool {
	d := xml.NewDecoder(bytes.NewReader(data))
	d.CharsetReader = func(_ string, r io.Reader) (io.Reader, error) { return r, nil }
	outermost := false
	for {
		token, err := d.Token()
		if err != nil {
			return err == io.EOF && outermost
		}
		if e, ok := token.(xml.StartElement); ok && !outermost {
			if outermost = e.Name.Local == "svg"; !outermost {
				return false
			}
		}
	}
}
