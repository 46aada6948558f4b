// Package telemetry exports what runs do with OpenTelemetry: spans and metrics, over OTLP and HTTP.
//
// It has two nouns. A Telemetry exports, for a process. A Run follows one run: its span, those of the nodes that
// execute, and those of the calls that these make. Calls have the names of the semantic conventions for generative AI
// (v1.41), "execute_tool NAME" and "chat MODEL"; what these do not name begins with "xstate.".
//
// The usual variables decide, and without them nothing is exported and nothing is started: OTEL_EXPORTER_OTLP_ENDPOINT,
// or OTEL_TRACES_EXPORTER=otlp and OTEL_METRICS_EXPORTER=otlp. Arguments and results leave the machine only with
// OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=true.
//
// A run continues the trace that its caller names in a traceparent, and hands each attempt of a call the traceparent of
// its own span. Where nothing is exported, it hands on what it was given.
//
// Telemetry never makes a command fail. Data that was not exported within two seconds of its end is lost.
package telemetry
