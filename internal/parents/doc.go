// Package parents walks from a path up to the root, and says what lies in a folder.
//
// The root folder is its own parent: filepath.Dir("/") is "/". A loop that goes up until something is found therefore
// needs a second end, and each loop that was written by hand can miss it. The folder above "." is "." as well. So one
// place goes up, its sequence ends whatever its path is, and TestParents of the module finds loops that do it by hand.
package parents
