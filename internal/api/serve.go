package api

import "time"

// Server is the document of serve --status and --stop: the server of a store.
type Server struct {
	Version  int             `json:"version"`
	Store    string          `json:"store"`
	Running  bool            `json:"running"` // all else but store is absent if there is none
	PID      int             `json:"pid,omitempty"`
	Socket   string          `json:"socket,omitempty"`
	HTTP     string          `json:"http,omitempty"` // where it answers HTTP over TCP, too
	XState   string          `json:"xstate,omitempty"`
	Build    string          `json:"build,omitempty"`        // digest of the binary
	Idle     float64         `json:"idle_seconds,omitempty"` // without a call, after which it ends
	Memory   int64           `json:"memory_bytes,omitempty"` // that idle interpreters may take
	Sessions []ServedSession `json:"sessions,omitempty"`
	Runs     []ServedRun     `json:"runs,omitempty"`
}

// ServedSession is a session with a running interpreter.
type ServedSession struct {
	Session string    `json:"session"`
	Bytes   int64     `json:"bytes"` // memory that its processes take
	Used    time.Time `json:"used"`
	Busy    bool      `json:"busy"`
}

// ServedRun is a call that runs a program now.
type ServedRun struct {
	Run     string    `json:"run"` // its id
	Session string    `json:"session"`
	Verb    string    `json:"verb"`
	Since   time.Time `json:"since"`
}

// Page is the document of ui.
type Page struct {
	Version int    `json:"version"`
	Store   string `json:"store"`
	Address string `json:"address"`        // good once, for one browser
	Edit    bool   `json:"edit,omitempty"` // the browser may change sessions
}
