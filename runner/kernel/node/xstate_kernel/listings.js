'use strict'
// Listings of folders without the store: a program sees of its folder what it would see without the engine. As in the
// kernel of Python, what it starts sees all.

const fs = require('fs')
const path = require('path')
const { fileURLToPath } = require('url')

/** @typedef {string | Buffer | fs.Dirent} Entry */

class Listings {
  /** @param {string} store the real path of its folder @param {(p: string) => string} real */
  constructor(store, real) {
    this.store = store
    this.real = real
  }

  // shown returns what a listing of a folder shows to the program. found may be a promise of it.
  /** @type {(folder: unknown, found: unknown) => unknown} */
  shown(folder, found) {
    if (found instanceof Promise) return found.then((all) => this.shown(folder, all))
    const at = Array.isArray(found) ? this.above(folder) : null
    return at === null ? found : /** @type {Entry[]} */ (found).filter((e) => !this.within(at, e))
  }

  // then returns a callback of a listing that is given what shown returns.
  /** @type {(folder: unknown, then: unknown) => unknown} */
  then(folder, then) {
    if (typeof then !== 'function') return then
    const l = this
    return /** @type {(this: unknown, ...args: unknown[]) => unknown} */ (function (e, found) {
      return Reflect.apply(then, this, arguments.length < 2 ? arguments : [e, l.shown(folder, found)])
    })
  }

  // watch has the entries of an open folder pass by the store, too.
  watch() {
    const l = this
    const { readSync, read, [Symbol.asyncIterator]: entries } = fs.Dir.prototype
    /** @type {(d: fs.Dir, e: fs.Dirent | null) => boolean} */
    const hidden = (d, e) => {
      const at = e === null ? null : l.above(d.path)
      return at !== null && l.within(at, /** @type {fs.Dirent} */ (e))
    }
    const all = {
      /** @this {fs.Dir} */
      readSync() {
        const e = Reflect.apply(readSync, this, arguments)
        return hidden(this, e) ? Reflect.apply(readSync, this, arguments) : e
      },
      /** @this {fs.Dir} @param {(...args: any[]) => void} [then] */
      read(then) {
        if (typeof then !== 'function') {
          return Reflect.apply(read, this, []).then((/** @type {fs.Dirent | null} */ e) =>
            hidden(this, e) ? Reflect.apply(read, this, []) : e)
        }
        return Reflect.apply(read, this, [(/** @type {unknown} */ e, /** @type {fs.Dirent | null} */ d) =>
          !e && hidden(this, d) ? Reflect.apply(read, this, [then]) : then(e, d)])
      },
      /** @this {fs.Dir} */
      async *entries() {
        for await (const e of Reflect.apply(entries, this, [])) {
          if (!hidden(this, e)) yield e
        }
      },
    }
    for (const [name, value] of [...Object.entries(all), [Symbol.asyncIterator, all.entries]]) {
      const was = Object.getOwnPropertyDescriptor(fs.Dir.prototype, /** @type {string} */ (name))
      if (was) Object.defineProperty(fs.Dir.prototype, /** @type {string} */ (name), { ...was, value })
    }
  }

  // above returns the real path of a folder that the store lies in; null: it lies elsewhere.
  /** @type {(folder: unknown) => string | null} */
  above(folder) {
    try {
      const text = folder instanceof URL ? fileURLToPath(folder) : String(folder)
      const at = this.real(path.resolve(text))
      return this.store.startsWith(at.endsWith(path.sep) ? at : at + path.sep) ? at : null
    } catch {
      return null
    }
  }

  // within reports whether an entry of a listing of the folder at is the store or lies in it.
  /** @type {(at: string, e: Entry) => boolean} */
  within(at, e) {
    let name = e
    if (typeof e === 'object' && !Buffer.isBuffer(e)) {
      name = path.join(e.parentPath === undefined ? at : this.real(path.resolve(e.parentPath)), String(e.name))
    }
    return (path.resolve(at, String(name)) + path.sep).startsWith(this.store + path.sep)
  }
}

module.exports = { Listings }
