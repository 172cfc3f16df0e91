/** The engine `acp`: our program around an agent that speaks the Agent Client Protocol. */
import { fsyncSync, readFileSync, writeSync } from "node:fs";
import { createInterface } from "node:readline";
import { Adapter } from "./adapter.ts";
import { findKnown } from "./known.ts";
import { type FromAdapter, specSchema, toAdapter } from "./protocol.ts";

const STANDARD_OUTPUT = 1;
const STANDARD_ERROR = 2;
/** With the one of setting a mode together less than the 120 seconds that the runner waits for an engine to open. */
const DEADLINES = { initializeMs: 45_000, sessionMs: 45_000, quietMs: 20_000 };
const CANCEL_MS = 10_000;
/** A model may think for minutes before it says a word. */
const SILENCE = { quietMs: 60_000, endMs: 600_000 };

function say(line: FromAdapter, isDurable = false): void {
  write(STANDARD_OUTPUT, `${JSON.stringify(line)}\n`);
  if (isDurable) fsyncSync(STANDARD_OUTPUT);
}

function write(file: number, text: string): void {
  const bytes = Buffer.from(text);
  for (let done = 0; done < bytes.length; ) done += writeSync(file, bytes, done);
}

const spec = specSchema.parse(JSON.parse(readFileSync(process.argv[2] ?? "", "utf8")));
const adapter = new Adapter({
  spec,
  env: { ...findKnown(spec.program)?.env, ...process.env },
  deadlines: DEADLINES,
  cancelMs: CANCEL_MS,
  silence: spec.silentSeconds === undefined ? SILENCE : { ...SILENCE, endMs: spec.silentSeconds * 1_000 },
  say,
  log: (text) => write(STANDARD_ERROR, `${text}\n`),
  exit: (code) => process.exit(code),
});
createInterface({ input: process.stdin }).on("line", (line) =>
  adapter.take(toAdapter.parse(JSON.parse(line))),
);
