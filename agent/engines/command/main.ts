/**
 * The engine `command`: our program around a person's own one, which it runs once a message. It reads lines from the
 * runner, writes lines for it, and survives it.
 */
import { fsyncSync, writeSync } from "node:fs";
import { createInterface } from "node:readline";
import { type FromAdapter, toAdapter } from "./protocol.ts";
import { type ProgramRun, runProgram } from "./run-program.ts";

const STANDARD_OUTPUT = 1;
const [program = "", ...args] = process.argv.slice(2);

let isOpen = false;
let current: { run: ProgramRun; isInterrupted: boolean } | undefined;
/** Deliveries that were taken: one that comes again, from the next runner, is not run again. */
const taken = new Set<string>();
const waiting: { id: string; text: string }[] = [];

function say(line: FromAdapter): void {
  const bytes = Buffer.from(`${JSON.stringify(line)}\n`);
  for (let done = 0; done < bytes.length; ) done += writeSync(STANDARD_OUTPUT, bytes, done);
}

async function work(): Promise<void> {
  for (let next = waiting.shift(); next; next = waiting.shift()) {
    const { id, text } = next;
    say({ type: "taken", id });
    fsyncSync(STANDARD_OUTPUT);
    const startedMs = performance.now();
    const started = { run: runProgram(program, args, text), isInterrupted: false };
    current = started;
    const { text: answer, problem } = await started.run.end;
    current = undefined;
    const durationMs = Math.round(performance.now() - startedMs);
    const { isInterrupted } = started;
    say({
      type: "answer",
      id,
      text: answer,
      isInterrupted,
      durationMs,
      ...(problem === undefined ? {} : { problem }),
    });
  }
}

function take(text: string): void {
  const line = toAdapter.parse(JSON.parse(text));
  switch (line.op) {
    case "open":
      if (!isOpen) say({ type: "ready" });
      isOpen = true;
      return;
    case "deliver":
      if (taken.has(line.id)) return;
      taken.add(line.id);
      waiting.push(line);
      if (!current && waiting.length === 1) void work();
      return;
    case "interrupt":
      if (!current) return;
      current.isInterrupted = true;
      current.run.interrupt();
      return;
    case "end":
      process.exit(0);
  }
}

createInterface({ input: process.stdin }).on("line", take);
