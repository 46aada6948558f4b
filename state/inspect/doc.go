// Package inspect holds descriptions of values: what a person sees of a value that is too large for its text.
//
// # Nouns
//
// There are three. A Place is the part of a value that a caller looks at. A Description is what the interpreter that
// has the value found there: a table, an array, nested items, or an image. Limits are the most that it holds.
//
// # Promise
//
// A description is small, whatever the value: see Standard. Its numbers are texts in the notation of the value's
// language, because JSON has no NaN, no infinity and no exact integers beyond 2^53. What is computed of a part of a
// large value says of how much (Summary.Sampled).
//
// # What it cannot see
//
// An interpreter makes the description, and a program can change its interpreter. So a description is as trustworthy
// as the program: Clip bounds it, and a door that shows it escapes it.
package inspect
