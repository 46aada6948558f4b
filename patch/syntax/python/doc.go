// Package python is what patch knows of a text of Python or IPython: its statements, its names, and which lines are
// IPython's alone. See package syntax, where it registers itself.
package python
