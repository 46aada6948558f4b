'use strict'
// The outputs of a block beside text: the value of its last expression, and what it gives to display.

/** @import {Kernel} from './kernel' */
/** @typedef {Record<string, string | undefined>} Bundle media type → text, or base64 of an image */
/** @typedef {(parts: TemplateStringsArray | string, ...values: unknown[]) => void} Show of a text, or a tag */

const util = require('util')
const EventEmitter = require('events')
const { sourceOf } = require('./sources')
const { types } = util
const JUPYTER = Symbol.for('Jupyter.display')
/** @type {[type: string, begin: number[]][]} */
const IMAGES = [['image/png', [0x89, 0x50, 0x4e, 0x47]], ['image/jpeg', [0xff, 0xd8, 0xff]],
  ['image/gif', [0x47, 0x49, 0x46, 0x38]]]

// bundle maps media types to what shows a value: text, or base64 of an image.
/** @type {(v: unknown) => Bundle} */
function bundle(v) {
  if (v !== null && typeof v === 'object') {
    const own = Reflect.get(v, JUPYTER)
    if (typeof own === 'function') {
      const found = own.call(v)
      if (found !== null && typeof found === 'object' && typeof found.then !== 'function') return text(found, v)
    }
    if (v instanceof Uint8Array) {
      for (const [type, begin] of IMAGES) {
        if (!begin.every((b, i) => v[i] === b)) continue
        return { [type]: Buffer.from(v).toString('base64'), 'text/plain': shown(v) }
      }
    }
  }
  return { 'text/plain': shown(v) }
}

/** @type {(v: unknown) => string} */
const shown = (v) => isHandle(v) ? `[${v.constructor.name}]` :
  util.inspect(v, { maxArrayLength: 100, maxStringLength: 10000 })

// isHandle reports whether a value is a stream, server, child process or timer of Node: of these the name is shown, as
// their inside is long and differs from run to run.
/** @type {(v: unknown) => v is object} */
function isHandle(v) {
  if (v === null || typeof v !== 'object' || types.isProxy(v)) return false
  const c = v.constructor
  if (typeof c !== 'function' || sourceOf(c).own) return false
  return v instanceof EventEmitter && c !== EventEmitter || /^(Timeout|Immediate)$/.test(c.name) && 'hasRef' in v
}

/** @type {(found: object, v: unknown) => Bundle} */
function text(found, v) {
  /** @type {Bundle} */
  const out = {}
  for (const [type, x] of Object.entries(found)) {
    if (typeof x === 'string') out[type] = x
    else out[type] = x instanceof Uint8Array ? Buffer.from(x).toString('base64') : JSON.stringify(x)
  }
  out['text/plain'] ??= typeof v === 'string' ? v : ''
  return out
}

/** @type {(v: unknown) => string} */
const escaped = (v) => String(v).replace(/[&<>]/g, (c) => c === '&' ? '&amp;' : c === '<' ? '&lt;' : '&gt;')

/** @type {(rows: Iterable<object>) => string} */
function table(rows) {
  const all = /** @type {(Record<string, unknown> | null | undefined)[]} */ ([...rows])
  const columns = [...new Set(all.flatMap((r) => Object.keys(Object(r))))]
  /** @type {(cells: unknown[], tag: string) => string} */
  const line = (cells, tag) => `<tr>${cells.map((c) => `<${tag}>${escaped(c)}</${tag}>`).join('')}</tr>`
  return `<table><thead>${line(columns, 'th')}</thead><tbody>${
    all.map((r) => line(columns.map((c) => r?.[c] ?? ''), 'td')).join('')}</tbody></table>`
}

/** @type {(kernel: Kernel) => void} */
function begin(kernel) {
  /** @type {(v: object, o?: { raw?: boolean }) => void} */
  const display = (v, o) => {
    if (o?.raw) kernel.recorder.rich('display', text(v, ''))
    else kernel.recorder.rich('display', bundle(v))
  }
  const members = /** @type {Record<string, (...args: any[]) => void>} */ (/** @type {unknown} */ (display))
  /** @type {(parts: TemplateStringsArray | string, values: unknown[]) => string} */
  const join = (parts, values) => typeof parts === 'string' ? parts : String.raw({ raw: parts }, ...values)
  for (const [k, type] of [['html', 'text/html'], ['md', 'text/markdown'], ['svg', 'image/svg+xml']]) {
    members[k] = /** @type {Show} */ ((parts, ...values) => {
      const source = join(parts, values)
      kernel.recorder.rich('display', { [type]: source, 'text/plain': source })
    })
  }
  members.image = (data) => kernel.recorder.rich('display', bundle(data))
  members.table = (rows) => kernel.recorder.rich('display',
    { 'text/html': table(rows), 'text/plain': shown([...rows]) })
  Object.defineProperty(globalThis, 'display',
    { value: display, writable: true, configurable: true, enumerable: false })
}

// result shows the value of the last expression of a block.
/** @type {(kernel: Kernel, v: unknown) => void} */
function result(kernel, v) {
  if (v === undefined) return
  kernel.recorder.rich('result', bundle(v))
}

module.exports = { begin, result, bundle }
