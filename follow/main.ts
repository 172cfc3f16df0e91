import { writeSync } from "node:fs";
import { findNodeProblem } from "../shared/config.ts";
import { errorText } from "../shared/errors.ts";
import { follow } from "./run.ts";

const STDOUT = 1;
/** Ctrl-C, Ctrl-D and Ctrl-\, which the terminal does not turn into signals here. */
const ENDING_KEYS = [0x03, 0x04, 0x1c];

function fail(code: number, text: string): never {
  process.stderr.write(`threadmux follow: ${text}\n`);
  process.exit(code);
}

async function main(): Promise<void> {
  const nodeProblem = findNodeProblem(process.version);
  if (nodeProblem) fail(2, nodeProblem);
  const [specFile, ...rest] = process.argv.slice(2);
  if (specFile === undefined || rest.length > 0) fail(2, "usage: follow/main.cjs <file>");
  const stop = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => stop.abort());
  // Keys are not shown; some end the program.
  if (process.stdin.isTTY) {
    process.stdin.setRawMode(true);
    process.stdin.on("data", (keys: Buffer) => {
      if (ENDING_KEYS.some((key) => keys.includes(key))) stop.abort();
    });
  }
  try {
    process.exit(await follow(specFile, writeAll, stop.signal));
  } catch (error) {
    fail(1, errorText(error));
  }
}

/** Blocks until the pane has taken all of it, so no more is read meanwhile. */
function writeAll(text: string): void {
  const bytes = Buffer.from(text);
  for (let done = 0; done < bytes.length; ) {
    try {
      done += writeSync(STDOUT, bytes, done);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EAGAIN") throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5);
    }
  }
}

void main();
