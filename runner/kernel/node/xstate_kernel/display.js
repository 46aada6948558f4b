'use strict'
// What a block shows beside text: the value of its last expression, and what it gives to display.

const util = require('util')
const EventEmitter = require('events')
const { sourceOf } = require('./walk')
const { types } = util
const JUPYTER = Symbol.for('Jupyter.display')
const IMAGES = [['image/png', [0x89, 0x50, 0x4e, 0x47]], ['image/jpeg', [0xff, 0xd8, 0xff]],
  ['image/gif', [0x47, 0x49, 0x46, 0x38]]]

// bundle maps media types to what shows a value: text, or base64 of an image.
function bundle(v) {
  if (v !== null && typeof v === 'object') {
    const own = v[JUPYTER]
    if (typeof own === 'function') {
      const found = own.call(v)
      if (found !== null && typeof found === 'object' && typeof found.then !== 'function') return text(found, v)
    }
    if (v instanceof Uint8Array) {
      for (const [type, begin] of IMAGES) {
        if (begin.every((b, i) => v[i] === b)) return { [type]: Buffer.from(v).toString('base64'), 'text/plain': shown(v) }
      }
    }
  }
  return { 'text/plain': shown(v) }
}

const shown = (v) => isHandle(v) ? `[${v.constructor.name}]` :
  util.inspect(v, { maxArrayLength: 100, maxStringLength: 10000 })

// isHandle reports whether a value is a stream, server, child process or timer of Node: of these the name is shown, as
// their inside is long and differs from run to run.
function isHandle(v) {
  if (v === null || typeof v !== 'object' || types.isProxy(v)) return false
  const c = v.constructor
  if (typeof c !== 'function' || sourceOf(c).own) return false
  return v instanceof EventEmitter && c !== EventEmitter || /^(Timeout|Immediate)$/.test(c.name) && 'hasRef' in v
}

function text(found, v) {
  const out = {}
  for (const [type, x] of Object.entries(found)) {
    out[type] = typeof x === 'string' ? x : x instanceof Uint8Array ? Buffer.from(x).toString('base64') : JSON.stringify(x)
  }
  out['text/plain'] ??= typeof v === 'string' ? v : ''
  return out
}

const escaped = (v) => String(v).replace(/[&<>]/g, (c) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;' })[c])

function table(rows) {
  const all = [...rows]
  const columns = [...new Set(all.flatMap((r) => Object.keys(Object(r))))]
  const line = (cells, tag) => `<tr>${cells.map((c) => `<${tag}>${escaped(c)}</${tag}>`).join('')}</tr>`
  return `<table><thead>${line(columns, 'th')}</thead><tbody>${
    all.map((r) => line(columns.map((c) => r?.[c] ?? ''), 'td')).join('')}</tbody></table>`
}

function begin(kernel) {
  const display = (v, o) => {
    if (o?.raw) kernel.recorder.rich('display', text(v, ''))
    else kernel.recorder.rich('display', bundle(v))
  }
  const join = (parts, values) => typeof parts === 'string' ? parts : String.raw({ raw: parts }, ...values)
  for (const [k, type] of [['html', 'text/html'], ['md', 'text/markdown'], ['svg', 'image/svg+xml']]) {
    display[k] = (parts, ...values) => {
      const source = join(parts, values)
      kernel.recorder.rich('display', { [type]: source, 'text/plain': source })
    }
  }
  display.image = (data) => kernel.recorder.rich('display', bundle(data))
  display.table = (rows) => kernel.recorder.rich('display',
    { 'text/html': table(rows), 'text/plain': shown([...rows]) })
  Object.defineProperty(globalThis, 'display',
    { value: display, writable: true, configurable: true, enumerable: false })
}

// result shows the value of the last expression of a block.
function result(kernel, v) {
  if (v === undefined) return
  kernel.recorder.rich('result', bundle(v))
}

module.exports = { begin, result, bundle }
