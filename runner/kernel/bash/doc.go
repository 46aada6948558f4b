// Package bash is the language Bash behind kernel.Language.
//
// An Interpreter is a Bash on this machine, from 4.4 on, found by Find. A kernel is one process of it, and a driver
// that
// runs in the engine's process: Bash cannot speak in frames. The part of the driver that Bash executes is driver.sh.
//
// # How a node of the program is executed
//
// Bash reads a pipe as its script, under the name of the program's file. For each node the driver writes one line
// there: it reads the text of the node, executes it by eval at the top level, and shows the state of the shell, as
// declare -p and the like write it. The driver compares this snapshot with the one before: the difference is what the
// node wrote. A value is its declaration, and a new process gets its state by executing declarations.
//
// Bash writes each line of a snapshot by a separate call, so the whole state costs a millisecond or two. If the text of
// a node says all that it can change, see confinement, only that is shown. With XSTATE_VERIFY in the environment, the
// rest is shown as well and compared.
//
// The reads of a node cannot be seen. They are predicted from the text, closed over the functions that are called, so
// that none is missing; see package depgraph/bash. Files and processes are observed by system calls alone.
//
// # Why the simple way fails
//
// To put a program between markers into one shell gives no state to restore: each edit would begin at the first
// command. The DEBUG trap and xtrace show commands and not the names that they read, and make loops five times as slow.
// To call a
// node as a function would make its declarations local, and in a loop its "break" would end the driver.
//
// # When the shell ends
//
// "exit", a failure under "set -e" and an unset name under "set -u" end the shell. That is the end of the program, with
// a
// code. The kernel starts another shell with the state from before the node. The end of a script is such a command: an
// "exit" with the code of the last command, which executes the handler of EXIT.
package bash
