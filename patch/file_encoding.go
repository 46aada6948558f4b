package patch

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/xstate-engine/xstate/patch/syntax"
)

const hintUTF8 = "save the file as UTF-8"

// checkText refuses data that is not UTF-8 text.
func checkText(data []byte) *ParseError {
	switch {
	case bytes.HasPrefix(data, []byte("\xff\xfe")), bytes.HasPrefix(data, []byte("\xfe\xff")):
		return &ParseError{Code: CodeEncoding, Message: "the file is UTF-16", Hint: hintUTF8}
	case bytes.IndexByte(data, 0) >= 0:
		return binary(data)
	case !utf8.Valid(data):
		return invalidUTF8(data)
	case len(bytes.TrimSpace(bytes.TrimPrefix(data, []byte(syntax.BOM)))) == 0:
		return empty("the file is empty")
	}
	return nil
}

func binary(data []byte) *ParseError {
	at := bytes.IndexByte(data, 0)
	return &ParseError{
		Code:    CodeBinary,
		Message: fmt.Sprintf("the file is binary: byte %d is NUL", at),
		Hint:    "give the source, not a compiled or packed file",
		Line:    lineOf(data, at),
	}
}

func invalidUTF8(data []byte) *ParseError {
	at := 0
	for at < len(data) {
		r, n := utf8.DecodeRune(data[at:])
		if r == utf8.RuneError && n == 1 {
			break
		}
		at += n
	}
	e := &ParseError{
		Code:    CodeEncoding,
		Message: fmt.Sprintf("the file is not UTF-8: byte %d is 0x%02x", at, data[at]),
		Hint:    hintUTF8,
		Line:    lineOf(data, at),
	}
	if c, _ := cookie(data); c != "" && !isUTF8(c) {
		e.Message += fmt.Sprintf(", and the file declares %q", c)
	}
	return e
}

// lineOf returns the 1-based line of an offset.
func lineOf(data []byte, at int) int { return 1 + bytes.Count(data[:at], []byte("\n")) }

// columnOf returns the 1-based column of an offset, in runes.
func columnOf(data []byte, at int) int {
	start := bytes.LastIndexByte(data[:at], '\n') + 1
	return 1 + utf8.RuneCount(data[start:at])
}

// declared matches the declaration of an encoding (PEP 263).
var declared = regexp.MustCompile(`^[ \t\f]*#.*?coding[:=][ \t]*([-_.a-zA-Z0-9]+)`)

// cookie returns the encoding that a Python file declares in its first two lines, and the 1-based line. The encoding is
// "" if there is none.
func cookie(data []byte) (string, int) {
	rest := bytes.TrimPrefix(data, []byte(syntax.BOM))
	for n := 1; n <= 2; n++ {
		end := bytes.IndexAny(rest, "\r\n")
		if end < 0 {
			end = len(rest)
		}
		line := rest[:end]
		if m := declared.FindSubmatch(line); m != nil {
			return string(m[1]), n
		}
		if l := bytes.TrimLeft(line, " \t\f"); len(l) > 0 && l[0] != '#' {
			return "", 0
		}
		rest = bytes.TrimPrefix(bytes.TrimPrefix(rest[end:], []byte("\r")), []byte("\n"))
	}
	return "", 0
}

// checkCookie refuses a Python file if its declared encoding reads its bytes differently from UTF-8.
func checkCookie(data []byte) *ParseError {
	name, line := cookie(data)
	if name == "" || isUTF8(name) || isASCII(data) && extendsASCII(name) {
		return nil
	}
	return &ParseError{
		Code:    CodeEncoding,
		Message: fmt.Sprintf("the file declares the encoding %q, but xstate reads UTF-8", name),
		Hint:    hintUTF8 + " and remove the declaration",
		Line:    line,
	}
}

func normalEncoding(name string) string {
	return strings.NewReplacer("_", "-", ".", "-").Replace(strings.ToLower(name))
}

func isUTF8(name string) bool {
	switch normalEncoding(name) {
	case "utf-8", "utf8", "u8", "utf", "utf8-ucs2", "utf8-ucs4", "cp65001", "utf-8-sig":
		return true
	}
	// editors add -unix, -dos, -mac, and Python reads those as UTF-8
	return strings.HasPrefix(normalEncoding(name), "utf-8-")
}

// extendsASCII reports whether an encoding reads ASCII bytes as UTF-8 does.
func extendsASCII(name string) bool {
	n := normalEncoding(name)
	for _, family := range []string{"latin", "iso-8859", "iso8859", "cp125", "windows-125", "koi8", "mac-", "euc"} {
		if strings.HasPrefix(n, family) {
			return true
		}
	}
	return n == "ascii" || n == "us-ascii" || n == "l1" || n == "646"
}

func isASCII(data []byte) bool {
	for _, c := range data {
		if c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
