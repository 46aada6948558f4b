package secret

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"strings"
	"testing"
)

const value = `s3cr/t+"v'al\ue~é`

func set() *Set { return New(map[string]string{"TOKEN": value}, []byte("key")) }

// TestScrub writes a value in the ways in which programs do, and finds nothing of it afterwards.
func TestScrub(t *testing.T) {
	quoted, err := json.Marshal("x" + value + "y")
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string]string{
		"plain": "Bearer " + value + "!",
		"twice": value + value,
		"json":  string(quoted),
		"ascii": `{"a": "s3cr/t+\"v'al\\ue~\u00e9"}`,
		"repr":  `'s3cr/t+"v\'al\\ue~é'`,
		"bytes": `b's3cr/t+"v\'al\\ue~\xc3\xa9'`,
		"query": "https://h/?t=" + url.QueryEscape(value) + "&u=1",
		"path":  "https://h/" + url.PathEscape(value),
		"quote": "s3cr/t%2B%22v%27al%5Cue~%C3%A9",
		"lower": "s3cr%2ft%2b%22v%27al%5cue~%c3%a9",
		"hex":   "733363722f742b2276",
	}
	for i := range 4 { // with a name before it, as in HTTP's basic authentication
		name := strings.Repeat("u", i)
		texts["base64 "+name] = base64.StdEncoding.EncodeToString([]byte(name + value + "tail"))
		texts["url "+name] = base64.RawURLEncoding.EncodeToString([]byte(name + value))
	}
	texts["hex"] = "73336372" + "2f742b22762761" + "6c5c75657ec3a9"
	for name, text := range texts {
		got := set().Scrub(text)
		if got == text || !strings.Contains(got, "«secret TOKEN»") {
			t.Errorf("%s: Scrub(%q) = %q, want a mask in it", name, text, got)
		}
		if !set().Has([]byte(text)) {
			t.Errorf("%s: Has(%q) = false", name, text)
		}
	}
	for _, text := range []string{"", "s3cr", "a text without it", value[:len(value)-3]} {
		if got := set().Scrub(text); got != text {
			t.Errorf("Scrub(%q) = %q, want it unchanged", text, got)
		}
	}
}

func TestHasFrom(t *testing.T) {
	for _, at := range []int{0, 1<<20 - 5, 1 << 20, 3 << 20} { // also across the parts that are read
		content := append(bytes.Repeat([]byte("x"), at), value...)
		if found, err := set().HasFrom(bytes.NewReader(content)); !found || err != nil {
			t.Errorf("HasFrom(value after %d bytes) = %v, %v, want true", at, found, err)
		}
		if found, err := set().HasFrom(bytes.NewReader(content[:at+3])); found || err != nil {
			t.Errorf("HasFrom(a part of it after %d bytes) = %v, %v, want false", at, found, err)
		}
	}
}

func TestWide(t *testing.T) {
	var wide []byte
	for _, r := range value {
		wide = append(wide, byte(r), byte(r>>8), 0, 0)
	}
	if !set().Has(wide) {
		t.Error("Has(UTF-32) = false")
	}
}

// TestHeld writes a value byte by byte, as a program may print it: what may be its beginning is held back.
func TestHeld(t *testing.T) {
	s, shown, rest := set(), "", ""
	for _, c := range []byte("a " + value + " b s3c c") {
		rest = s.Scrub(rest + string([]byte{c}))
		n := len(rest) - s.Held(rest)
		shown, rest = shown+rest[:n], rest[n:]
	}
	if got, want := shown+rest, "a «secret TOKEN» b s3c c"; got != want {
		t.Errorf("shown = %q, want %q", got, want)
	}
}

func TestDigest(t *testing.T) {
	mine, ok := set().Digest(value)
	other, _ := New(map[string]string{"TOKEN": value}, []byte("another key")).Digest(value)
	if !ok || mine == other {
		t.Errorf("Digest = %q under both keys, %v", mine, ok)
	}
	if _, ok := set().Digest("harmless"); ok {
		t.Error("Digest(harmless) = ok, want an ordinary hash for it")
	}
	if _, ok := (*Set)(nil).Digest(value); ok {
		t.Error("Digest of no set = ok")
	}
}

func TestScrubClipped(t *testing.T) {
	text := "'" + strings.Repeat("a", 9) + value[:7] + "..." + value[len(value)-9:] + strings.Repeat("b", 9) + "'"
	if got, want := set().ScrubClipped(text), "'aaaaaaaaa...bbbbbbbbb'"; got != want {
		t.Errorf("ScrubClipped(%q) = %q, want %q", text, got, want)
	}
}
