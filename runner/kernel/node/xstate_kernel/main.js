'use strict'
// The driver of Node: one request at a time, each answered by events and one reply.

const fds = process.env.XSTATE_KERNEL_FDS.split(',').map(Number)
delete process.env.XSTATE_KERNEL_FDS
const callsFd = Number(process.env.XSTATE_CALLS_FD)
delete process.env.XSTATE_CALLS_FD

const { Channel } = require('./frames')
const channel = new Channel(fds[0], fds[1])
const first = channel.receive()
if (first === null) process.exit(0)

const { Kernel } = require('./kernel')
const kernel = new Kernel(channel, first.header, [fds[2], fds[3]], callsFd)
channel.send('hello', {})
kernel.serve()
