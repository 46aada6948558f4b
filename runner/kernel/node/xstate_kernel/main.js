'use strict'
// The driver of Node: one request at a time, each answered by events and one reply.

const fds = String(process.env.XSTATE_KERNEL_FDS).split(',').map(Number)
delete process.env.XSTATE_KERNEL_FDS
const callsFd = Number(process.env.XSTATE_CALLS_FD)
delete process.env.XSTATE_CALLS_FD

// Buffers cut from a pool would share memory with unrelated ones, at places that depend on what ran before. The option
// --zero-fill-buffers makes equal what is in a buffer before it is written.
Buffer.poolSize = 0
process.execArgv.length = 0 // a program has no options, nor those that it forks

const { Channel } = require('./frames')
const channel = new Channel(fds[0], fds[1])
const first = channel.receive()
if (first === null) process.exit(0)

const { Kernel } = require('./kernel')
const kernel = new Kernel(channel, first.header, [fds[2], fds[3]], callsFd)
channel.send('hello', {})
kernel.serve()
