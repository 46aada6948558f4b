// Package xstatev1 is the Connect API of a store: the generated messages, clients and names of its services.
//
// documents.proto holds the documents that the verbs print with --json. It is generated from package internal/api,
// which defines them. services.proto holds the services and their requests. It is written by hand. make generate writes
// the rest. docs/api.md shows how to call a service.
package xstatev1
