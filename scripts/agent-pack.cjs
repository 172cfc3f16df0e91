// Packs a script with what V8 makes of it: agent-pack.cjs SCRIPT PACK. One file, so that nobody ever finds the one
// without its other: V8 knows a script by its length alone. The pack is the script's length in four bytes, the script,
// and all of its functions compiled, because one that is compiled when it is first called costs a start as much.
const { readFileSync, writeFileSync } = require("node:fs");
const { setFlagsFromString } = require("node:v8");
const { Script } = require("node:vm");

const [source, pack] = process.argv.slice(2);
const text = readFileSync(source);
setFlagsFromString("--no-lazy");
const script = new Script(text.toString("latin1"), { filename: source });
// Before the data is made: it names the options that hold when it is.
setFlagsFromString("--lazy");
const length = Buffer.alloc(4);
length.writeUInt32LE(text.length);
writeFileSync(pack, Buffer.concat([length, text, script.createCachedData()]));
