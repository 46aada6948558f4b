'use strict'
// Values in the plain form that all languages have.

/** @import {Kernel} from './kernel' */
/**
 * @typedef {object} Arrow what is used of apache-arrow
 * @property {Function} Table
 * @property {(table: object, format: 'stream') => Uint8Array} tableToIPC
 * @property {(data: Uint8Array) => object} tableFromIPC
 */

const { Buffer } = require('buffer')

class NoPlainForm extends Error {
  get name() { return 'NoPlainForm' }
}

// Unknown is thrown where the class of a table belongs to no known copy of apache-arrow.
class Unknown extends Error {
  /** @param {Function} table */
  constructor(table) { super(); this.table = table }
}

// A program may hold two copies of apache-arrow, one by import and one by require, neither of which knows the tables of
// the other.
/** @type {Map<Function, Arrow>} */
const copies = new Map() // class Table → its copy

const MISSING = 'a table passes by Arrow: run npm install apache-arrow'

// know finds the copy that made a table.
/** @type {(Table: Function, kernel: Kernel, way: string) => Promise<void>} */
async function know(Table, kernel, way) {
  const loaded = Object.values(globalThis.require.cache).map((m) => m?.exports).find((e) => e?.Table === Table)
  const copy = loaded ?? await imported(kernel)
  if (copy.Table !== Table) throw new NoPlainForm(`${way}: a table of another copy of apache-arrow`)
  copies.set(Table, copy)
}

/** @type {(kernel: Kernel) => Promise<Arrow>} */
async function imported(kernel) {
  try {
    return await kernel.modules.import('apache-arrow')
  } catch {
    throw new NoPlainForm(MISSING)
  }
}

const OBJECT = Object.prototype

/** @type {(v: unknown) => string} */
function kindOf(v) {
  if (typeof v === 'function') return 'a function'
  if (typeof v === 'symbol') return 'a symbol'
  if (v === undefined) return 'undefined'
  return `an object of class ${/** @type {object} */ (v).constructor?.name ?? 'unknown'}`
}

// plain returns the JSON text of a value. way is how it is reached, and above the objects around it.
/** @type {(v: unknown, way: string, above: unknown[]) => string} */
function plain(v, way, above) {
  /** @type {(what?: string) => never} */
  const refuse = (what = kindOf(v)) => { throw new NoPlainForm(`${way}: ${what}`) }
  switch (typeof v) {
    case 'boolean': case 'string': return JSON.stringify(v)
    case 'bigint': return JSON.stringify({ $int: v.toString() })
    case 'number':
      if (Number.isFinite(v) && !Object.is(v, -0)) return JSON.stringify(v)
      return JSON.stringify({ $number: Object.is(v, -0) ? '-0' : String(v) })
    case 'object': break
    default: return refuse()
  }
  if (v === null) return 'null'
  if (above.includes(v)) refuse('a value that holds itself')
  const inner = [...above, v]
  if (Array.isArray(v)) {
    const out = []
    for (let i = 0; i < v.length; i++) {
      out.push(plain(v[i] === undefined && !(i in v) ? null : v[i], `${way}[${i}]`, inner))
    }
    return `[${out.join()}]`
  }
  if (v instanceof Date) {
    if (Number.isNaN(+v)) refuse('an invalid date')
    return JSON.stringify({ $date: v.toISOString() })
  }
  if (v instanceof Uint8Array || v instanceof ArrayBuffer) {
    const { buffer = /** @type {ArrayBuffer} */ (v), byteOffset = 0 } = /** @type {Partial<Uint8Array>} */ (v)
    return JSON.stringify({ $bytes: Buffer.from(buffer, byteOffset, v.byteLength).toString('base64') })
  }
  if (ArrayBuffer.isView(v) && !(v instanceof DataView)) {
    return plain(Array.from(/** @type {Uint8Array} */ (v)), way, above)
  }
  if (v instanceof Set) return plain([...v], way, inner)
  if (v instanceof Map) return pairs([...v], way, inner)
  if (typeof v.constructor === 'function' && v.constructor.name === 'Table' && Reflect.get(v, 'batches') &&
    Reflect.get(v, 'schema')) {
    const copy = copies.get(v.constructor)
    if (copy === undefined) throw new Unknown(v.constructor)
    return JSON.stringify({ $table: Buffer.from(copy.tableToIPC(v, 'stream')).toString('base64') })
  }
  const p = Object.getPrototypeOf(v)
  if (p !== OBJECT && p !== null) refuse()
  const keys = Object.keys(v)
  if (keys.some((k) => k.startsWith('$'))) return pairs(Object.entries(v), way, inner)
  const of = /** @type {Record<string, unknown>} */ (v)
  return `{${keys.map((k) => `${JSON.stringify(k)}:${plain(of[k], `${way}.${k}`, inner)}`).join()}}`
}

