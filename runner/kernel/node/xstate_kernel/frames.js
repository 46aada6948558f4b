'use strict'
// Frames on two descriptors: 4 bytes length of the header, 8 bytes length of the body, a header in JSON, a body.

const { readSync, writeSync } = require('fs')
const { parse, stringify } = JSON

class Channel {
  /** @param {number} input @param {number} output */
  constructor(input, output) {
    this.input = input
    this.output = output
  }

  /** @type {(size: number) => Buffer | null} */
  exactly(size) {
    const data = Buffer.allocUnsafe(size)
    for (let at = 0; at < size;) {
      let n
      try {
        n = readSync(this.input, data, at, size - at, null)
      } catch (e) {
        const { code } = /** @type {NodeJS.ErrnoException} */ (e)
        if (code === 'EAGAIN' || code === 'EINTR') continue
        throw e
      }
      if (n === 0) return null
      at += n
    }
    return data
  }

  // receive waits for a frame. It returns null when the engine is gone.
  /** @type {() => { header: any, body: Buffer } | null} */
  receive() {
    const prefix = this.exactly(12)
    if (prefix === null) return null
    const header = this.exactly(prefix.readUInt32BE(0))
    const size = prefix.readUInt32BE(4) * 2 ** 32 + prefix.readUInt32BE(8)
    const body = size ? this.exactly(size) : Buffer.alloc(0)
    return header === null || body === null ? null : { header: parse(header.toString()), body }
  }

  // send sends an event. The engine looks for the first bytes of a reply as they are written here.
  /** @type {(ev: string, fields: object, body?: Buffer) => void} */
  send(ev, fields, body = Buffer.alloc(0)) {
    const rest = stringify(fields)
    const header = Buffer.from(`{"ev": ${stringify(ev)}${rest === '{}' ? '' : ', '}${rest.slice(1)}`)
    const prefix = Buffer.allocUnsafe(12)
    prefix.writeUInt32BE(header.length, 0)
    prefix.writeUInt32BE(Math.floor(body.length / 2 ** 32), 4)
    prefix.writeUInt32BE(body.length % 2 ** 32, 8)
    const data = body.length ? Buffer.concat([prefix, header, body]) : Buffer.concat([prefix, header])
    for (let at = 0; at < data.length;) {
      try {
        at += writeSync(this.output, data, at)
      } catch (e) {
        if (/** @type {NodeJS.ErrnoException} */ (e).code !== 'EAGAIN') throw e
      }
    }
  }
}

module.exports = { Channel }
