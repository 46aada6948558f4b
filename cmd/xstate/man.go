package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// manVerb writes the manual pages of a release: the help texts, in the macros of man(7).
func (a *app) manVerb() *cobra.Command {
	return &cobra.Command{
		Use:     "man DIR",
		Short:   "write manual pages",
		Long:    `Man writes a manual page of each verb into a directory: xstate.1, xstate-run.1 and so on.`,
		Example: `  xstate man ~/.local/share/man/man1`,
		Hidden:  true,
		Args:    takes(1, 1, "one DIR"),
		RunE: func(cmd *cobra.Command, args []string) error {
			folder := a.path(args[0])
			if err := os.MkdirAll(folder, 0o777); err != nil {
				return unwritten(args[0], err)
			}
			return writePages(cmd.Root(), folder)
		},
	}
}

// writePages writes the pages of a verb and of those below it.
func writePages(c *cobra.Command, folder string) error {
	var b strings.Builder
	manPage(&b, c)
	if err := writeFile(filepath.Join(folder, pageName(c)+".1"), []byte(b.String())); err != nil {
		return err
	}
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			if err := writePages(sub, folder); err != nil {
				return err
			}
		}
	}
	return nil
}

func pageName(c *cobra.Command) string { return strings.ReplaceAll(c.CommandPath(), " ", "-") }

func manPage(w io.Writer, c *cobra.Command) {
	c.InitDefaultHelpFlag()
	fmt.Fprintf(w, ".TH %s 1 \"\" \"xstate %s\"\n", strings.ToUpper(roff(pageName(c))), roff(buildVersion()))
	fmt.Fprintf(w, ".SH NAME\n%s \\- %s\n", roff(pageName(c)), roff(c.Short))
	section(w, "SYNOPSIS", "  "+c.UseLine())
	section(w, "DESCRIPTION", c.Long)
	options(w, "OPTIONS", c.NonInheritedFlags())
	options(w, "OPTIONS OF ALL VERBS", c.InheritedFlags())
	section(w, "EXAMPLES", c.Example)
	var see []string
	if c.HasParent() {
		see = append(see, pageName(c.Parent()))
	}
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			see = append(see, pageName(sub))
		}
	}
	fmt.Fprint(w, ".SH SEE ALSO\n")
	for i, name := range see {
		end := ","
		if i == len(see)-1 {
			end = ""
		}
		fmt.Fprintf(w, ".BR %s (1)%s\n", roff(name), end)
	}
}

// section writes a text: paragraphs, and lines that are indented, which stay as they are.
func section(w io.Writer, title, text string) {
	if strings.TrimSpace(text) == "" {
		return
	}
	fmt.Fprintf(w, ".SH %s\n", title)
	asIs := false
	for line := range strings.Lines(strings.Trim(text, "\n") + "\n") {
		line = strings.TrimRight(line, "\n")
		if indented := strings.HasPrefix(line, "  "); indented != asIs && line != "" {
			if asIs = indented; asIs {
				fmt.Fprint(w, ".nf\n")
			} else {
				fmt.Fprint(w, ".fi\n")
			}
		}
		if line == "" {
			fmt.Fprint(w, ".PP\n")
		} else {
			fmt.Fprintln(w, roff(line))
		}
	}
	if asIs {
		fmt.Fprint(w, ".fi\n")
	}
}

// options writes a list of flags.
func options(w io.Writer, title string, flags *pflag.FlagSet) {
	if !flags.HasAvailableFlags() {
		return
	}
	fmt.Fprintf(w, ".SH %s\n", title)
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		name, usage := pflag.UnquoteUsage(f)
		flag := "--" + f.Name
		if f.Shorthand != "" {
			flag = "-" + f.Shorthand + ", " + flag
		}
		fmt.Fprintf(w, ".TP\n\\fB%s\\fR", roff(flag))
		if name != "" {
			fmt.Fprintf(w, " \\fI%s\\fR", roff(name))
		}
		fmt.Fprintln(w)
		for line := range strings.Lines(usage) {
			fmt.Fprintln(w, roff(strings.TrimSpace(line)))
		}
	})
}

// roff writes a line of text such that the formatter shows it as it is.
func roff(line string) string {
	line = strings.NewReplacer(`\`, `\e`, "-", `\-`, "\"", `\(dq`, "…", "...", "`", "\\`", "'", `\(aq`).Replace(line)
	if strings.HasPrefix(line, ".") {
		return `\&` + line
	}
	return line
}
