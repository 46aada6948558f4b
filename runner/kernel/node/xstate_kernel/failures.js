'use strict'
// How errors of the program are reported.

/**
 * @typedef {object} Failure
 * @property {string} type
 * @property {string} message
 * @property {string[]} traceback
 * @property {number} line of the node's block; 0: not known
 * @property {string} name that is not defined, or ''
 * @property {string[]} [frames] blocks that the stack names
 */

const { types, inspect } = require('util')
const OWN = __dirname

// interrupted is what an interrupt raises.
class Interrupted extends Error {}
class Ended extends Error {} // thrown by process.exit
class Unsettled extends Error {}

/** @type {Map<string, string[]>} */
const texts = new Map() // file name → lines of the block

// frames returns the lines of a stack without those of the driver and what is below it.
/** @type {(stack: string) => string[]} */
function frames(stack) {
  const lines = stack.split('\n')
  const found = []
  for (const l of lines) {
    if (/^\s+at /.test(l)) {
      if (l.includes(OWN) || l.includes('__xs_')) continue
      if (/node:(vm|internal)/.test(l)) continue
      const at = /(<[^<>\n]+>):(\d+):-?\d+\)?$/.exec(l)
      const text = at ? texts.get(at[1]) : undefined
      if (at && text && +at[2] > text.length) continue // what the driver put behind the text
    }
    found.push(l.replace(/(<[^<>\n]+>:\d+):-\d+(\)?)$/, '$1:1$2')) // or before it
  }
  return found
}

// failure describes what a node threw. filename is what the node's block is called.
/** @type {(e: unknown, filename: string) => Failure} */
function failure(e, filename) {
  if (e instanceof Interrupted) {
    return { type: 'Interrupted', message: 'the block was interrupted', traceback: ['Interrupted'], line: 0, name: '' }
  }
  let type = 'Error'
  let message = ''
  let stack = ''
  if (types.isNativeError(e) || e instanceof Error) {
    try {
      type = String(e.name ?? 'Error')
      message = String(e.message)
      stack = typeof e.stack === 'string' ? e.stack : `${type}: ${message}`
    } catch {
      stack = 'Error'
    }
  } else {
    type = 'Thrown'
    try {
      message = inspect(e)
    } catch {
      message = 'a value that cannot be shown'
    }
    stack = `Uncaught ${message}`
  }
  const traceback = frames(stack)
  let line = 0
  const escaped = filename.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')
  for (const l of stack.split('\n')) {
    const at = new RegExp(`${escaped}:(\\d+)`).exec(l)
    if (at) {
      line = +at[1]
      break
    }
  }
  const place = /(<[^<>\n]+>):(\d+)/.exec(traceback.filter((l) => /^\s+at /.test(l)).join('\n'))
  const source = place && texts.get(place[1])?.[+place[2] - 1]
  if (source && source.trim()) traceback.unshift(`${place[1]}:${place[2]}`, source, '')
  const missing = type === 'ReferenceError' ? /^(\S+) is not defined/.exec(message) : null
  const cited = [...stack.matchAll(/(<[^<>\n]+>):\d+/g)].map((m) => m[1])
  return { type, message, traceback, line, name: missing ? missing[1] : '', frames: [...new Set(cited)] }
}

module.exports = { failure, Interrupted, Ended, Unsettled, texts }
