'use strict'
// The descriptors of files that the program has opened by number, and not closed. Nothing can store the file of such a
// number.

/** @type {Map<number, object>} */
const open = new Map() // descriptor → what all that hold the number share

module.exports = { open }
