// The stored form of a group of values, which V8 serializes. Each object is a record. A reference names one by number.

// Reference is a primitive, or says which object a value is.
export type Reference = string | number | boolean | bigint | null | Pointer

// Pointer has one of these.
export interface Pointer {
  r?: number // the record of an object
  b?: string // the name of an object that every program has
  y?: string // the key of a symbol of Symbol.for
  w?: string // the name of a well-known symbol
  u?: 1 // undefined
  t?: 1 // a variable that is not initialized
}

// Inside is what an object holds beside its properties.
export type Inside =
  | { k: 'array', n: number, lw: boolean | undefined, e: Reference[] } // length, whether that can be set, elements
  | { k: 'map', e: Reference[] } // keys and values by turns
  | { k: 'set', e: Reference[] }
  | { k: 'date', v: number }
  | { k: 'regexp', v: [source: string, flags: string, lastIndex: Reference] }
  | { k: 'buffer', v: Buffer, m: number | undefined } // m: the most that it may grow to; -1: it has a fixed length
  | { k: 'view', c: string, b: Reference, at: number, n: number } // class, buffer, offset, length
  | { k: 'error', s: string } // stack
  | { k: 'boxed', v: Reference }
  | { k: 'url', v: string }
  | { k: 'object' }
  | Code

// Code is a function or class of the program.
export interface Code {
  k: 'function' | 'class'
  t: string // text
  decl?: string // the declaration that it comes from
  strict: boolean
  base?: Reference // the class that it extends
  scopes?: Reference[] // whose variables it captures, the innermost first
  bound?: [name: string, digest: string] // it is the value of another name
  self?: string // digest of a function that is the value of its own name
  statics?: Reference[] // values of private static fields
}

// Outside is what every object has.
export interface Outside {
  p: Reference // prototype
  x?: 1 // it cannot be extended
  // Properties: for each its key, its flags and its value. Flags: 1 enumerable, 2 configurable, 4 writable, 8 accessor.
  o: (Reference | [get: Reference, set: Reference])[]
  h?: [prototype: Reference, values: Reference[]][] // private fields
}

export interface SymbolRecord {
  k: 'symbol'
  d: string | undefined // description
}

// ScopeRecord is the variables of one execution of a scope.
export interface ScopeRecord {
  k: 'scope'
  id: number
  names: string[]
  values: Reference[]
}

export type ObjectRecord = Inside & Outside
export type StoredRecord = SymbolRecord | ScopeRecord | ObjectRecord

// Stored is a group.
export interface Stored {
  roots: Reference[]
  constants: boolean[]
  records: StoredRecord[]
  list: string[] // names
}

// Simple is a group of values that V8's format keeps as they are.
export interface Simple {
  simple: unknown[]
  constants: boolean[]
}
