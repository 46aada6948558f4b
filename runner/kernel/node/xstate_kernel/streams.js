'use strict'
// Collects the output of the program. Descriptors 1 and 2 are files of the engine, to which child processes write as
// well. Text is written there at once, so that it survives a crash. It is sent, in order, when the other stream gets
// text and at the end of a node.

/** @import {Channel} from './frames' */
/** @import {Bundle} from './display' */
/** @typedef {(this: NodeJS.WriteStream, chunk: string, encoding?: unknown, callback?: unknown) => boolean} Write */

const { readSync, fstatSync, ftruncateSync } = require('fs')
/** @type {('stdout' | 'stderr')[]} */
const NAMES = ['stdout', 'stderr']
const PIECE = 1 << 20

// Streams that exist, each with its function that writes: a program may put another in its place.
/** @type {Map<string, { stream: NodeJS.WriteStream, write: unknown }>} */
const streams = new Map()

class Recorder {
  /** @param {Channel} channel @param {number[]} files */
  constructor(channel, files) {
    this.channel = channel
    this.files = files
    this.sent = [0, 0]
    this.written = [0, 0]
    this.last = -1
    this.node = ''
    this.muted = false // the program has ended
    /** @type {Set<string>} */
    this.cited = new Set() // places in blocks that what is printed names
    /** @type {(() => void)[]} */
    this.ticks = []
    for (const i of [0, 1]) this.wrap(i)
  }

  // begun makes both streams and what they call back after a write, unless that is there: so a node that prints leaves
  // nothing new.
  begun() {
    for (const name of NAMES) void process[name]
    for (const tick of this.ticks) tick()
  }

  /** @type {(i: number) => void} */
  wrap(i) {
    const property = Object.getOwnPropertyDescriptor(process, NAMES[i])
    const recorder = this
    /** @type {NodeJS.WriteStream | undefined} */
    let stream
    Object.defineProperty(process, NAMES[i], {
      configurable: true, enumerable: true,
      get() {
        if (stream === undefined) {
          const made = /** @type {NodeJS.WriteStream} */ (property?.get?.call(process))
          stream = made
          const write = /** @type {Write} */ (made.write)
          made.write = /** @type {Write} */ (function (chunk, encoding, callback) {
            if (recorder.muted) return true
            if (recorder.last !== i) recorder.turn(i)
            return write.call(this, chunk, encoding, callback)
          })
          Object.defineProperty(made, 'write', { enumerable: false })
          streams.set(NAMES[i], { stream: made, write: made.write })
          const after = Reflect.get(console, `_${NAMES[i]}ErrorHandler`)
          recorder.ticks.push(() => write.call(made, '', after))
        }
        return stream
      },
      set: undefined,
    })
  }

  /** @type {(node: string) => void} */
  begin(node) {
    this.node = node
    this.sent = [0, 0]
    this.last = -1
    this.muted = false
    this.cited = new Set()
  }

  // turn makes a stream the one that is written to.
  /** @type {(i: number) => void} */
  turn(i) {
    if (this.last !== -1) this.take(this.last)
    this.last = i
  }

  // take sends what is new in a file.
  /** @type {(i: number) => void} */
  take(i) {
    const size = fstatSync(this.files[i]).size
    if (size < this.sent[i]) this.sent[i] = size // the engine has truncated it
    while (this.sent[i] < size) {
      const data = Buffer.allocUnsafe(Math.min(PIECE + 4, size - this.sent[i]))
      let n = readSync(this.files[i], data, 0, data.length, this.sent[i])
      if (n === 0) return
      if (this.sent[i] + n < size) while (n > 1 && (data[n] & 0xc0) === 0x80) n--
      this.sent[i] += n
      const text = data.subarray(0, n)
      if (text.includes(60)) for (const [, f] of text.toString().matchAll(/(<[^<>\n]+>):\d+/g)) this.cited.add(f)
      this.channel.send('output', { node: this.node, kind: NAMES[i], shared: false, upto: this.sent[i] }, text)
    }
  }

  flush() {
    const first = this.last === -1 ? 0 : 1 - this.last
    this.take(first)
    this.take(1 - first)
  }

  /** @type {(kind: string, bundle: Bundle) => void} */
  rich(kind, bundle) {
    if (this.muted) return
    this.flush()
    this.channel.send('output', { node: this.node, kind }, Buffer.from(JSON.stringify(bundle)))
  }

  end() {
    this.flush()
    for (const i of [0, 1]) if (this.sent[i]) ftruncateSync(this.files[i], 0)
  }

}

module.exports = { Recorder, streams }
