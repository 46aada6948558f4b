package web

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
)

// Answer is what a server answered, as the record has it.
type Answer struct {
	Status  int                 `json:"status"`
	Headers map[string][]string `json:"headers,omitempty"` // in lower case
	// Sealed are the headers that hold secrets, encrypted with the user's key.
	Sealed []byte `json:"sealed,omitempty"`
	Body   *Body  `json:"body,omitempty"`
}

// answerOf returns what the record has of the head of an answer.
func answerOf(reply *http.Response, key []byte) (a Answer, err error) {
	a = Answer{Status: reply.StatusCode, Headers: map[string][]string{}}
	secrets := map[string][]string{}
	for name, values := range reply.Header {
		low := strings.ToLower(name)
		switch {
		case in(sealed, low):
			secrets[low] = values
		case !in(unserved, low), low == "content-length" && reply.Request != nil && reply.Request.Method == "HEAD":
			a.Headers[low] = values
		}
	}
	if len(secrets) == 0 {
		return a, nil
	}
	text, err := json.Marshal(secrets)
	if err != nil {
		return a, err
	}
	a.Sealed, err = seal(key, text)
	return a, err
}

// head writes the status and the headers of an answer.
func (a *Answer) head(w http.ResponseWriter, key []byte) error {
	secrets := map[string][]string{}
	if len(a.Sealed) > 0 {
		text, err := unseal(key, a.Sealed)
		if err == nil {
			err = json.Unmarshal(text, &secrets)
		}
		if err != nil {
			return errors.New("the cookies of a recorded answer are encrypted with another user's key")
		}
	}
	h := w.Header()
	h["Date"] = nil // otherwise the server writes one
	for _, part := range []map[string][]string{a.Headers, secrets} {
		for name, values := range part {
			h[http.CanonicalHeaderKey(name)] = values
		}
	}
	if _, named := h["Content-Type"]; !named {
		h["Content-Type"] = nil // otherwise the server guesses one
	}
	w.WriteHeader(a.Status)
	return nil
}

// seal encrypts a text. Equal texts give equal bytes, so that an answer that comes again is the same: the nonce is a
// digest of the text.
func seal(key, text []byte) ([]byte, error) {
	c, err := sealer(key)
	if err != nil {
		return nil, err
	}
	h := hmac.New(sha256.New, key)
	h.Write([]byte("http nonce\n"))
	h.Write(text)
	nonce := h.Sum(nil)[:c.NonceSize()]
	return c.Seal(nonce, nonce, text, nil), nil
}

func unseal(key, data []byte) ([]byte, error) {
	c, err := sealer(key)
	if err != nil {
		return nil, err
	}
	if len(data) < c.NonceSize() {
		return nil, errors.New("it is too short")
	}
	return c.Open(nil, data[:c.NonceSize()], data[c.NonceSize():], nil)
}

func sealer(key []byte) (cipher.AEAD, error) {
	sum := sha256.Sum256(append([]byte("http sealed\n"), key...))
	block, err := aes.NewCipher(sum[:])
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}
