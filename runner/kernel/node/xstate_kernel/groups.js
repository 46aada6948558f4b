'use strict'
// Which names share mutable objects.

const { createHash } = require('crypto')
const { walked, sourceOf } = require('./walk')

// fingerprint describes a value. A digest of an opaque value only says whether what can be seen of it changed.
function fingerprint(value) {
  const t = typeof value
  const w = walked((w) => w.value(value))
  const digest = w.end()
  return {
    digest, opaque: w.opaque, unsettled: w.unsettled, ids: w.ids, soft: w.soft, size: w.size, deps: w.deps,
    code: w.code, module: w.module, simple: w.simple, definition: isDefinition(value, w) ? value : undefined,
    atom: t !== 'object' && t !== 'function' && t !== 'symbol' && w.ids.size === 0,
  }
}

// isDefinition reports whether a value is a function or class of the program that shares nothing.
function isDefinition(value, w) {
  return typeof value === 'function' && w.opaque === '' && w.ids.size === 0 && sourceOf(value).own
}

const differs = (a, b) => a.digest !== b.digest || a.opaque !== b.opaque

class Groups {
  constructor() {
    this.prints = new Map() // name → fingerprint
    this.owners = new Map() // object → the name that reaches it, or a set of names
    this.kept = new Map() // digest → the function or class of the program that was bound to its own name
  }

  put(name, fp) {
    this.drop(name)
    this.prints.set(name, fp)
    if (fp.definition?.name === name && !this.kept.has(fp.digest)) this.kept.set(fp.digest, fp.definition)
    for (const ids of [fp.ids, fp.soft]) {
      for (const o of ids.keys()) {
        const who = this.owners.get(o)
        if (who === undefined) this.owners.set(o, name)
        else if (typeof who === 'string') this.owners.set(o, new Set([who, name]))
        else who.add(name)
      }
    }
  }

  // same returns the function or class that has a digest, if there is one that was not changed.
  same(digest) {
    const kept = this.kept.get(digest)
    if (kept === undefined) return undefined
    if (fingerprint(kept).digest === digest) return kept
    this.kept.delete(digest)
    return undefined
  }

  drop(name) {
    const fp = this.prints.get(name)
    if (fp === undefined) return
    this.prints.delete(name)
    for (const ids of [fp.ids, fp.soft]) {
      for (const o of ids.keys()) {
        const who = this.owners.get(o)
        if (who === name) this.owners.delete(o)
        else if (typeof who === 'object') {
          who.delete(name)
          if (who.size === 1) this.owners.set(o, [...who][0])
        }
      }
    }
  }

  // neighbours returns the names that share a mutable object with a name; with soft, also a function or class.
  neighbours(name, soft = false) {
    const found = new Set()
    const fp = this.prints.get(name)
    if (fp === undefined) return found
    for (const ids of soft ? [fp.ids, fp.soft] : [fp.ids]) {
      for (const o of ids.keys()) {
        const who = this.owners.get(o)
        if (typeof who === 'object') for (const n of who) found.add(n)
      }
    }
    found.delete(name)
    return found
  }

  // pairs returns [a, b, digest of where they share] for all pairs with a member in names.
  pairs(names) {
    const found = new Map()
    for (const name of names) {
      for (const other of this.neighbours(name)) {
        const [a, b] = name < other ? [name, other] : [other, name]
        const key = a + '\0' + b
        if (!found.has(key)) found.set(key, [a, b, this.place(a, b)])
      }
    }
    return [...found.values()].sort((p, q) => (p[0] < q[0] || (p[0] === q[0] && p[1] < q[1]) ? -1 : 1))
  }

  place(a, b) {
    const x = this.prints.get(a).ids
    const y = this.prints.get(b).ids
    const [small, large] = x.size <= y.size ? [x, y] : [y, x]
    const found = []
    for (const o of small.keys()) if (large.has(o)) found.push(`${x.get(o)} ${y.get(o)}`)
    return createHash('sha256').update(found.sort().join('\n')).digest('hex').slice(0, 20)
  }
}

// shared returns the objects that two fingerprints share.
function shared(x, y) {
  const found = new Set()
  if (x && y) for (const o of x.ids.keys()) if (y.ids.has(o)) found.add(o)
  return found
}

module.exports = { Groups, fingerprint, differs, shared }
