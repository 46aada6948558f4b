// Package keeper is the small process between the engine and the interpreter of a box. Every program that imports
// package sandbox can be its own keeper: the engine starts itself again with Name as argument zero, and the init
// function of this package takes over before the packages of the program are initialised. So this package imports
// little, and it must stay so.
//
// The keeper has two sides. One thread, not the first, puts the bounds and the filter on itself and starts the
// interpreter, which inherits them. That thread then waits for ever, because the interpreter dies with it. All other
// threads stay free of bounds and filter: they speak with the engine and reap.
//
// On the control socket the engine sends a Setup. The keeper answers with a Reply that carries the listener of the
// filter, and with a second one that has the process id of the interpreter. After that, the socket means only one
// thing: when it ends, the box ends. It ends when the engine closes it, and also when the engine is killed.
//
// The keeper adopts every process of the box whose parent ended. When the interpreter has ended, the keeper kills all
// others, and then ends in the same way as the interpreter: with its exit status, or by its signal.
package keeper
