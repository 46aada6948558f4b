package rpc

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/encoding/protojson"

	v1 "github.com/xstate-engine/xstate/api/xstate/v1"
	"github.com/xstate-engine/xstate/internal/api"
	"github.com/xstate-engine/xstate/state"
)

// failure is an operation that failed, or a request that cannot be carried out.
type failure struct{ what api.Error }

func (f *failure) Error() string { return f.what.Message }

// fail is a failure of this package.
func fail(code state.Code, hint, format string, args ...any) *failure {
	return &failure{what: api.Error{Code: code, Message: fmt.Sprintf(format, args...), Hint: hint}}
}

// misused is the failure of a request that cannot be understood.
func misused(err error) *failure {
	message := strings.ReplaceAll(err.Error(), "\u00a0", " ") // protobuf adds one at random to stop comparisons
	return fail(api.CodeUsage, "docs/api.md shows requests, api/xstate/v1 has all fields", "%s", message)
}

// asError makes the error of a method. Its message says everything, for those who read no details.
func (f *failure) asError() *connect.Error {
	text := fmt.Sprintf("%s: %s", f.what.Code, f.what.Message)
	if f.what.Hint != "" {
		text += " (" + f.what.Hint + ")"
	}
	e := connect.NewError(f.kind(), errors.New(text))
	detail := &v1.Error{Code: string(f.what.Code), Message: f.what.Message, Hint: f.what.Hint}
	if all, err := json.Marshal(f.what); err == nil {
		if whole := (&v1.Error{}); protojson.Unmarshal(all, whole) == nil {
			detail = whole
		}
	}
	if d, err := connect.NewErrorDetail(detail); err == nil {
		e.AddDetail(d)
	}
	return e
}

// kinds are the codes of Connect for the classes of errors.
var kinds = map[api.Class]connect.Code{
	api.ClassInternal: connect.CodeInternal,
	api.ClassFailed:   connect.CodeInternal,
	api.ClassUsage:    connect.CodeInvalidArgument,
	api.ClassNotFound: connect.CodeNotFound,
	api.ClassRefused:  connect.CodeFailedPrecondition,
	api.ClassConflict: connect.CodeAborted,
	api.ClassBusy:     connect.CodeUnavailable,
	api.ClassDamaged:  connect.CodeDataLoss,
}

// kind is the code of Connect for a failure: by its class, and finer where that says more.
func (f *failure) kind() connect.Code {
	switch f.what.Code {
	case api.CodeInterrupted:
		return connect.CodeCanceled
	case api.CodeTooLarge, state.CodeDiskFull:
		return connect.CodeResourceExhausted
	case api.CodeForbidden:
		return connect.CodePermissionDenied
	case api.CodeNoMethod:
		return connect.CodeUnimplemented
	case api.CodeFileExists, state.CodeSessionExists, "patch-exists":
		return connect.CodeAlreadyExists
	}
	return kinds[f.what.Class()]
}

// status is the status of HTTP for a failure, where no protocol has another one.
func (f *failure) status() int {
	switch f.kind() {
	case connect.CodeNotFound, connect.CodeUnimplemented:
		return http.StatusNotFound
	case connect.CodeResourceExhausted:
		return http.StatusRequestEntityTooLarge
	case connect.CodePermissionDenied:
		return http.StatusForbidden
	case connect.CodeUnavailable:
		return http.StatusServiceUnavailable
	case connect.CodeInvalidArgument:
		return http.StatusBadRequest
	case connect.CodeInternal, connect.CodeDataLoss:
		return http.StatusInternalServerError
	}
	return http.StatusConflict
}

// write answers with the document of the failure.
func (f *failure) write(w http.ResponseWriter, status int) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(api.Failure{Version: api.Version, Error: f.what}) // the client is gone
}

// asFailure makes a failure of any error.
func asFailure(err error) *failure {
	var f *failure
	if !errors.As(err, &f) {
		f = fail(api.CodeInternal, "try it again; if it stays, please report it", "%v", err)
	}
	return f
}
