package rpc

import (
	"errors"
	"fmt"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// document is the answer of a method, or one event of a stream.
type document struct {
	json    []byte
	message proto.Message // has the same fields, empty
}

// request is what a client sent. An error in it is kept, so that the method answers with a code and a hint; the library
// would answer with neither.
type request struct {
	message proto.Message
	bad     error
}

// codec is how requests and documents are written. A document in JSON is what the command line prints: its fields have
// the same order and the same zeros.
type codec struct {
	name string
	json bool
}

func (c codec) Name() string   { return c.name }
func (c codec) IsBinary() bool { return !c.json }

func (c codec) Marshal(value any) ([]byte, error) {
	switch v := value.(type) {
	case *document:
		if c.json {
			return v.json, nil
		}
		m := v.message.ProtoReflect().New().Interface()
		if err := protojson.Unmarshal(v.json, m); err != nil {
			return nil, fmt.Errorf("the document is no %s: %w", m.ProtoReflect().Descriptor().Name(), err)
		}
		return proto.Marshal(m)
	case proto.Message:
		if c.json {
			return protojson.MarshalOptions{UseProtoNames: true, EmitDefaultValues: true}.Marshal(v)
		}
		return proto.Marshal(v)
	}
	return nil, fmt.Errorf("%T is no document", value)
}

func (c codec) Unmarshal(data []byte, value any) error {
	switch r := value.(type) {
	case *request:
		r.bad = c.read(data, r.message)
		return nil
	case proto.Message: // from gRPC: the status of an error
		return proto.Unmarshal(data, r)
	}
	return fmt.Errorf("%T is no request", value)
}

// read reads a request. It refuses what it does not know.
func (c codec) read(data []byte, m proto.Message) error {
	if !c.json {
		if err := proto.Unmarshal(data, m); err != nil {
			return errors.New("the body is not in protobuf's format")
		}
		if len(m.ProtoReflect().GetUnknown()) > 0 {
			return errors.New("the message has fields that this version does not know")
		}
		return nil
	}
	if len(data) == 0 {
		return errors.New("the body is empty, want a JSON object such as {}")
	}
	return protojson.Unmarshal(data, m)
}
