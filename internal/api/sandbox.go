package api

import (
	"github.com/xstate-engine/xstate/runner/remote"
	"github.com/xstate-engine/xstate/runner/sandbox"
	"github.com/xstate-engine/xstate/runner/sandbox/policy"
	"github.com/xstate-engine/xstate/state"
)

// Policy is the document of policy and policy check.
type Policy struct {
	Version   int               `json:"version"`
	Level     policy.Level      `json:"level"`
	LevelFrom string            `json:"level_from"` // --sandbox, a place in a file, or default
	Launcher  string            `json:"launcher,omitempty"`
	Workspace string            `json:"workspace"` // which is read and written
	Read      []string          `json:"read"`
	Write     []string          `json:"write"`
	Deny      []string          `json:"deny"`
	Hosts     []string          `json:"hosts"`
	Pass      []string          `json:"pass"`
	Secrets   []string          `json:"secrets"`
	Limits    map[string]string `json:"limits"`
	Files     []string          `json:"files"`    // the policy files that count
	Settings  []policy.Setting  `json:"settings"` // the settings of all files, in order
	Lacks     []sandbox.Lack    `json:"lacks"`    // what this system does not enforce
	Digest    state.Digest      `json:"digest"`
}

// Doctor is the document of doctor.
type Doctor struct {
	Version int    `json:"version"`
	XState  string `json:"xstate"`
	System  string `json:"system"`
	Observe string `json:"observe"`       // how programs are observed: seccomp, ptrace or hooks
	Why     string `json:"why,omitempty"` // why not better
	Walk    string `json:"walk"`          // what looks at values of Python: C, or Python and why
	sandbox.Offers
	Levels       []LevelReport  `json:"levels"`
	Limits       []LimitReport  `json:"limits"`
	Folder       string         `json:"folder"`
	Store        string         `json:"store,omitempty"`
	Server       int            `json:"server,omitempty"` // process
	Policy       string         `json:"policy,omitempty"` // what is wrong with the policy of the folder
	Interpreters []DoctorPython `json:"interpreters"`
	Cache        *remote.Report `json:"cache,omitempty"` // from which results are taken over
}

// LevelReport is what a level enforces on this system.
type LevelReport struct {
	Level policy.Level   `json:"level"`
	Runs  bool           `json:"runs"`  // strict runs only where nothing lacks
	Lacks []sandbox.Lack `json:"lacks"` // what a policy without settings lacks
}

// LimitReport is how a limit is enforced on this system.
type LimitReport struct {
	Limit string `json:"limit"`
	By    string `json:"by"`
}

// DoctorPython is an interpreter that was found.
type DoctorPython struct {
	Path    string `json:"path"`
	Python  string `json:"python,omitempty"`
	Used    bool   `json:"used,omitempty"`    // that of a program in the folder
	Problem string `json:"problem,omitempty"` // why it cannot be used
}
