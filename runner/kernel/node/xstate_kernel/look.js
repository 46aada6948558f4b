'use strict'
// Descriptions of values, for people who look at one: package state/inspect of the engine says what they hold. Nothing
// of the program is called: of properties with a getter the name is shown, and a proxy has no inside.

/** @import {Limits, Place} from './messages' */
/** @typedef {Record<string, unknown>} Found part of a description */
/** @typedef {[key: string, value: unknown]} Entry of a container */
/** @typedef {{ size: number, items: (from: number, most: number) => Entry[] }} Inside of a container */

const { inspect, types } = require('util')

const DEEP = 6 // levels of items
const SAMPLE = 100000 // rows that are looked at one at a time
const BYTES = 4 << 20 // of an image
/** @type {[type: string, begin: number[]][]} */
const IMAGES = [['image/png', [0x89, 0x50, 0x4e, 0x47]], ['image/jpeg', [0xff, 0xd8, 0xff]],
  ['image/gif', [0x47, 0x49, 0x46, 0x38]]]
const GETTER = Symbol('getter')

/** @type {(text: string, most: number) => string} */
const clipped = (text, most) => text.length > most ? text.slice(0, most) + '...' : text

// brief is the text of a value in one line.
/** @type {(v: unknown, most: number) => string} */
function brief(v, most) {
  if (v === GETTER) return '[Getter]'
  if (types.isProxy(v)) return '[Proxy]'
  return clipped(inspect(v, { depth: 1, maxArrayLength: 6, maxStringLength: most, breakLength: Infinity, compact: 3,
    customInspect: false }), most)
}

// cell is brief, but a string has no quotes.
/** @type {(v: unknown, most: number) => string} */
const cell = (v, most) => typeof v === 'string' ? clipped(v, most) : brief(v, most)

/** @type {(v: unknown) => string} */
function typeOf(v) {
  if (v === null) return 'null'
  if (v === GETTER) return 'getter'
  if (typeof v !== 'object') return typeof v
  if (types.isProxy(v)) return 'Proxy'
  for (let o = Object.getPrototypeOf(v); o !== null; o = Object.getPrototypeOf(o)) {
    if (types.isProxy(o)) break
    const made = Object.getOwnPropertyDescriptor(o, 'constructor')?.value
    const name = typeof made === 'function' && Object.getOwnPropertyDescriptor(made, 'name')?.value
    if (typeof name === 'string' && name !== '') return name
  }
  return 'object'
}

// own returns the value of a property, without a call of its getter.
/** @type {(o: object, key: PropertyKey) => unknown} */
function own(o, key) {
  const d = Object.getOwnPropertyDescriptor(o, key)
  return d === undefined ? undefined : 'value' in d ? d.value : GETTER
}

/** @template T @param {Iterator<T>} iterator @param {number} from @param {number} most @returns {T[]} */
function some(iterator, from, most) {
  const out = []
  for (let i = 0; i < from + most; i++) {
    const next = iterator.next()
    if (next.done) break
    if (i >= from) out.push(next.value)
  }
  return out
}

// insideOf returns what a container holds; undefined: it is no container.
/** @type {(v: unknown) => Inside | undefined} */
function insideOf(v) {
  if (v === null || typeof v !== 'object' || types.isProxy(v)) return undefined
  if (Array.isArray(v)) {
    return { size: v.length, items: (from, most) => Array.from({ length: Math.max(0, Math.min(most, v.length - from)) },
      (_, i) => /** @type {Entry} */ ([`[${from + i}]`, own(v, from + i)])) }
  }
  if (types.isMap(v)) {
    return { size: sizeOf(Map, v), items: (from, most) => some(Map.prototype.entries.call(v), from, most)
      .map(([k, x]) => [brief(k, 80), x]) }
  }
  if (types.isSet(v)) {
    return { size: sizeOf(Set, v), items: (from, most) => some(Set.prototype.values.call(v), from, most)
      .map((x) => ['', x]) }
  }
  if (types.isDate(v) || types.isRegExp(v) || types.isNativeError(v) || types.isBoxedPrimitive(v) ||
    types.isPromise(v) || types.isAnyArrayBuffer(v) || ArrayBuffer.isView(v)) return undefined
  const keys = Object.keys(v)
  return { size: keys.length, items: (from, most) => keys.slice(from, from + most).map((k) => [k, own(v, k)]) }
}

