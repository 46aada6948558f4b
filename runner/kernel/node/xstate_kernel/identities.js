'use strict'
// The objects that values reach, by number: which of them two values share is found in lists of numbers. An object has
// a place from the first walk that meets it, for as long as a name, or a value that is put aside, reaches it. So one
// table has all objects, and a walk looks each of them up once.

/** @typedef {object | symbol} Identity what names can share */
/** @typedef {ArrayLike<number>} Places of objects */

/** @type {Map<Identity, number>} */
const at = new Map() // object → its place
/** @type {(Identity | undefined)[]} */
const objects = [] // by place
/** @type {number[]} */
const free = [] // places without an object
/** @type {Places[]} */
const recent = [] // met by walks, or let go, since the last call of settle

// columns has what is known of the objects, by place.
const columns = {
  uses: new Int32Array(1024), // how many values that are kept reach the object
  owner: new Int32Array(1024), // number of the set of the names that reach it, see Groups
  turn: new Int32Array(1024), // the walk or question that met it last
  number: new Int32Array(1024), // what that noted of it
  named: new Int32Array(1024), // how many intrinsics there were when it was none of them
}
let turn = 0
const AHEAD = 4 // places that are tried after the one that was found last
let last = 0 // the place that was found or given last
let step = 1 // from the one before it

function grow() {
  for (const k of /** @type {(keyof typeof columns)[]} */ (Object.keys(columns))) {
    const more = new Int32Array(2 * columns[k].length)
    more.set(columns[k])
    columns[k] = more
  }
}

// add returns the place of an object that has none.
/** @type {(o: Identity) => number} */
function add(o) {
  const place = free.pop() ?? objects.length
  if (place === columns.uses.length) grow()
  at.set(o, place)
  objects[place] = o
  last = place
  return place
}

// find returns the place of an object, if it has one. Each object has one place, and each place one object, so a place
// that has it is the one that the table would return. It is often near: what was met in a row is often met again in
// that order, as a whole, without some, or each so many. To look into the table takes much longer than to try these.
/** @type {(o: Identity) => number | undefined} */
function find(o) {
  const n = objects.length
  const far = last + step
  if (far >= 0 && far < n && objects[far] === o) return last = far
  for (let p = last + 1; p <= last + AHEAD && p < n; p++) {
    if (objects[p] !== o) continue
    step = p - last
    return last = p
  }
  const place = at.get(o)
  if (place !== undefined) {
    step = place - last
    last = place
  }
  return place
}

// begin returns the number of a walk or a question.
function begin() {
  return ++turn
}

// note notes that a walk met objects. Those that nothing keeps lose their places at the next call of settle.
/** @type {(places: Places) => void} */
function note(places) {
  recent.push(places)
}

/** @type {(places: Places) => void} */
function keep(places) {
  const { uses } = columns
  for (let i = 0; i < places.length; i++) uses[places[i]]++
}

/** @type {(places: Places) => void} */
function letGo(places) {
  const { uses } = columns
  for (let i = 0; i < places.length; i++) uses[places[i]]--
  note(places)
}

// settle takes the places of objects that nothing keeps.
function settle() {
  const { uses, owner, turn, named } = columns
  for (const places of recent) {
    for (let i = 0; i < places.length; i++) {
      const p = places[i]
      const o = objects[p]
      if (uses[p] > 0 || o === undefined) continue
      at.delete(o)
      objects[p] = undefined
      owner[p] = turn[p] = named[p] = 0
      free.push(p)
    }
  }
  recent.length = 0
}

// both returns where the places that are in two lists are in each, in the order of the first: i, j, i, j, …
/** @type {(a: Places, b: Places) => Int32Array} */
function both(a, b) {
  const mine = begin()
  const { turn, number } = columns
  for (let j = 0; j < b.length; j++) {
    turn[b[j]] = mine
    number[b[j]] = j
  }
  const found = new Int32Array(2 * (a.length < b.length ? a.length : b.length))
  let n = 0
  for (let i = 0; i < a.length; i++) {
    if (turn[a[i]] !== mine) continue
    found[n++] = i
    found[n++] = number[a[i]]
  }
  return found.slice(0, n)
}

// without returns the places of one list that are not in another.
/** @type {(a: Places, b: Places) => Int32Array} */
function without(a, b) {
  const mine = begin()
  const { turn } = columns
  for (let i = 0; i < b.length; i++) turn[b[i]] = mine
  const found = new Int32Array(a.length)
  let n = 0
  for (let i = 0; i < a.length; i++) if (turn[a[i]] !== mine) found[n++] = a[i]
  return found.slice(0, n)
}

module.exports = { at, objects, columns, add, find, begin, note, keep, letGo, settle, both, without }
