// Package caches says which files outside of a program hold caches: data that a library or a tool has computed or
// fetched, and computes or fetches again if it is missing.
//
// There is one noun, Folders: the folders of caches that an environment gives. A language asks it about the libraries
// that its program uses, and package kernel about child processes and native code.
//
// # What it promises
//
// A cache is neither an input nor an output of a node. Whether a cache file is there, what it holds, what a folder of
// caches lists, and when it changed have no effect on reuse. The engine neither keeps nor restores it.
//
// # The argument
//
// A library that finds its cache empty fills it and gives the answer that it gives from a full one. So the answer
// depends on what the cache is computed from, and the library reads that while it fills the cache: the fonts, the
// settings, the program. These reads are inputs of the node that fills the cache. A node that finds the cache full has
// fewer inputs. It does not follow a new font, but nor does the library, which keeps its cache.
//
// By two standards a folder holds nothing else. The XDG Base Directory Specification has "non-essential (cached) data"
// in XDG_CACHE_HOME, by default ~/.cache. The Filesystem Hierarchy Standard has in /var/cache what "the application
// must be able to regenerate or restore". Known lists what else is a cache, by the documentation of its library.
//
// # Why the simple ways fail
//
//   - All of ~/.cache: a program keeps its results in ~/.cache/mine.json. One block writes the file and another reads
//     it. So the code that uses a file decides. The program's own code always has inputs and outputs there.
//   - All that a library opens: pandas.read_json("~/.cache/mine.json") is code of a library that opens a file of the
//     program's. An import takes no path from the program, so a library owns all cache files that it uses then. A
//     library that is called owns the folder with its own name alone: numba has ~/.cache/numba.
//   - The folder with its name, always: joblib.dump(model, "~/.cache/joblib/model") is a file of the program's. So the
//     call that the program made decides: a file that an argument of this call names is the program's.
//   - All that a library writes: it saves the program's results. And a library that only reads its cache, because
//     another program filled it, would have an input that is not there on a new machine.
//   - All that lies beside a cache: matplotlib keeps its list of fonts beside the user's matplotlibrc, where
//     MPLCONFIGDIR names one folder for both. And Hugging Face keeps a token and settings in its cache. So Known has
//     patterns of names, and Settings are never caches.
//
// # What it cannot see
//
//   - In a child process, and in native code, it is unknown which code opened a file. Known caches count as such for
//     them, and so do folders named as a library or an installed program that the node's processes use. A program's own
//     file in such a folder is missed where a child process alone reads it.
//   - A path that the program gave to a library earlier (a constructor) or in another form (an attribute of an object)
//     is not an argument of the call. A file there, in a folder with the name of the library, is missed.
//   - A cache of what changes elsewhere, such as the newest version of a model. Another program that fetches it again
//     changes what the library returns. Results stay as they are.
package caches
