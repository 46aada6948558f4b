package rpc

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"

	"connectrpc.com/connect"

	"github.com/xstate-engine/xstate/internal/api"
	"github.com/xstate-engine/xstate/internal/lang"
)

// readJSON reads a body into v. It takes the type of JSON only, which a page of another origin cannot send unasked.
func readJSON(r *http.Request, v any) error {
	if kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); kind != "application/json" {
		return misused(fmt.Errorf("the body has the type %.80q, want application/json", r.Header.Get("Content-Type")))
	}
	d := json.NewDecoder(r.Body)
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		var found *connect.Error
		if errors.As(err, &found) && found.Code() == connect.CodeResourceExhausted {
			return tooLarge()
		}
		return misused(fmt.Errorf("the body is not as it must be: %w", err))
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return misused(errors.New("the body has more than one JSON object"))
	}
	return nil
}

func writeJSON(w http.ResponseWriter, v any) error {
	w.Header().Set("Content-Type", "application/json")
	return json.NewEncoder(w).Encode(v)
}

// languageOf returns the language that a request names, or else the other one.
func languageOf(named *string, otherwise string) (string, error) {
	if named == nil || *named == "" {
		return otherwise, nil
	}
	if _, ok := api.Language(*named); !ok {
		return "", fail(api.CodeUsage, "say "+lang.Or(api.Languages())+", or leave language out",
			"the language %.40q is not served", *named)
	}
	return *named, nil
}
