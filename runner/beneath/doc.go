// Package beneath works on files below a folder. No operation leaves the folder, and none follows a symbolic link.
//
// # Nouns
//
//   - A Folder is a folder that is held by its descriptor.
//   - A name is the path of a file from its folder, with slashes. It is local: not absolute, and without "..".
//   - An Info is what is at a name. It is never what a link there leads to.
//
// # The promise
//
// The programs that the engine runs make links, and replace folders by links at any moment. The engine has rights that
// these programs lack. So an operation of a Folder acts on a file of that folder, or fails:
//
//   - The folders on the way to a name are opened one from the other, and a link among them is a *LinkError.
//   - The descriptor of the last of them is held while the operation looks at the file and changes it. A program that
//     moves that folder meanwhile moves it with the file. It cannot put another one in its place.
//   - The last part of a name is never followed. Remove removes a link, and Info describes it. Open, Append and Update
//     open regular files alone: a pipe would block them, and to open a device may have an effect.
//   - A new content gets its name when it is complete, see Replace.
//
// All that the engine does with files of a workspace goes through this package. TestOneHand in the root of the
// repository parses the other packages to check that.
//
// # Why the simple ways fail
//
// To resolve a path, compare it with the folder and then use it gives a program time in between. os.Root stays below
// its folder, but follows the links in it: a link to the store lies below the workspace, too. RESOLVE_BENEATH alone
// follows them as well; RESOLVE_NO_SYMLINKS does not. It needs openat2 (Linux 5.6), which saves calls: elsewhere, and
// where a container forbids it, one openat for each folder does the same.
//
// # What it does not see
//
// A mount below the folder, and a file with a second name elsewhere (a hard link), are files of the folder. A program
// that is not bounded can move a folder of the workspace elsewhere while the engine holds it; the file moves with it.
//
// # Faults
//
// Inject makes operations fail, so that tests can show what becomes of a failure at each.
package beneath
