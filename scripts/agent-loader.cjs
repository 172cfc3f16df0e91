#!/usr/bin/env node
// Runs the program in the pack beside this file (scripts/agent-pack.cjs makes it). A Node that is not the one which
// compiled it refuses what is compiled, and compiles the script anew.
const { closeSync, fstatSync, openSync, readSync } = require("node:fs");
const { Script } = require("node:vm");

const file = openSync(`${__filename}.pack`);
const { size } = fstatSync(file);
// Its memory is given back at once: a buffer of its own would stay until V8 cleans up, which may take hours.
const memory = new ArrayBuffer(size, { maxByteLength: size });
const pack = Buffer.from(memory);
for (let at = 0, count = 1; count > 0; at += count) count = readSync(file, pack, at, size - at, at);
closeSync(file);
const scriptEnd = 4 + pack.readUInt32LE(0);
const script = new Script(pack.toString("latin1", 4, scriptEnd), {
  filename: __filename,
  cachedData: pack.subarray(scriptEnd),
});
memory.resize(0);
// A program that waits most of the time makes little garbage, and would keep some MB of room for it. Not before what
// it uses of Node is loaded: that comes compiled, but only for the options that Node was built with.
for (const name of ["child_process", "crypto", "fs/promises", "tty", "url"]) require(`node:${name}`);
require("node:v8").setFlagsFromString("--semi-space-growth-factor=1");
script.runInThisContext()(require, __filename);
