package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

func (a *app) completionVerb() *cobra.Command {
	return &cobra.Command{
		Use:   "completion bash|zsh|fish",
		Short: "print the completion script of a shell",
		Long: `Completion prints a script with which a shell completes verbs, flags, and the names of sessions, blocks
and files. Load it in each shell, as the first example does, or save it once where the shell looks for such scripts. For
zsh, compinit must be loaded. In bash, the package bash-completion must be installed.`,
		Example: `  source <(xstate completion bash)
  xstate completion bash > ~/.local/share/bash-completion/completions/xstate
  xstate completion zsh > "${fpath[1]}/_xstate"
  xstate completion fish > ~/.config/fish/completions/xstate.fish`,
		Args:      takes(1, 1, "the name of a shell: bash, zsh or fish"),
		ValidArgs: []string{"bash", "zsh", "fish"},
		RunE: func(cmd *cobra.Command, args []string) error {
			switch root := cmd.Root(); args[0] {
			case "bash":
				return root.GenBashCompletionV2(a.ui.Out, true)
			case "zsh":
				return root.GenZshCompletion(a.ui.Out)
			case "fish":
				return root.GenFishCompletion(a.ui.Out, true)
			}
			return &usageError{
				err:  fmt.Errorf("there is no completion for the shell %q", args[0]),
				hint: "name bash, zsh or fish",
			}
		},
	}
}
