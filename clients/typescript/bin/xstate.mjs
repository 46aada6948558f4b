#!/usr/bin/env node
// Runs the program xstate of the package for this platform, which npm installs with the client, or that of XSTATE.
import { spawn } from "node:child_process";
import { packagedProgram } from "../dist/src/server.js";

const program = process.env.XSTATE || packagedProgram();
if (!program) {
  console.error(`xstate: there is no program for ${process.platform} ${process.arch}`);
  console.error("hint: npm install @xstate-engine/client, without --omit=optional");
  process.exit(1);
}
const child = spawn(program, process.argv.slice(2), { stdio: "inherit" });
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"]) {
  const byTerminal = process.stdin.isTTY && ["SIGINT", "SIGQUIT"].includes(signal); // it sends them to the child, too
  process.on(signal, () => byTerminal || child.kill(signal));
}
child.on("error", (e) => {
  console.error(`xstate: ${program} cannot be started: ${e.message}`);
  process.exit(1);
});
child.on("exit", (code, signal) => {
  if (!signal) process.exit(code);
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
});
