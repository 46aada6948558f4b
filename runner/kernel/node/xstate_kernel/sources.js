'use strict'
// Texts of functions: what the program sees of them, and what is known of them.

/**
 * @typedef {object} Source what is known of the text of a function
 * @property {string} text
 * @property {boolean} own the text is the program's
 * @property {string} captures the numbers of the scopes whose variables it uses, or ''
 * @property {string[]} sets names by which it may set what a package holds
 * @property {boolean} isClass
 */

const text = Function.prototype.toString

const LAST = /\/\*@xs([^*]*)\*\/\}$/ // the mark of a function with a body in braces, and of a class
const FIRST = /\/\*@xe([^*]*)\*\// // the mark of an arrow whose body is an expression

// original returns a text without what the transform has put into it, see transform.go and captures.go.
/** @type {(code: string) => string} */
function original(code) {
  if (!code.includes('@x') && !code.includes('__xs')) return code
  return code
    .replace(/\{const __xs\d+=\(__xs_k,__xs_v,__xs_w\)=>\{switch\(__xs_k\)\{.*?,__xs\d+\]\}\};return\(/g, '')
    .replace(/const __xs\d+=\(__xs_k,__xs_v,__xs_w\)=>\{switch\(__xs_k\)\{.*?,__xs\d+\]\}\};/g, '')
    .replace(/\/\*@xb\*\/\)(\/\*@xs[^*]*\*\/)?\}/g, (m, mark) => (mark ? '' : m.slice(0, -1) === '/*@xb*/)' ? '' : m))
    .replace(/static\{__xs_private\(this,"[^"]*",o=>.*?v\)=>\{(?:\[[^\]]*\]=v)?\}(?:,"[^"]*",\(\)=>.*?=v\})?\)\}/g, '')
    .replace(/if\(__xs_bare\)(?:return;|\{super\(\);return\})/g, '')
    .replace(/__xs_bare\?void 0:\(/g, '').replace(/\/\*@xb\*\/\)/g, '')

    .replace(/\/\*@x[se][^*]*\*\//g, '').replace(/__xs_import/g, 'import').replace(/__xs_meta/g, 'import.meta')
}

/** @type {WeakMap<Function, string>} */
const declared = new WeakMap() // function → the declaration that it comes from

// textOf is what a program sees of the text of a function.
/** @type {(f: Function) => string} */
function textOf(f) {
  return declared.get(f) ?? original(text.call(f))
}

/** @type {WeakMap<Function, Source>} */
const sources = new WeakMap() // function → what is known of its text

// sourceOf returns what is known of a function: its text, whether it is the program's, a class, and names in it.
/** @type {(f: Function) => Source} */
function sourceOf(f) {
  let s = sources.get(f)
  if (s === undefined) {
    s = describe(text.call(f))
    sources.set(f, s)
  }
  return s
}

/** @type {(code: string) => Source} */
function describe(code) {
  const mark = LAST.exec(code) ?? (code.endsWith('/}') ? null : FIRST.exec(code))
  const [captures, sets] = mark !== null ? mark[1].trim().split(';') : ['']
  return { text: code, own: mark !== null, captures, sets: sets?.split(',') ?? [], isClass: /^class\b/.test(code) }
}

/** @type {Map<string, Set<string>>} */
const namesIn = new Map() // text → names

const WORDS = new Set(('break case catch class const continue debugger default delete do else export extends finally ' +
  'for function if import in instanceof new return super switch this throw try typeof var void while with yield let ' +
  'static async await of get set null true false undefined arguments').split(' '))

const NAME = /((?<!\.)\.\s*|#)?([A-Za-z_$\u0080-\uffff][\w$\u0080-\uffff]*)/g // with what is before it

// namesOf returns the names that a text may load: a superset.
/** @type {(code: string) => Set<string>} */
function namesOf(code) {
  let found = namesIn.get(code)
  if (found === undefined) {
    found = new Set()
    for (const [, dot, name] of original(code).matchAll(NAME)) {
      if (!dot && !WORDS.has(name) && !name.startsWith('__xs_')) found.add(name)
    }
    namesIn.set(code, found)
  }
  return found
}

// known gives a function the text that it had before it was stored.
/** @type {(f: Function, code: string) => void} */
function known(f, code) {
  sources.set(f, describe(code))
}

module.exports = { known, declared, textOf, sourceOf, namesOf }
