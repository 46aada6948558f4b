// Package node is the languages JavaScript and TypeScript as Node runs them, behind kernel.Language.
//
// An Interpreter is a Node on this machine, found by Find and identified by Identify. Its kernels run the driver, which
// is the folder xstate_kernel: it is embedded in the binary, and installed on disk once.
//
// # How a node of the program is executed
//
// The names of the program are properties of the global object. Transform makes a plan of the text of a node: it
// replaces declarations by assignments, so that positions stay. The driver executes the plan as a script. Before each
// node it puts an accessor in the place of each name, which notes the first read and then makes way for the value.
//
// # What a value is
//
// After a node the driver finds what the node bound and what it changed in place. A walk writes each value that is new
// as bytes, for its digest, and numbers the objects that it meets. A value that the node only read is compared with
// what its walk met, and walked again only if it changed.
//
// Walks are fast because objects have layouts (shapes.js): everything about an object except the values that it holds
// is determined once, for one object of a layout. The others are compared with that one by V8's own map of an object,
// which holds the kind, the prototype, the keys, their order and their attributes. Maps are compared within one walk,
// or one comparison, while no code of the program runs. Where two maps differ, or Node cannot compare them, an object
// is asked itself (Walk.object), and the bytes are the same.
//
// Which objects values share is known from their places (identities.js). A walk that meets objects in an order like the
// one in which others met them tries the places beside the last one, before it asks the table. A place has one object,
// so one that has the object is the one that the table has.
//
// A value is unchanged if each object that its walk met has the level that it had (levels.js): the same layout, and the
// identical values in the same order. The bytes of a walk, and the way that it goes, follow from the levels. So by
// induction over the way of the walk, one from the same root would meet the same objects and write the same bytes.
// Levels hold what objects held, not copies of it: with them a list of objects takes up to twice the memory of the list
// itself. Values are not compared but walked if anything else that a walk looks at has changed: names of objects of
// Node and of packages, parts of workspace modules, and open files. So are values with more than some thousand unusual
// objects, and those that the driver cannot look into.
//
// Between two nodes the driver waits for the engine without Node's loop, so no code of the program runs. Findings after
// one node hold when the next begins, for every name that is bound to the value.
//
// # Modules of the workspace
//
// The content of a module is state of the program, with a key for each module (held:NAME). After a node that can reach
// one, the state of each module is walked: what it exports, with the variables of its functions. A node can reach the
// module in whose text a function of a value that it read is, what that module imports, and the modules whose functions
// it holds. If the text of a function is in no module, a node can reach all modules. The exports of a module, as a
// whole and each function, belong to its own state alone: else a module that imports all others would change with each.
// Other objects are in the states of all modules that hold them, because nothing says whose they are.
//
// A name whose value is a part of a module is bound before a node that may change the module, and the node reads which
// names these are. A module that holds what no walk can look into has no digest. A change of it is one of the
// interpreter (conf:modules), which all later nodes read. Only a new interpreter has modules as they were before a
// change: they may have handed parts to each other, and to values that no walk can look into.
//
// # Packages
//
// The content of an installed package (a locale, plugins, default options) is state of the program, too, with a key for
// each package (held:npm:NAME). It mostly lies in variables that no walk reaches, and to read them through the
// inspector takes up to 2 ms a function. So no digest says what a package holds: the engine names it by lineage, by the
// text of the node that has set it and what this has read, the package itself among it.
//
// A node may have set a package if its text, or that of a function which it read, assigns to a property of what
// reaches the package, calls a function of it and uses no result, or calls one whose name says that it sets something
// (sets.go). A variable of a function may be any package that the node has read. Functions that call back, print or
// assert, by their names, set nothing. Those that change or check an object set only the package that it is a part of.
// A load whose result is not used sets the package of the module. The text of a workspace module is searched for the
// same.
//
// A node can reach the packages that have a part in a value which it read. A node that reaches a workspace module, or a
// function whose text is in none, can reach all packages that the program or such a module has asked for.
//
// Modules of Node have names, and what they hold is not looked at. Their properties are compared with those that they
// had: a program may replace functions of fs. While it has files open by number, fs has no name: only its functions
// show who uses such a number.
//
// # Scripts
//
// Plain Node executes the statements of a script in one turn of its loop: callbacks come after the last one. So in a
// script the driver answers request after request without a return to the loop, as long as no node waits, and no
// callback runs between two nodes unobserved. An asynchronous hook shows whether a node has left something that calls
// back. That is a change of the interpreter which only a new one is without, and the end of the script drains the loop.
// Timers are set again when the program continues, in the order in which they are due by the time that nodes took.
//
// To wait after each node, as for cells, runs a timer before the next statement. To keep what calls back in a queue of
// the driver's would have to know all of Node. A node that has begun to use files is waited for all the same: the
// engine restores files before the next node, and must not do so while one is being written.
//
// # Semantics
//
// Keys of results hold the constant Semantics, and not the text of the driver. TestSemantics fails when the code of the
// driver changed since the constant did.
package node
