package main

import (
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/xstate-engine/xstate/internal/api"
)

func (a *app) versionVerb() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "print the version",
		Long:    `Version prints the version of xstate and of the Go it was built with.`,
		Example: `  xstate version --json`,
		Args:    takes(0, 0, ""),
		RunE:    func(*cobra.Command, []string) error { return a.version() },
	}
}

func (a *app) version() error {
	v := buildVersion()
	if a.ui.JSON {
		return a.ui.Document(api.About{Version: api.Version, XState: v, Go: runtime.Version()})
	}
	a.ui.Print("xstate %s (%s)\n", v, runtime.Version())
	return nil
}

// release is the version of a release; the linker sets it.
var release string

// buildVersion is the release's version, the module's version, or the commit of the checkout that it was built from.
func buildVersion() string {
	if release != "" {
		return release
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return s.Value[:min(12, len(s.Value))]
		}
	}
	return "unreleased"
}
