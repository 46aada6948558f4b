'use strict'
// The private fields of classes: how they are read and set, see transform.go.

/**
 * @typedef {object} Statics the private fields of a class itself
 * @property {string} names
 * @property {() => unknown[]} get
 * @property {(values: unknown[]) => void} set
 */
/**
 * @typedef {object} Privates the private fields of the instances of a class
 * @property {string} names
 * @property {(o: object) => boolean} has
 * @property {(o: object) => unknown[]} get
 * @property {(o: object, values: unknown[]) => void} set
 */

/** @type {WeakMap<object, Privates>} */
const privates = new WeakMap() // prototype of a class → the same of its instances
/** @type {WeakMap<Function, Statics>} */
const statics = new WeakMap() // class → the same of its static ones

module.exports = { privates, statics }
