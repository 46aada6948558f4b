// Package policy reads what a program may do: the level, and the files xstate.toml of the user and of the folder.
//
// # Nouns
//
//   - A Level says how much is bounded: off, workspace, strict.
//   - A file is one xstate.toml. A Setting is one value in it, with its place.
//   - A Policy is what the files and the caller say together. It becomes sandbox.Bounds, an environment and a digest.
//   - Calls are where the tools and models come from that programs call.
//
// # Who may allow what
//
// The user's own file may allow everything. It lies in the user's folder of configurations, which no bounded program
// can write. Every xstate.toml at or above the program may have been written by a stranger, by an agent, or by the
// program itself. So it narrows only: it raises the level, denies files and lowers limits. Its other settings take
// effect where the user's file names its folder in sandbox.trust. Sources of tools start programs and send secrets, so
// only a trusted file names some; any file may say that a tool is more harmful than its source does. A bounded program
// cannot write these files, or create them beside the program.
//
// # Why the simple ways fail
//
//   - To let the nearest file win, as editors do, lets a program widen its own bounds for its next run: it writes a
//     file in a new folder. To read the nearest alone lets it shadow the narrower one above.
//   - To ignore a key that is not known bounds less than its author meant, unnoticed.
//   - To start anyway where something cannot be enforced is a promise that is not kept. Strict refuses to. Workspace
//     says what is missing, on each run and in the record.
//
// A file that is malformed or contradicts itself is refused before anything runs, with line and column, and with what
// would work instead.
package policy
