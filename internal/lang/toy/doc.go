// Package toy tests what a new language costs: its files here are a whole language, from the row of the table to a
// kernel, and no other file knows it. It holds no code for other packages.
//
// The language is sums. A line assigns a sum of numbers and names, or prints one, and ";" begins a comment:
//
//	total = price + 3
//	print total
package toy