/** @type {(kind: MapConstructor | SetConstructor, v: object) => number} */
const sizeOf = (kind, v) => /** @type {() => number} */ (
  Object.getOwnPropertyDescriptor(kind.prototype, 'size')?.get).call(v)

/** @type {(key: string | undefined, v: unknown, most: number) => Found} */
function item(key, v, most) {
  /** @type {Found} */
  const found = { type: typeOf(v) }
  if (key !== undefined) found.key = key
  const inside = insideOf(v)
  if (inside) found.size = inside.size
  else if (typeof v === 'string') found.size = v.length
  if (key === undefined && typeof v === 'string') found.text = cell(v, most)
  else if (!inside || key !== undefined) found.text = brief(v, inside ? 60 : most)
  return found
}

// tree describes nested data level by level, until there are enough items.
/** @type {(value: unknown, at: Place, most: Limits) => Found} */
function tree(value, at, most) {
  const root = item(undefined, value, most.whole)
  let left = most.items - 1
  let from = insideOf(value) && at.row < (insideOf(value)?.size ?? 0) ? at.row : 0
  const start = from
  /** @type {[Found, unknown, unknown[]][]} */
  const waiting = [[root, value, [value]]]
  for (let n = 0; n < waiting.length; n++, from = 0) {
    const [parent, v, within] = waiting[n]
    const inside = insideOf(v)
    if (!inside) continue
    const shown = within.length > DEEP ? [] : inside.items(from, Math.min(most.rows, left))
    left -= shown.length
    if (inside.size > from + shown.length) parent.more = inside.size - from - shown.length
    if (shown.length) {
      parent.items = shown.map(([key, x]) => {
        const one = item(key, x, most.text)
        if (types.isTypedArray(x)) one.opens = true
        if (within.includes(x) && typeof x === 'object') one.text = '[Circular]'
        else waiting.push([one, x, [...within, x]])
        return one
      })
    }
  }
  return { tree: { from: start, root } }
}

// follow returns the part of a value that positions lead to.
/** @type {(value: unknown, path: number[]) => unknown} */
function follow(value, path) {
  for (const step of path) {
    const next = insideOf(value)?.items(step, 1)[0]
    if (!next) throw new RangeError(`nothing is at ${step}`)
    value = next[1]
  }
  return value
}

/** @type {(numbers: number[] | bigint[], most: Limits) => Found} */
function figures(numbers, most) {
  let low = Infinity, high = -Infinity, sum = 0, n = 0, missing = 0
  for (const x of numbers) {
    const v = Number(x)
    if (v !== v) { missing++; continue }
    if (v < low) low = v
    if (v > high) high = v
    sum += v
    n++
  }
  /** @type {Found} */
  const found = { missing }
  if (n === 0) return found
  Object.assign(found, { min: String(low), max: String(high), mean: String(sum / n) })
  const finite = numbers.length > SAMPLE ? [] : Array.from(numbers, Number).filter(Number.isFinite)
  const step = Math.ceil(numbers.length / SAMPLE)
  if (step > 1) {
    for (let i = 0; i < numbers.length; i += step) {
      const v = Number(numbers[i])
      if (Number.isFinite(v)) finite.push(v)
    }
    found.sampled = finite.length
  }
  const histogram = histogramOf(finite, most)
  if (histogram) found.histogram = histogram
  return found
}

/** @type {(finite: number[], most: Limits) => Found | undefined} */
function histogramOf(finite, most) {
  if (finite.length === 0) return undefined
  let low = finite.reduce((a, b) => Math.min(a, b)), high = finite.reduce((a, b) => Math.max(a, b))
  if (low === high) [low, high] = [low - 0.5, high + 0.5]
  if (!Number.isFinite(high - low)) return undefined
  const counts = Array(most.bins).fill(0), wide = (high - low) / most.bins
  for (const x of finite) {
    let bin = Math.min(Math.floor((x - low) / (high - low) * most.bins), most.bins - 1)
    if (x < low + bin * wide) bin-- // as numpy does: the quotient is rounded
    else if (bin < most.bins - 1 && x >= low + (bin + 1) * wide) bin++
    counts[bin]++
  }
  return { low: String(low), high: String(high), counts }
}

/** @type {(values: unknown[], most: Limits) => Found} */
function frequent(values, most) {
  if (values.some((v) => typeof v === 'object' || typeof v === 'function' || typeof v === 'symbol')) return {}
  /** @type {Map<unknown, number>} */
  const counts = new Map()
  for (const v of values) counts.set(v, (counts.get(v) ?? 0) + 1)
  /** @type {Found} */
  const found = { distinct: counts.size }
  const common = [...counts].sort((a, b) => b[1] - a[1]).slice(0, most.common)
  if (common.length && common[0][1] > 1) {
    found.common = common.map(([v, count]) => ({ text: cell(v, most.text), count }))
  }
  return found
}

