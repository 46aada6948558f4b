package rpc

import (
	"sync"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"

	v1 "github.com/xstate-engine/xstate/api/xstate/v1"
)

// methods returns the methods of the API by their paths. They are not made at the start of every command.
var methods = sync.OnceValue(func() map[string]protoreflect.MethodDescriptor {
	all := map[string]protoreflect.MethodDescriptor{}
	services := v1.File_xstate_v1_services_proto.Services()
	for i := range services.Len() {
		service := services.Get(i)
		for j := range service.Methods().Len() {
			m := service.Methods().Get(j)
			all["/"+string(service.FullName())+"/"+string(m.Name())] = m
		}
	}
	return all
})

// reads reports whether a method has no side effects.
func reads(m protoreflect.MethodDescriptor) bool {
	options, _ := m.Options().(*descriptorpb.MethodOptions)
	return options.GetIdempotencyLevel() == descriptorpb.MethodOptions_NO_SIDE_EFFECTS
}

// empty returns a message without content.
func empty(d protoreflect.MessageDescriptor) proto.Message {
	t, err := protoregistry.GlobalTypes.FindMessageByName(d.FullName())
	if err != nil {
		panic("rpc: internal error: " + err.Error()) // the generated code registers them all
	}
	return t.New().Interface()
}
