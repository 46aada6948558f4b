'use strict'
// The objects that every program has before it begins, by name: a value that is one of them is written by its name.

/** @typedef {{ keys: PropertyKey[], values: PropertyDescriptor[] }} Picture the properties of an object */

const { streams } = require('./streams')

/** @type {Map<object, string>} */
const nameOf = new Map() // object → name
/** @type {Map<string, object>} */
const named = new Map() // name → object
/** @type {Map<symbol, string>} */
const symbols = new Map() // well-known symbol → name
/** @type {Map<object, Picture>} */
const pictures = new Map() // object → its properties when it was named
/** @type {Map<string, PropertyDescriptor>} */
const lazy = new Map() // global name → its property when the program began, of the objects that are named late

// owned is the property of a key that is known to be there.
const owned = /** @type {(o: object, k: PropertyKey) => PropertyDescriptor} */ (Reflect.getOwnPropertyDescriptor)

for (const k of Object.getOwnPropertyNames(Symbol)) {
  const { value } = owned(Symbol, k)
  if (typeof value === 'symbol') symbols.set(value, k)
}

/** @type {(v: unknown) => v is object} */
const isObject = (v) => (typeof v === 'object' && v !== null) || typeof v === 'function'

// scan names an object and what it holds, breadth first: an object has the shortest of its names.
/** @type {(root: unknown, name: string, depth: number) => void} */
function scan(root, name, depth) {
  /** @type {[unknown, string][]} */
  let level = [[root, name]]
  for (let d = 0; d <= depth && level.length; d++) {
    /** @type {[unknown, string][]} */
    const next = []
    for (const [o, path] of level) {
      if (!isObject(o) || nameOf.has(o)) continue
      nameOf.set(o, path)
      named.set(path, o)
      let keys
      try {
        keys = Reflect.ownKeys(o)
      } catch {
        continue
      }
      for (const k of keys) {
        const p = Reflect.getOwnPropertyDescriptor(o, k)
        if (p === undefined) continue
        const at = `${path}.${String(k)}`
        if ('value' in p) next.push([p.value, at])
        else next.push([p.get, at + ':get'], [p.set, at + ':set'])
      }
      next.push([Reflect.getPrototypeOf(o), path + '.__proto__'])
    }
    level = next
  }
}

const UNNAMED = new Set(['globalThis', 'global', 'process', 'require', 'module', 'exports'])
const SKIPPED = new Set(['navigator', 'crypto', 'localStorage', 'sessionStorage', 'fetch', 'WebSocket', 'EventSource',
  'CloseEvent', 'FormData', 'Headers', 'Request', 'Response', 'MessageEvent', 'Storage', 'performance', 'WebAssembly',
  'CompressionStream', 'DecompressionStream'])

// begin names the intrinsics of the language. An object that Node adds is named when a value reaches it: its modules
// are loaded late, and that takes time.
function begin() {
  nameOf.set(writes, 'process.writes')
  nameOf.set(globalThis, 'globalThis')
  named.set('globalThis', globalThis)
  for (const k of Object.getOwnPropertyNames(globalThis)) {
    const p = owned(globalThis, k)
    if (k.startsWith('__xs_') || UNNAMED.has(k)) continue
    if (SKIPPED.has(k) || p.get) lazy.set(k, p)
    else if (isObject(p.value)) scan(p.value, k, 3)
  }
  scan(Buffer, 'Buffer', 3)
  scan(Object.getPrototypeOf(function* () {}), '%Generator', 2)
  scan(Object.getPrototypeOf(async function* () {}), '%AsyncGenerator', 2)
  scan(Object.getPrototypeOf(async function () {}), '%Async', 1)
  for (const [i, o] of [[][Symbol.iterator](), new Map().entries(), new Set().values(), ''[Symbol.iterator](),
    'a'.matchAll(/a/g)].entries()) {
    scan(Object.getPrototypeOf(o), '%Iterator' + i, 1)
  }
  keep()
}

const builtin = new Set(require('module').builtinModules)

// name names what a loaded module of Node or a package holds.
/** @type {(id: string, exports: unknown) => void} */
function module_(id, exports) {
  if (!isObject(exports) || nameOf.has(exports)) return
  if (builtin.has(id) && !id.startsWith('node:')) id = `node:${id}` // crypto is also a global name, of another object
  scan(exports, id, /^(esm:)?node:/.test(id) ? 3 : 4)
  if (id.startsWith('node:')) pictures.set(exports, picture(exports))
}

// isOfFiles reports whether a name is that of a part of fs. While the program has files open by number it does not
// count as a name: only the functions of fs show who uses such a number.
/** @type {(name: string) => boolean} */
const isOfFiles = (name) => /^(esm:)?node:fs\b/.test(name)

/** @type {Map<string, string>} */
const packageNames = new Map() // name → the package that packageOf found

