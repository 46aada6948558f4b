// Package machine knows the facts of a machine that programs ask for, and in which code they may do so.
//
// A program can ask for facts that no key of a trace has, because they do not change on one machine: the path of its
// folder, the time zone of the system, the user, the machine. They differ on another machine. So the name of a result
// that machines share has the facts that the code of a node may ask for. Words of its text decide that. To observe all
// such questions, in libraries of several languages, would cost every run. A fact that is named though the code does
// not ask for it costs a result of another machine, and no more.
//
// It does not see a fact that a library asks for by itself, and that a program then shows in another form than a path
// or a name.
package machine
