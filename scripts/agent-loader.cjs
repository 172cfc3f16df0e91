#!/usr/bin/env node
// Runs the program in the pack beside this file (scripts/agent-pack.cjs makes it). A Node that is not the one which
// compiled it refuses what is compiled, and compiles the script anew.
const { readFileSync } = require("node:fs");
const { Script } = require("node:vm");

const pack = readFileSync(`${__filename}.pack`);
const scriptEnd = 4 + pack.readUInt32LE(0);
const script = new Script(pack.toString("latin1", 4, scriptEnd), {
  filename: __filename,
  cachedData: pack.subarray(scriptEnd),
});
script.runInThisContext()(require, __filename);