// packageOf returns the package of which a name names a part, as in npm:moment; '': it names none.
/** @type {(name: string) => string} */
function packageOf(name) {
  let found = packageNames.get(name)
  if (found === undefined) {
    found = /^(?:esm:)?(npm:@?[^:@]+)/.exec(name)?.[1] ?? ''
    packageNames.set(name, found)
  }
  return found
}

// Modules of Node that are named together, so that the names do not depend on which is loaded first. None has state
// that a program sets, apart from what nodeState in modules.js describes.
const CORE = ['events', 'util', 'util/types', 'path', 'path/posix', 'path/win32', 'buffer', 'url', 'os', 'fs',
  'fs/promises', 'stream', 'stream/promises', 'zlib', 'crypto', 'assert', 'assert/strict', 'querystring',
  'string_decoder', 'readline', 'readline/promises', 'timers', 'timers/promises']

let coreDone = false

// core names the modules of Node that programs use most, if a module is one of them.
/** @type {(id: string) => void} */
function core(id) {
  if (coreDone || !CORE.includes(id.replace(/^node:/, ''))) return
  coreDone = true
  const before = nameOf.size
  for (const c of CORE) scan(require(c), `node:${c}`, 3)
  for (const o of [...nameOf.keys()].slice(before)) if (!isPlainFunction(o)) pictures.set(o, picture(o))
}

/** @type {(o: object) => boolean} */
const isPlainFunction = (o) => typeof o === 'function' &&
  Reflect.ownKeys(o).every((k) => k === 'length' || k === 'name' || k === 'prototype')

// late names objects of Node that are made when they are asked for.
let lateDone = false
/** @type {() => boolean} */
function late() {
  if (lateDone) return false
  lateDone = true
  core(CORE[0])
  nameOf.set(process, 'process')
  named.set('process', process)
  scan(Object.getPrototypeOf(process), 'process.__proto__', 2)
  for (const [k, p] of lazy) {
    const now = Object.getOwnPropertyDescriptor(globalThis, k) // the program may have a variable of this name
    let v
    try {
      v = p.get ? p.get.call(globalThis) : p.value
    } catch {
      continue
    }
    if (now) Object.defineProperty(globalThis, k, now)
    scan(v, k, 3)
  }
  for (const k of /** @type {const} */ (['stdout', 'stderr', 'env', 'versions', 'hrtime'])) {
    scan(process[k], 'process.' + k, 1)
  }
  return true
}

// keep remembers the properties of all intrinsics, so that a change of one is found.
function keep() {
  for (const o of nameOf.keys()) {
    if (o === globalThis || pictures.has(o)) continue
    pictures.set(o, picture(o))
  }
}

/** @type {Set<PropertyKey>} */
const VOLATILE = new Set(['caller', 'arguments', 'lastMatch', '$_', 'lastParen', '$+', 'leftContext', '$`',
  'rightContext', "$'", 'input', '$&', '$1', '$2', '$3', '$4', '$5', '$6', '$7', '$8', '$9', 'stackTraceLimit'])

/** @type {(o: object) => Picture} */
function picture(o) {
  const keys = Reflect.ownKeys(o)
  return { keys, values: keys.map((k) => owned(o, k)) }
}

// writes holds the functions that the program has put in the place of those that write to the standard streams.
/** @type {Record<string, unknown>} */
const writes = {}

function lookAtWrites() {
  for (const [name, { stream, write }] of streams) {
    if (stream.write === write) delete writes[name]
    else writes[name] = stream.write
  }
}

// changed returns the intrinsics whose properties are others than when the program began.
/** @type {() => object[]} */
function changed() {
  const found = []
  lookAtWrites()
  for (const [o, p] of pictures) {
    const keys = Reflect.ownKeys(o)
    let same = keys.length === p.keys.length
    for (let i = 0; same && i < keys.length; i++) {
      if (keys[i] !== p.keys[i]) same = false
      else if (!VOLATILE.has(keys[i])) {
        const a = p.values[i]
        const b = owned(o, keys[i])
        same = 'value' in a ? Object.is(a.value, b.value) : a.get === b.get && a.set === b.set || isLate(o, p, i, b)
      }
    }
    if (!same) found.push(o)
  }
  return found
}

// isLate reports whether a property is one with which Node has replaced its own accessor.
/** @type {(o: object, p: Picture, i: number, now: PropertyDescriptor) => boolean} */
function isLate(o, p, i, now) {
  const { get } = p.values[i]
  if (!('value' in now) || get === undefined || !nameOf.has(get)) return false
  try {
    if (!Object.is(get.call(o), now.value)) return false
  } catch {
    return false
  }
  p.values[i] = now
  return true
}

module.exports = {
  begin, core, late, name: module_, nameOf, named, symbols, changed, picture, pictures, isObject, isOfFiles, packageOf,
}