/** @type {(list: [unknown, unknown][], way: string, above: unknown[]) => string} */
function pairs(list, way, above) {
  const out = list.map(([k, x], i) => {
    const at = typeof k === 'string' ? `${way}.${k}` : `${way}[${i}]`
    return `[${plain(k, `${way} key ${i}`, above)},${plain(x, at, above)}]`
  })
  return `{"$map":[${out.join()}]}`
}

// give sends the plain form of names, which it reads as the program would.
/** @type {(list: string[], kernel: Kernel) => Promise<void>} */
async function give(list, kernel) {
  const out = []
  for (const n of list) {
    if (!kernel.names.table.has(n) && !(n in globalThis)) throw new ReferenceError(`${n} is not defined`)
    for (const v = Reflect.get(globalThis, n); ;) {
      try {
        out.push(`${JSON.stringify(n)}:${plain(v, n, [])}`)
        break
      } catch (e) {
        if (!(e instanceof Unknown)) throw e
        await know(e.table, kernel, n)
      }
    }
  }
  kernel.channel.send('plain', {}, Buffer.from(`{"names":{${out.join()}}}`))
}

// made returns the value of a plain form. Its tables are of the copy arrow.
/** @type {(v: any, arrow: Arrow | undefined) => unknown} */
function made(v, arrow) {
  if (v === null || typeof v !== 'object') return v
  if (Array.isArray(v)) return v.map((x) => made(x, arrow))
  const keys = Object.keys(v)
  if (keys.length === 1 && keys[0].startsWith('$')) {
    const x = v[keys[0]]
    switch (keys[0]) {
      case '$number': return x === '-0' ? -0 : Number(x)
      case '$int': return Number.isSafeInteger(Number(x)) ? Number(x) : BigInt(x)
      case '$bytes': return new Uint8Array(Buffer.from(x, 'base64'))
      case '$date': return new Date(x)
      case '$datetime': return new Date(/Z$/.test(x) ? x : x + 'Z')
      case '$day': return new Date(x + 'T00:00:00Z')
      case '$map': {
        const list = /** @type {[unknown, unknown][]} */ (x)
        return new Map(list.map(([k, y]) => [made(k, arrow), made(y, arrow)]))
      }
      case '$table': return arrow?.tableFromIPC(Buffer.from(x, 'base64'))
    }
  }
  const out = {}
  for (const k of keys) {
    Object.defineProperty(out, k, { value: made(v[k], arrow), writable: true, enumerable: true, configurable: true })
  }
  return out
}

// take binds the names of a document to new values.
/** @type {(text: string, kernel: Kernel) => Promise<void>} */
async function take(text, kernel) {
  const { names, dialect } = JSON.parse(text)
  const global = /** @type {Record<string, unknown>} */ (globalThis)
  const arrow = text.includes('"$table"') ? await copyFor(dialect, kernel) : undefined
  for (const [n, v] of Object.entries(names)) {
    kernel.names.constants.delete(n)
    global[n] = made(v, arrow)
    kernel.names.node?.writes.add(n)
  }
}

// copyFor returns the copy of apache-arrow that a block in a dialect would load.
/** @type {(dialect: string, kernel: Kernel) => Promise<Arrow>} */
async function copyFor(dialect, kernel) {
  if (dialect !== 'javascript') return imported(kernel)
  try {
    return globalThis.require('apache-arrow')
  } catch {
    throw new NoPlainForm(MISSING)
  }
}

module.exports = { give, take, NoPlainForm }
