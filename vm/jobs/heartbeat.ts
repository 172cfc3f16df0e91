/** Heartbeats: jobs whose agent says whether all is well, and what a monitor is told of them. */
import { closeSync, readSync } from "node:fs";
import { join } from "node:path";
import { openRegular } from "../../shared/regular-file.ts";
import type { JobRunRow } from "../store/job-runs.ts";
import type { JobRow } from "../store/jobs.ts";
import { LONGEST_SLEEP_MS } from "./decide.ts";

const FILE = "HEARTBEAT.md";
const MAX_BYTES = 64 * 1024;
/** The number of a heartbeat's newest runs that are looked at. */
export const RUNS_LOOKED_AT = 20;
/** How long an agent has from the begin of its turn to report. */
export const ANSWER_MS = 5 * 60_000;

/** Whether the file of a directory asks for something: it has more than headings and blank lines. */
export function hasHeartbeat(path: string): boolean {
  const text = findText(join(path, FILE));
  return text.split("\n").some((line) => line.trim() !== "" && !/^\s*#{1,6}(\s|$)/.test(line));
}

/** Empty if it is not there, a link, or no file. */
function findText(path: string): string {
  let file: number | undefined;
  try {
    file = openRegular(path, false);
    const bytes = Buffer.alloc(MAX_BYTES);
    return bytes.subarray(0, readSync(file, bytes, 0, MAX_BYTES, 0)).toString();
  } catch {
    return ""; // there is nothing that asks for something
  } finally {
    if (file !== undefined) closeSync(file);
  }
}

/** Why a heartbeat's run is no sign that all is well; undefined if it is one, or may still become one. */
export function whySilent(run: JobRunRow, nowMs: number, turnSince: number | undefined): string | undefined {
  if (run.report) return run.report.ok ? undefined : "it says that not all is well";
  if (["claimed", "started"].includes(run.status)) {
    const since = turnSince ?? (run.status === "started" ? undefined : run.claimedAt);
    const isLate = since !== undefined && nowMs - since > ANSWER_MS;
    return isLate ? "it has not reported within 5 min" : undefined;
  }
  if (run.status === "skipped")
    return run.reason?.startsWith("cap: ") ? "its money for the day is spent" : undefined;
  return run.status === "done" ? "it ended without a report" : `its run has ${run.status}`;
}

/** While a run hangs, the instants after it are skipped: they say nothing of whether all is well. */
const isBusy = ({ status, reason }: JobRunRow) =>
  status === "skipped" && reason?.startsWith("busy: ") === true;

/**
 * Whether a monitor is told that all is well.
 * @param runs the newest {@link RUNS_LOOKED_AT}, the newest first
 */
export function isWell({ state, nextDue }: JobRow, runs: readonly JobRunRow[], nowMs: number): boolean {
  if (state !== "active" || nextDue === null || nowMs - nextDue > 2 * LONGEST_SLEEP_MS) return false;
  // The run that hangs lies further back.
  if (runs.length >= RUNS_LOOKED_AT && runs.every(isBusy)) return false;
  const judged = runs
    .filter((run) => !isBusy(run))
    .find(
      ({ report, endedAt, claimedAt }) =>
        report !== null || endedAt !== null || nowMs - claimedAt > ANSWER_MS,
    );
  return judged === undefined || whySilent(judged, nowMs, judged.claimedAt) === undefined;
}
