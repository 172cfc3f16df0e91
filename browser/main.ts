import { readFileSync } from "node:fs";
import { setPriority } from "node:os";
import { join } from "node:path";
import { BROWSER_FILES, browserSpecSchema } from "../shared/browser/spec.ts";
import { findNodeProblem } from "../shared/config.ts";
import { errorText } from "../shared/errors.ts";
import { startChromium } from "./chromium.ts";
import { openDoor } from "./door.ts";
import { Session } from "./session.ts";
import { Shown } from "./shown.ts";

/** The machine's other work goes before a page's scripts. */
const NICE = 5;

function fail(code: number, text: string): never {
  process.stderr.write(`threadmux browser: ${text}\n`);
  process.exit(code);
}

async function main(): Promise<void> {
  const nodeProblem = findNodeProblem(process.version);
  if (nodeProblem) fail(2, nodeProblem);
  const [folder, ...rest] = process.argv.slice(2);
  if (folder === undefined || rest.length > 0) fail(2, "usage: browser/main.cjs <folder>");
  const stop = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => stop.abort());
  try {
    setPriority(NICE);
    process.chdir(folder); // a socket's path has to be short
    const spec = browserSpecSchema.parse(JSON.parse(readFileSync(join(folder, BROWSER_FILES.spec), "utf8")));
    const print = (line: string) => void process.stdout.write(`${line}\n`);
    const shown = new Shown(folder, spec.url, print, Date.now);
    const session = new Session({
      spec,
      folder,
      shown,
      start: startChromium,
      env: process.env,
      now: Date.now,
    });
    await openDoor(BROWSER_FILES.door, (call) => session.answer(call));
    await session.run(stop.signal).catch((error: unknown) => {
      shown.set({ status: "failed", note: errorText(error) });
      throw error;
    });
    process.exit(0);
  } catch (error) {
    fail(1, errorText(error));
  }
}

void main();
