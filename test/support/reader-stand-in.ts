/** The stand-in engine as a hook's reader: it keeps what it was told and answers the same each time. */
import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { STAND_IN } from "./agents.ts";

export const READER_ANSWER = { kind: "failure", urgent: true, numbers: [3], ids: ["abc1234"] };

/**
 * Writes a program into `folder` that answers a reader's start with `READER_ANSWER` and is the stand-in engine
 * otherwise. A reader alone is started with a budget, which tells the two apart.
 *
 * @returns the program's path, and the file that holds what the newest reader was told.
 */
export function writeReaderStandIn(folder: string): { program: string; told: string } {
  const program = join(folder, "agent.mjs");
  const told = join(folder, "told");
  const answer = { type: "result", structured_output: READER_ANSWER, total_cost_usd: 0.01 };
  writeFileSync(
    program,
    `#!${process.execPath}
if (!process.argv.includes("--max-budget-usd")) await import(${JSON.stringify(STAND_IN)});
else {
  const { text } = await import("node:stream/consumers");
  const { writeFileSync } = await import("node:fs");
  writeFileSync(${JSON.stringify(told)}, await text(process.stdin));
  console.log(${JSON.stringify(JSON.stringify(answer))});
}
`,
  );
  chmodSync(program, 0o755);
  return { program, told };
}
