package web

import (
	"net/http"
	"slices"
	"strings"
)

// shown are headers of requests that shape the answer and come into the record as they are.
var shown = []string{"accept", "accept-charset", "accept-language", "anthropic-beta", "anthropic-version",
	"content-language", "content-type", "depth", "if-match", "if-modified-since", "if-none-match", "if-range",
	"if-unmodified-since", "openai-beta", "prefer", "range", "soapaction", "x-http-method-override"}

// varying are headers of requests that differ from request to request, or between versions of a library, and shape no
// answer. Names that end with a star begin so.
var varying = []string{"accept-encoding", "amz-sdk-*", "cache-control", "connection", "content-length", "date", "dnt",
	"expect", "forwarded", "host", "idempotency-key", "if-unmodified", "keep-alive", "origin", "pragma", "priority",
	"proxy-authorization", "proxy-connection", "referer", "request-id", "sec-fetch-*", "te", "traceparent",
	"tracestate", "baggage", "b3", "x-b3-*", "trailer", "transfer-encoding", "upgrade", "upgrade-insecure-requests",
	"user-agent", "via", "x-amz-content-sha256", "x-amz-date", "x-client-request-id", "x-correlation-id",
	"x-forwarded-*", "x-goog-api-client", "x-ms-date", "x-request-id", "x-stainless-*"}

// unserved are headers of answers that say how or when an answer came, and not what it is. Programs do not get them,
// neither from a server nor from the record.
var unserved = []string{"age", "alt-svc", "cf-*", "connection", "content-length", "date", "expect-ct", "keep-alive",
	"nel", "openai-processing-ms", "proxy-*", "ratelimit-*", "report-to", "reporting-endpoints", "request-id", "server",
	"server-timing", "te", "trailer", "transfer-encoding", "upgrade", "via", "x-amz-cf-*", "x-amz-id-2",
	"x-amz-request-id", "x-amzn-requestid", "x-amzn-trace-id", "x-cache*", "x-cloud-trace-context",
	"x-envoy-*", "x-github-request-id", "x-ratelimit-*", "x-request-id", "x-runtime", "x-served-by", "x-timer",
	"x-trace-id", "traceparent", "anthropic-ratelimit-*"}

// sealed are headers of answers that hold a secret: they come into the record encrypted.
var sealed = []string{"set-cookie", "authorization", "www-authenticate", "authentication-info"}

// secretParameters are parameters of addresses that hold a secret, in lower case.
var secretParameters = []string{"access_token", "api-key", "api_key", "apikey", "appid", "auth", "client_secret",
	"code",
	"key", "password", "secret", "sig", "signature", "subscription-key", "token", "x-amz-credential",
	"x-amz-security-token", "x-amz-signature", "x-goog-signature"}

// in reports whether a name, in lower case, is one of a list.
func in(list []string, name string) bool {
	return slices.ContainsFunc(list, func(x string) bool {
		begin, star := strings.CutSuffix(x, "*")
		return x == name || star && strings.HasPrefix(name, begin)
	})
}

// hop are headers that concern one connection.
var hop = []string{"Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization", "Proxy-Connection", "Te",
	"Trailer", "Transfer-Encoding", "Upgrade"}

// onward returns the headers of a request as they are sent on.
func onward(h http.Header) http.Header {
	to := h.Clone()
	for _, name := range append(h.Values("Connection"), hop...) {
		to.Del(name)
	}
	// Without it a server may compress the body, and each does so in its own way.
	to.Set("Accept-Encoding", "identity")
	if _, named := to["User-Agent"]; !named {
		to["User-Agent"] = nil // otherwise the library writes its own name
	}
	return to
}
