// Package javascript is what patch knows of a text of JavaScript or TypeScript: its statements, its names, and whether
// it is a module. See package syntax, where it registers itself.
package javascript
