'use strict'
// Writes the contents of an object that are not properties: elements of a collection, bytes, the state of a promise.

/** @import {Walk} from './walk' */

const { types } = require('util')
const { nameOf } = require('./intrinsics')
const { sourceOf } = require('./sources')

const { getOwnPropertyDescriptor: property, getPrototypeOf: prototype } = Reflect
const getter = /** @type {(o: object, k: PropertyKey) => () => unknown} */ ((o, k) => property(o, k)?.get)
const MAP = Map.prototype.entries
const SET = Set.prototype.values
const URL_ = require('url').URL
const href = getter(URL_.prototype, 'href')
const views = getter(/** @type {object} */ (prototype(Uint8Array.prototype)), Symbol.toStringTag)
const source = getter(RegExp.prototype, 'source')
// Getters kept from the start: the flags of a RegExp do not depend on its prototype.
const FLAGS = [['d', 'hasIndices'], ['g', 'global'], ['i', 'ignoreCase'], ['m', 'multiline'], ['s', 'dotAll'],
  ['u', 'unicode'], ['v', 'unicodeSets'], ['y', 'sticky']].map(([letter, name]) => (
  /** @type {[string, (() => unknown) | undefined]} */ ([letter, getter(RegExp.prototype, name)])))
const PRIVATE = /#[A-Za-z_$]/ // a private field, in the text of a class

const typed = /** @type {object} */ (prototype(Uint8Array.prototype))
// How views of memory are asked for what they show, whatever properties they have.
const TYPED = { offset: getter(typed, 'byteOffset'), length: getter(typed, 'length'), buffer: getter(typed, 'buffer') }
const VIEW = {
  offset: getter(DataView.prototype, 'byteOffset'), length: getter(DataView.prototype, 'byteLength'),
  buffer: getter(DataView.prototype, 'buffer'),
}
// lengthOf returns how many elements, or bytes of a DataView, a view of memory has.
/** @type {(v: ArrayBufferView) => number} */
const lengthOf = (v) => {
  if (types.isDataView(v) && isDetached(/** @type {ArrayBuffer} */ (VIEW.buffer.call(v)))) return 0 // the getter throws
  return /** @type {number} */ ((types.isTypedArray(v) ? TYPED : VIEW).length.call(v))
}

const BOXES = [Number, String, Boolean, Symbol, BigInt].map((c) => (
  /** @type {() => unknown} */ (property(c.prototype, 'valueOf')?.value)))

// boxed returns the primitive in an object that holds one.
/** @type {(v: object) => unknown} */
function boxed(v) {
  for (const valueOf of BOXES) {
    try {
      return valueOf.call(v)
    } catch {} // it holds one of another type
  }
}

// writeInside writes what is inside of an object with the prototype p.
/** @type {(w: Walk, v: object, p: object | null, todo: unknown[]) => void} */
function writeInside(w, v, p, todo) {
  if (!writeData(w, v, todo) && !writeUnread(w, v, p, todo)) writeOther(w, v, p)
}

// isDetached reports whether the memory of a buffer was handed over: to a worker, a clone, or by grow of WebAssembly.
/** @type {(b: ArrayBufferLike) => boolean} */
function isDetached(b) {
  if (b.byteLength > 0 || types.isSharedArrayBuffer(b)) return false
  try {
    void new Uint8Array(b)
    return false
  } catch {
    return true
  }
}