// table describes an array of objects with the same keys, none of whose values holds others.
/** @type {(value: unknown, at: Place, most: Limits) => Found | undefined} */
function table(value, at, most) {
  if (types.isProxy(value) || !Array.isArray(value) || value.length < 2) return undefined
  const rows = /** @type {unknown[]} */ (value)
  const step = Math.ceil(rows.length / 1000)
  /** @type {string[] | undefined} */
  let names
  for (let i = 0; i < rows.length; i += step) {
    const row = own(rows, i)
    if (row === null || typeof row !== 'object' || types.isProxy(row) || Array.isArray(row)) return undefined
    const keys = insideOf(row) ? Object.keys(row) : []
    names ??= keys
    if (types.isMap(row) || types.isSet(row)) return undefined
    if (keys.length === 0 || keys.join('\0') !== names.join('\0')) return undefined
    if (keys.some((k) => insideOf(own(row, k)))) return undefined
  }
  if (!names) return undefined
  const from = Math.min(at.row, rows.length - 1), left = Math.min(at.column, names.length - 1)
  const shown = names.slice(left, left + most.columns)
  const apart = Math.ceil(rows.length / SAMPLE)
  /** @type {(row: unknown, name: string) => unknown} */
  const valueOf = (row, name) =>
    row !== null && typeof row === 'object' && !types.isProxy(row) ? own(row, name) : undefined
  const columns = shown.map((name) => {
    const values = []
    for (let i = 0; i < rows.length; i += apart) values.push(valueOf(own(rows, i), name))
    return { name: clipped(name, most.text), ...column(values, rows.length, most) }
  })
  const cells = Array.from({ length: Math.min(most.rows, rows.length - from) }, (_, i) => ({
    cells: shown.map((name) => cell(valueOf(own(rows, from + i), name), most.text)),
  }))
  return { table: { rows: rows.length, width: names.length, from, left, columns, cells } }
}

/** @type {(values: unknown[], length: number, most: Limits) => Found} */
function column(values, length, most) {
  const present = values.filter((v) => v !== null && v !== undefined && v === v)
  const kinds = [...new Set(present.map(typeOf))].sort()
  /** @type {Found} */
  const found = { type: kinds.slice(0, 4).join(', ') }
  if (present.length && kinds.length === 1 && kinds[0] === 'number') {
    Object.assign(found, figures(/** @type {number[]} */ (present), most))
  }
  Object.assign(found, frequent(present, most), { missing: values.length - present.length })
  if (values.length < length) found.sampled = values.length
  return found
}

// array describes a typed array.
/** @type {(value: unknown, at: Place, most: Limits) => Found | undefined} */
function array(value, at, most) {
  if (!types.isTypedArray(value)) return undefined
  const numbers = /** @type {number[]} */ (/** @type {unknown} */ (value))
  const from = Math.max(0, Math.min(at.row, numbers.length - 1))
  const cells = Array.from({ length: Math.min(most.rows, numbers.length - from) },
    (_, i) => ({ cells: [String(numbers[from + i])] }))
  return { array: { shape: [numbers.length], type: typeOf(value), from, left: 0, ...figures(numbers, most), cells } }
}

/** @type {(value: unknown) => Found | undefined} */
function image(value) {
  if (!types.isUint8Array(value) || value.length > BYTES) return undefined
  for (const [media, begin] of IMAGES) {
    if (begin.every((b, i) => value[i] === b)) return { image: { media, data: Buffer.from(value).toString('base64') } }
  }
  return undefined
}

// show returns the text of a value, or of the part that a path leads to, and its description.
/** @type {(value: unknown, at: Place | undefined, most: Limits) => { repr: string, description?: Found }} */
function show(value, at, most) {
  if (!at) return { repr: inspect(value) }
  const path = at.path ?? []
  let repr = path.length ? '' : inspect(value)
  try {
    value = follow(value, path)
    if (path.length) repr = brief(value, 2000)
    const description = image(value) ?? table(value, at, most) ?? array(value, at, most) ?? tree(value, at, most)
    return { repr, description }
  } catch { // the value cannot be described, or nothing is at the end of the path
    return { repr }
  }
}

module.exports = { show }
