package web

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"
)

// ToolName is the name of the tool that requests call.
const ToolName = "http"

// Arguments are the arguments of a call, as the record has them.
type Arguments struct {
	Method  string              `json:"method"`
	URL     string              `json:"url"`
	Headers map[string][]string `json:"headers,omitempty"` // in lower case
	Body    *Body               `json:"body,omitempty"`
	// Identity digests the headers and parameters that say who asks; "": there are none.
	Identity string `json:"identity,omitempty"`
}

// Body is the body of a request or an answer, in the first of these forms that has all of it. Answers have no JSON:
// they are served byte for byte.
type Body struct {
	JSON   json.RawMessage `json:"json,omitempty"`
	Text   *string         `json:"text,omitempty"`
	Base64 []byte          `json:"base64,omitempty"`
}

// Bytes returns the body of an answer.
func (b *Body) Bytes() []byte {
	switch {
	case b == nil:
		return nil
	case b.Text != nil:
		return []byte(*b.Text)
	case b.JSON != nil:
		return b.JSON
	}
	return b.Base64
}

// bodyOf returns a body as the record has it; nil if it is empty.
func bodyOf(data []byte) *Body {
	if len(data) == 0 {
		return nil
	}
	if utf8.Valid(data) {
		text := string(data)
		return &Body{Text: &text}
	}
	return &Body{Base64: data}
}

// arguments returns what names a request with a body. key is the user's.
func arguments(r *http.Request, body []byte, key []byte) Arguments {
	a := Arguments{Method: r.Method, Headers: map[string][]string{}}
	var identity []string
	a.URL, identity = address(r.URL, key)
	for _, name := range slices.Sorted(maps.Keys(r.Header)) {
		values, low := r.Header[name], strings.ToLower(name)
		switch {
		case in(shown, low):
			a.Headers[low] = values
		case !in(varying, low):
			for _, v := range values {
				identity = append(identity, fmt.Sprintf("%q %q", low, lasting(low, v)))
			}
		}
	}
	if host := hostOf(r.URL); r.Host != "" && !strings.EqualFold(r.Host, host) &&
		!strings.EqualFold(r.Host, r.URL.Host) {
		a.Headers["host"] = []string{r.Host}
	}
	if len(identity) > 0 {
		a.Identity = keyed(key, "identity\n"+strings.Join(identity, "\n"))
	}
	a.Body = a.body(body)
	return a
}

// body returns the body of a request as it names the request: of JSON the value counts, and of a form not the boundary,
// which libraries draw.
func (a *Arguments) body(data []byte) *Body {
	text := strings.Join(a.Headers["content-type"], ",")
	kind, parameters, err := mime.ParseMediaType(text)
	if boundary := parameters["boundary"]; err == nil && boundary != "" {
		a.Headers["content-type"] = []string{strings.ReplaceAll(text, boundary, "boundary")}
		data = bytes.ReplaceAll(data, []byte(boundary), []byte("boundary"))
	}
	if kind == "application/json" || strings.HasSuffix(kind, "+json") {
		d := json.NewDecoder(bytes.NewReader(data))
		d.UseNumber()
		var v any
		if d.Decode(&v) == nil && !d.More() && utf8.Valid(data) {
			return &Body{JSON: data}
		}
	}
	return bodyOf(data)
}

// lasting returns the part of a header that stays the same between requests of one identity. A signature of AWS covers
// the time.
func lasting(name, value string) string {
	if name == "authorization" && strings.HasPrefix(value, "AWS4-") {
		value, _, _ = strings.Cut(value, ",") // the credential comes first
		parts := strings.Split(value, "/")
		if len(parts) > 2 {
			parts[1] = "" // the day
		}
		return strings.Join(parts, "/")
	}
	return value
}

// address returns the address of a request without its secrets, and lines that represent them.
func address(u *url.URL, key []byte) (string, []string) {
	clean := *u
	clean.Fragment, clean.User, clean.Host = "", nil, hostOf(u)
	if clean.Path == "" {
		clean.Path = "/"
	}
	var identity []string
	if u.User != nil {
		identity = append(identity, fmt.Sprintf("user %q", u.User.String()))
	}
	pairs := strings.Split(u.RawQuery, "&")
	for i, pair := range pairs {
		name, value, ok := strings.Cut(pair, "=")
		if ok && value != "" && slices.Contains(secretParameters, strings.ToLower(name)) {
			pairs[i] = name + "=" + keyed(key, "parameter\n"+value)[:16]
		}
	}
	clean.RawQuery = strings.Join(pairs, "&")
	return clean.String(), identity
}

// hostOf returns the host of an address, with its port unless that is the usual one.
func hostOf(u *url.URL) string {
	host := strings.ToLower(u.Host)
	if u.Scheme == "https" {
		return strings.TrimSuffix(host, ":443")
	}
	return strings.TrimSuffix(host, ":80")
}

// keyed digests a text with the key of the user, so that the record alone is not enough to test a guess.
func keyed(key []byte, text string) string {
	h := hmac.New(sha256.New, key)
	h.Write([]byte("http " + text))
	return hex.EncodeToString(h.Sum(nil))
}
