package rpc

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"slices"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/reflect/protoreflect"

	v1 "github.com/xstate-engine/xstate/api/xstate/v1"
	"github.com/xstate-engine/xstate/internal/api"
	"github.com/xstate-engine/xstate/internal/verb"
)

// connect returns the handler of the Connect API. It also speaks gRPC and gRPC-Web.
func (s *Service) connect() http.Handler {
	mux := http.NewServeMux()
	for _, name := range slices.Sorted(maps.Keys(methods())) {
		mux.Handle(name, s.handler(methods()[name]))
	}
	return readable(mux)
}

// handler returns the handler of a method. Nothing is compressed: most clients are on this machine.
func (s *Service) handler(m protoreflect.MethodDescriptor) http.Handler {
	options := []connect.HandlerOption{
		connect.WithSchema(m),
		connect.WithCodec(codec{"json", true}),
		connect.WithCodec(codec{"json; charset=utf-8", true}),
		connect.WithCodec(codec{"proto", false}),
		connect.WithCompression("gzip", nil, nil),
		connect.WithInterceptors(hints{}),
		connect.WithRequestInitializer(func(_ connect.Spec, value any) error {
			if r, ok := value.(*request); ok {
				r.message = empty(m.Input())
			}
			return nil
		}),
	}
	if reads(m) {
		options = append(options, connect.WithIdempotency(connect.IdempotencyNoSideEffects))
	}
	procedure := "/" + string(m.Parent().FullName()) + "/" + string(m.Name())
	if m.IsStreamingServer() {
		return connect.NewServerStreamHandler(procedure,
			func(ctx context.Context, r *connect.Request[request], out *connect.ServerStream[document]) error {
				return refusal(s.stream(ctx, procedure, r.Msg, func(event any) error {
					text, err := encoded(event)
					if err != nil {
						return err
					}
					return out.Send(&document{text, empty(m.Output())})
				}))
			}, options...)
	}
	return connect.NewUnaryHandler(procedure,
		func(ctx context.Context, r *connect.Request[request]) (*connect.Response[document], error) {
			text, err := s.unary(ctx, procedure, r.Msg)
			if err != nil {
				return nil, refusal(err)
			}
			return connect.NewResponse(&document{text, empty(m.Output())}), nil
		}, options...)
}

// hints add code and hint to the errors of a stream that the library finds.
type hints struct{}

func (hints) WrapUnary(next connect.UnaryFunc) connect.UnaryFunc { return next }
func (hints) WrapStreamingClient(next connect.StreamingClientFunc) connect.StreamingClientFunc {
	return next
}

func (hints) WrapStreamingHandler(next connect.StreamingHandlerFunc) connect.StreamingHandlerFunc {
	return func(ctx context.Context, conn connect.StreamingHandlerConn) error {
		err := next(ctx, conn)
		var found *connect.Error
		if errors.As(err, &found) && len(found.Details()) == 0 && found.Code() == connect.CodeInvalidArgument {
			return misused(errors.New(found.Message())).asError()
		}
		return err
	}
}

// refusal is the error that a client gets.
func refusal(err error) error {
	var found *connect.Error
	if err == nil || errors.As(err, &found) || errors.Is(err, context.Canceled) {
		return err
	}
	return asFailure(err).asError()
}

// stream sends the events of an operation. Its error is the error of the stream, and no event.
func (s *Service) stream(ctx context.Context, procedure string, r *request, send func(any) error) error {
	if r.bad != nil {
		return misused(r.bad)
	}
	return s.events(ctx, operations[procedure](r.message), send)
}

// unary returns the document that answers a request.
func (s *Service) unary(ctx context.Context, procedure string, r *request) ([]byte, error) {
	if r.bad != nil {
		return nil, misused(r.bad)
	}
	switch m := r.message.(type) {
	case *v1.ListRunsRequest:
		return s.activeRuns()
	case *v1.AnswerCallRequest:
		return s.answerCall(m)
	case *v1.InterruptRequest:
		return s.interrupt(m.GetRun())
	}
	c := operations[procedure](r.message)
	document, err := s.operate(ctx, c, nil)
	if g, ok := r.message.(*v1.GetRequest); ok && err == nil {
		document, err = only(document, g.GetSession())
	}
	if err != nil {
		return nil, err
	}
	text, err := encoded(document)
	if c.answer == "" || err != nil {
		return text, err
	}
	return slices.Concat([]byte(`{"`+field(c.answer, document)+`":`), text, []byte("}")), nil
}

// field is where QueryResponse holds a document.
func field(answer string, document any) string {
	switch {
	case answer != anyAnswer:
		return answer
	case verb.As[api.QueryPatch](document) != nil:
		return "patch"
	case verb.As[api.QueryBlock](document) != nil:
		return "block"
	}
	return "program"
}
