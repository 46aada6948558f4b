'use strict'
// The standard input: its position, which the descriptor 0 shares with child processes, and the stream process.stdin.

/** @import {Files} from './files' */
/** @import {Marks} from './marks' */
/** @typedef {new (path: null, options: { fd: number, autoClose: boolean }) => fs.ReadStream} Opener */

const fs = require('fs')

const { readFileSync, readSync, openSync, closeSync, statSync } = fs
const ReadStream = /** @type {Opener} */ (/** @type {unknown} */ (fs.ReadStream))

class Input {
  // files notes reads of the descriptor, marks that a child process was started. file is '' where the input is empty.
  /** @param {string | undefined} file @param {Files} files @param {Marks} marks */
  constructor(file, files, marks) {
    this.key = 'conf:stdin'
    this.file = file ?? ''
    this.files = files
    this.marks = marks
    /** @type {fs.ReadStream | null} */
    this.stream = null
    this.was = ''
    this.size = this.file ? statSync(this.file).size : 0
    this.plain = this.text()
    Object.defineProperty(process, 'stdin', {
      configurable: true, enumerable: true,
      get: () => this.stream ??= new ReadStream(null, { fd: 0, autoClose: false }),
    })
  }

  start() { this.was = this.text() }

  // text says what is left to read.
  text() {
    const { stream } = this
    const used = stream === null || (stream.bytesRead === 0 && !stream.readableEnded) ? '' : ' stream'
    if (!this.file) return '0' + used
    const info = this.files.quietly(() => readFileSync('/proc/self/fdinfo/0', 'utf8'))
    return (/^pos:\s*(\d+)/.exec(info)?.[1] ?? '0') + used
  }

  get touched() { return this.files.inputUsed || this.marks.spawned }

  // seen returns the part of the input that the node may have read: all of it, with its end.
  seen() {
    if (!this.touched && this.text() === this.was) return null
    const { stream } = this
    if (stream !== null && stream.bytesRead > 0 && !stream.readableEnded) this.marks.add('unobserved standard input')
    return [0, this.size, true]
  }

  bytes() { return Buffer.from(this.text()) }

  /** @type {(data: Buffer | null) => Promise<void> | undefined} */
  put(data) {
    const [at, used] = (data === null ? this.plain : data.toString()).split(' ')
    this.files.quietly(() => {
      if (this.file) {
        closeSync(0)
        openSync(this.file, 'r')
        if (+at > 0) readSync(0, Buffer.alloc(+at), 0, +at, null)
      }
    })
    this.stream = null
    if (used) return new Promise((resolve) => process.stdin.once('end', resolve).resume())
    return undefined
  }
}

module.exports = { Input }
