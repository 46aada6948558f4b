package rpc

import (
	"context"
	"net/http"
	"slices"
)

type headersKey struct{}

// withHeaders keeps the headers of a request in its context.
func withHeaders(ctx context.Context, h http.Header) context.Context {
	return context.WithValue(ctx, headersKey{}, h)
}

// spanned adds to the environment of a call the span that its request belongs to, by the headers of W3C Trace Context.
// Variables of the request itself count more.
func spanned(ctx context.Context, environ, own []string) []string {
	headers, _ := ctx.Value(headersKey{}).(http.Header)
	var span []string
	if parent := headers.Get("Traceparent"); parent != "" {
		span = []string{"TRACEPARENT=" + parent, "TRACESTATE=" + headers.Get("Tracestate")}
	}
	return slices.Concat(environ, span, own)
}
