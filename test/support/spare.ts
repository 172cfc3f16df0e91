/**
 * More files at once than the smallest machine has cores, as long as its cores have time to spare: most end-to-end tests
 * wait rather than work. So many as `STEADY_WORKERS` run always, so that a run on a busy machine is one of two workers.
 */
import { mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { cpus } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { workersFolder } from "./folders.ts";

/** The workers that run a file at once, however busy the machine is. */
const STEADY_WORKERS = 2;
/** All of them. */
export const MAX_WORKERS = 5;
/** The share of all cores' time that has to be idle before a further worker begins. */
const SPARE = 0.35;
/** Over so long it is looked at. A worker with a higher number looks longer, so that two do not take the same room. */
const LOOK_MS = 700;

/** Waits until this worker may begin with its next file. @returns what to call when the file is through. */
export async function takePlace(workerId: string): Promise<() => void> {
  const folder = workersFolder();
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const mine = join(folder, workerId);
  rmSync(mine, { force: true }); // of a file that could not be loaded
  while (readdirSync(folder).length >= STEADY_WORKERS && !(await hasRoom(LOOK_MS + Number(workerId) * 100)));
  writeFileSync(mine, "");
  return () => rmSync(mine, { force: true });
}

async function hasRoom(lookMs: number): Promise<boolean> {
  const before = times();
  await sleep(lookMs);
  const after = times();
  return (after.idle - before.idle) / (after.all - before.all) >= SPARE;
}

/** Of all cores since the machine's start, in milliseconds. */
function times(): { idle: number; all: number } {
  const sum = { idle: 0, all: 0 };
  for (const { times } of cpus()) {
    sum.idle += times.idle;
    for (const one of Object.values(times)) sum.all += one;
  }
  return sum;
}
