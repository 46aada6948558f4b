'use strict'
// The bytes of a walk: they are collected in one buffer, and hashed when it is full.

const { createHash } = require('crypto')

const SIZE = 1 << 17
const SHORT = 64 // characters of a text that is written character by character
/** @type {Buffer | undefined} */
let spare // the buffer of a stream that has ended

class Stream {
  constructor() {
    this.size = 0
    this.hash = createHash('sha256')
    this.buffer = spare ?? Buffer.allocUnsafe(SIZE)
    spare = undefined
    this.view = new DataView(this.buffer.buffer, this.buffer.byteOffset, SIZE)
    this.at = 0
    this.flushed = 0 // how often the buffer was hashed
  }

  flush() {
    this.flushed++
    this.hash.update(this.buffer.subarray(0, this.at))
    this.size += this.at
    this.at = 0
  }

  /** @type {(n: number) => void} */
  room(n) {
    if (this.at + n > SIZE) this.flush()
  }

  /** @type {(t: number) => void} */
  tag(t) {
    this.room(1)
    this.buffer[this.at++] = t
  }

  /** @type {(x: number) => void} */
  int(x) {
    this.room(4)
    this.view.setInt32(this.at, x, true)
    this.at += 4
  }

  // tagged writes a tag and an integer.
  /** @type {(t: number, x: number) => void} */
  tagged(t, x) {
    this.room(5)
    this.buffer[this.at] = t
    this.view.setInt32(this.at + 1, x, true)
    this.at += 5
  }

  /** @type {(x: number) => void} */
  float(x) {
    this.room(8)
    this.view.setFloat64(this.at, x, true)
    this.at += 8
  }

  /** @type {(s: string) => void} */
  string(s) {
    const n = s.length
    if (n <= SHORT) {
      this.room(5 + 2 * n)
      const { buffer, at: from } = this
      let at = from + 5
      let i = 0
      for (; i < n; i++) {
        const c = s.charCodeAt(i)
        if (c > 127) break
        buffer[at++] = c
      }
      if (i === n) {
        buffer[from] = 1
        this.view.setInt32(from + 1, n, true)
        this.at = at
        return
      }
    }
    this.tagged(2, n)
    if (2 * n > SIZE) this.bytes(Buffer.from(s, 'utf16le'))
    else {
      this.room(2 * n)
      this.at += this.buffer.write(s, this.at, 'utf16le')
    }
  }

  /** @type {(data: Uint8Array) => void} */
  bytes(data) {
    this.flush()
    this.hash.update(data)
    this.size += data.byteLength
  }

  end() {
    this.flush()
    spare = this.buffer
    return this.hash.digest('hex')
  }
}

module.exports = { Stream }
