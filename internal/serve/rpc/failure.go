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

// Codes of errors of this package. Others are those of verbs.
const (
	codeUsage       state.Code = "usage" // as of the command line: the request cannot be understood
	codeInternal    state.Code = "internal"
	codeInterrupted state.Code = "interrupted"
	codeTooLarge    state.Code = "too-large" // a body or an answer
	codeNoMethod    state.Code = "no-method" // a path, a method or a type of content that is not served
	codeNoContext   state.Code = "no-context"
	codeForbidden   state.Code = "forbidden" // a folder that is not served
)

// failure is the document of a verb that failed, and its exit code.
type failure struct {
	what     api.Error
	exit     int
	original json.RawMessage // what, as it was printed; nil: it is made here
}

func (f *failure) Error() string { return f.what.Message }

// fail is a failure of this package.
func fail(code state.Code, hint, format string, args ...any) *failure {
	return &failure{what: api.Error{Code: code, Message: fmt.Sprintf(format, args...), Hint: hint}, exit: 2}
}

// misused is the failure of a request that cannot be understood.
func misused(err error) *failure {
	message := strings.ReplaceAll(err.Error(), "\u00a0", " ") // protobuf writes one in places, so that nobody compares
	return fail(codeUsage, "docs/api.md shows requests, api/xstate/v1 has all fields", "%s", message)
}

// failureIn returns the failure that a document is; nil if it is an answer.
func failureIn(text []byte, exit int) *failure {
	var d struct {
		Error json.RawMessage `json:"error"`
	}
	f := &failure{exit: exit}
	if exit == 0 || json.Unmarshal(text, &d) != nil || json.Unmarshal(d.Error, &f.what) != nil || f.what.Code == "" {
		return nil
	}
	f.original = d.Error
	return f
}

// asError makes the error of a method. Its message says everything, for those who read no details.
func (f *failure) asError() *connect.Error {
	text := fmt.Sprintf("%s: %s", f.what.Code, f.what.Message)
	if f.what.Hint != "" {
		text += " (" + f.what.Hint + ")"
	}
	e := connect.NewError(f.kind(), errors.New(text))
	detail := &v1.Error{Code: string(f.what.Code), Message: f.what.Message, Hint: f.what.Hint}
	if f.original != nil {
		if whole := (&v1.Error{}); protojson.Unmarshal(f.original, whole) == nil {
			detail = whole
		}
	}
	if d, err := connect.NewErrorDetail(detail); err == nil {
		e.AddDetail(d)
	}
	return e
}

// kind is the code of Connect for a failure: by the exit code, and finer where one of ours says more.
func (f *failure) kind() connect.Code {
	code := string(f.what.Code)
	switch {
	case f.what.Code == codeInterrupted:
		return connect.CodeCanceled
	case f.what.Code == codeTooLarge, f.what.Code == state.CodeDiskFull:
		return connect.CodeResourceExhausted
	case f.what.Code == codeForbidden:
		return connect.CodePermissionDenied
	case f.what.Code == codeNoMethod:
		return connect.CodeUnimplemented
	case f.what.Code == state.CodeBusy:
		return connect.CodeUnavailable
	case f.what.Code == state.CodeConflict:
		return connect.CodeAborted
	case strings.HasSuffix(code, "-exists"):
		return connect.CodeAlreadyExists
	case strings.HasPrefix(code, "no-") && f.exit == 2:
		return connect.CodeNotFound
	}
	switch f.exit {
	case 2:
		return connect.CodeInvalidArgument
	case 3:
		return connect.CodeFailedPrecondition
	case 4:
		return connect.CodeDataLoss
	}
	return connect.CodeInternal
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
		f = fail(codeInternal, "try it again; if it stays, please report it", "%v", err)
		f.exit = 5
	}
	return f
}
