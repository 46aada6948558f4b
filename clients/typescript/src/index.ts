/** Executes an agent's code block by block, and runs again only what an edit affects. */

export type * as documents from "./documents.js";
export { Engine } from "./engine.js";
export type { ActiveRun, CallOptions, OnEvent } from "./engine.js";
export { ExecutionError, XStateError } from "./errors.js";
export { Spent, ToolNotSent, ToolRefused } from "./offers.js";
export type { CallContext, Offers, Tool, ToolFunction } from "./offers.js";
export { ExecResult, Image } from "./result.js";
export type { Counts } from "./result.js";
export type { EngineOptions, Origin } from "./server.js";
export type { Session } from "./session.js";
export type {
  ApproveOptions,
  CallsOptions,
  EditOptions,
  ExecOptions,
  ForkOptions,
  RollbackOptions,
  RunOptions,
  UndoOptions,
} from "./session.js";
export { VERSION } from "./version.js";