// writeData writes the inside of an object of the language that holds data. It reports whether the object is one.
/** @type {(w: Walk, v: object, todo: unknown[]) => boolean} */
function writeData(w, v, todo) {
  if (types.isMap(v)) {
    w.tag(33)
    const all = [...MAP.call(v)]
    w.int(all.length)
    for (let i = all.length - 1; i >= 0; i--) todo.push(all[i][1], all[i][0])
  } else if (types.isSet(v)) {
    w.tag(34)
    const all = [...SET.call(v)]
    w.int(all.length)
    for (let i = all.length - 1; i >= 0; i--) todo.push(all[i])
  } else if (types.isDate(v)) {
    w.tag(35)
    w.float(Date.prototype.getTime.call(v))
  } else if (types.isRegExp(v)) {
    w.tag(36)
    w.string(String(source.call(v)))
    w.string(FLAGS.map(([letter, is]) => is?.call(v) ? letter : '').join(''))
    todo.push(v.lastIndex)
  } else if (types.isAnyArrayBuffer(v)) {
    w.tag(types.isSharedArrayBuffer(v) ? 38 : 37)
    if (isDetached(v)) {
      w.int(-1)
      w.hide('a buffer that was handed over', false)
      return true
    }
    w.int(new Uint8Array(v).length)
    const grows = /** @type {ArrayBuffer} */ (v).resizable || /** @type {SharedArrayBuffer} */ (v).growable
    w.int(grows ? /** @type {number} */ (v.maxByteLength) : -1)
    w.bytes(new Uint8Array(v))
  } else if (ArrayBuffer.isView(v)) {
    w.tag(39)
    w.string(/** @type {string} */ (views.call(v) ?? 'DataView'))
    const of = types.isTypedArray(v) ? TYPED : VIEW
    const buffer = /** @type {ArrayBuffer} */ (of.buffer.call(v))
    w.int(isDetached(buffer) ? 0 : /** @type {number} */ (of.offset.call(v)))
    w.int(lengthOf(v))
    todo.push(buffer)
  } else if (types.isNativeError(v)) {
    w.tag(40)
  } else if (types.isBoxedPrimitive(v)) {
    w.tag(41)
    todo.push(boxed(v))
  } else if (types.isArgumentsObject(v)) {
    w.tag(43)
  } else return false
  return true
}

// writeUnread writes an object whose inside a program cannot read, or not without changing it. It reports whether the
// object is one.
/** @type {(w: Walk, v: object, p: object | null, todo: unknown[]) => boolean} */
function writeUnread(w, v, p, todo) {
  let why
  if (types.isPromise(v)) {
    w.tag(98)
    const [state, result] = w.slots(v, '[[PromiseState]]', '[[PromiseResult]]') ?? ['pending']
    w.string(/** @type {string} */ (state))
    if (state === 'pending') w.hide('a Promise')
    else todo.push(result)
    return true
  }
  if (types.isWeakMap(v) || types.isWeakSet(v) || v instanceof WeakRef || v instanceof FinalizationRegistry) {
    why = 'a weak reference or collection'
  } else if (types.isGeneratorObject(v)) why = 'a generator'
  else if (types.isMapIterator(v) || types.isSetIterator(v) || isIterator(p)) why = 'an iterator'
  else if (types.isExternal(v)) why = 'a native object'
  else if (types.isModuleNamespaceObject(v)) why = 'a module'
  else return false
  w.tag(98)
  w.hide(why)
  return true
}

// isIterator reports whether an object is the prototype of iterators of the language.
/** @type {(p: object | null) => boolean} */
function isIterator(p) {
  return p !== null && (nameOf.get(p) ?? '').startsWith('%Iterator')
}

// writeOther writes an object of a class. One that extends a class of Node may hold what cannot be read.
/** @type {(w: Walk, v: object, p: object | null) => void} */
function writeOther(w, v, p) {
  if (p === URL_.prototype) {
    w.tag(47)
    w.string(String(href.call(v)))
    return
  }
  w.tag(44)
  for (let q = p; q !== null; q = prototype(q)) {
    const from = nameOf.get(q)
    if (from === undefined || from === 'Object.prototype') continue
    if (/^(node:events|npm:)/.test(from)) {
      const c = property(q, 'constructor')?.value
      if (typeof c !== 'function' || !PRIVATE.test(sourceOf(c).text)) continue
    }
    if (/^(Object|Function|Iterator)\b/.test(from)) continue
    w.hide(`an object of ${from.replace(/\.prototype$/, '')}`)
    break
  }
}

module.exports = { isDetached, writeInside, lengthOf, views, PRIVATE }
