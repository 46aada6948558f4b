// Package turns says which sessions of a large catalogue are tested today.
package turns
