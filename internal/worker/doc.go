// Package worker executes nodes of programs for other machines.
//
// A worker is handed the digest of an Action of the Remote Execution API, or its input root as a server of that API has
// made it. Package remote says what an Action is, and why its result can be believed.
package worker
