package secret

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf16"
)

// LeastLength is the length of the shortest value that can be kept out, in bytes: a shorter one may be a part of
// anything.
const LeastLength = 8

// forms are the ways in which programs write a value, the value itself first.
func forms(value string) []string {
	var all []string
	for _, v := range []string{value, strings.TrimSpace(value)} {
		all = append(all, v, hex.EncodeToString([]byte(v)), strings.ToUpper(hex.EncodeToString([]byte(v))))
		all = append(all, inBase64(v)...)
		for _, quoted := range []string{
			url.QueryEscape(v), url.PathEscape(v), percent(v, "-._~"), percent(v, "-._~/"), percent(v, ""),
		} {
			all = append(all, quoted, lowerPercent(quoted))
		}
		all = append(all, jsonForms(v)...)
		all = append(all, pythonForms(v)...)
	}
	kept := all[:0]
	for _, f := range all {
		if len(f) >= LeastLength {
			kept = append(kept, f)
		}
	}
	return kept
}

// inBase64 are the characters that encode a value wherever a longer text has it: at each of three places in a
// three-byte group. The characters that also depend on the neighbours are left out.
func inBase64(value string) (all []string) {
	for shift := range 3 {
		padded := append(make([]byte, shift), value...)
		from, upto := (shift*8+5)/6, len(padded)*8/6
		for _, e := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			if text := e.EncodeToString(padded); upto-from >= LeastLength {
				all = append(all, text[from:upto])
			}
		}
	}
	return all
}

// percent is a value in percent-encoding, with letters, digits and some other characters left as they are.
func percent(value, plain string) string {
	var b strings.Builder
	for _, c := range []byte(value) {
		if c < 0x80 && (strings.IndexByte(plain, c) >= 0 || c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' &&
			c <= 'z') {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

// lowerPercent has the digits of percent-encoding in lower case.
func lowerPercent(text string) string {
	b := []byte(text)
	for i := 0; i+2 < len(b); i++ {
		if b[i] == '%' {
			copy(b[i:], strings.ToLower(string(b[i:i+3])))
			i += 2
		}
	}
	return string(b)
}

// jsonForms are a value in JSON: as Go and JavaScript write it, for HTML, and in ASCII alone.
func jsonForms(value string) (all []string) {
	var plain strings.Builder
	e := json.NewEncoder(&plain)
	e.SetEscapeHTML(false)
	_ = e.Encode(value) // a string can be encoded
	html, _ := json.Marshal(value)
	inner := func(text string) string { return strings.Trim(strings.TrimSpace(text), `"`) }
	text := inner(plain.String())
	all = append(all, text, inner(string(html)), strings.ReplaceAll(text, "/", `\/`))
	var ascii strings.Builder
	for _, r := range text {
		if r < 0x80 {
			ascii.WriteRune(r)
			continue
		}
		for _, unit := range utf16.Encode([]rune{r}) {
			fmt.Fprintf(&ascii, `\u%04x`, unit)
		}
	}
	return append(all, ascii.String())
}

// pythonForms are a value between quotes in Python, as text and as bytes.
func pythonForms(value string) []string {
	text := strings.ReplaceAll(value, `\`, `\\`)
	for _, r := range []string{"\n\\n", "\r\\r", "\t\\t"} {
		text = strings.ReplaceAll(text, r[:1], r[1:])
	}
	var bytes strings.Builder
	for _, c := range []byte(text) {
		if c >= 0x20 && c < 0x7f {
			bytes.WriteByte(c)
		} else {
			bytes.WriteString(`\x` + strconv.FormatInt(int64(c)+0x100, 16)[1:])
		}
	}
	return []string{text, strings.ReplaceAll(text, `'`, `\'`), bytes.String(), strings.ReplaceAll(bytes.String(), `'`,
		`\'`)}
}

// wideForms are a value in the encodings with two and four bytes a character: numpy keeps texts like that.
func wideForms(value string) [][]byte {
	var two, four []byte
	for _, unit := range utf16.Encode([]rune(value)) {
		two = binary.LittleEndian.AppendUint16(two, unit)
	}
	for _, r := range value {
		four = binary.LittleEndian.AppendUint32(four, uint32(r))
	}
	return [][]byte{two, four}
}
