/** Reads the transcript of the thread's folder, as it is when a process of this engine starts. */
import { readFileSync } from "node:fs";
import { unboundLine } from "../../../shared/agent/bound.ts";
import { findEvent } from "../../../shared/agent/find-event.ts";
import { blobPath, threadPath } from "../../../shared/agent/paths.ts";
import type { History } from "./history.ts";

const MAX_LINE = 1024 * 1024;

/** What was cut of an event is whole again. */
export function readHistory(history: History, folder: string): void {
  for (const line of linesOf(threadPath(folder, "transcript"))) {
    if (line.length > MAX_LINE) continue;
    const event = findEvent(line);
    if (event) history.apply(unboundLine(event, (sha256) => readText(blobPath(folder, sha256))));
  }
}

/** Whether the transcript says that these deliveries were taken, and that the conversation was begun. */
export function lookAtTranscript(
  folder: string,
  sessionId: string,
  deliveryIds: readonly string[],
): { exists: boolean; delivered: Set<string> } {
  const wanted = new Set(deliveryIds);
  const delivered = new Set<string>();
  let exists = false;
  for (const line of linesOf(threadPath(folder, "transcript"))) {
    const mayTell =
      (line.includes('"engine_start"') || line.includes('"delivery_update"')) && findEvent(line);
    if (!mayTell) continue;
    if (mayTell.type === "engine_start") exists ||= mayTell.sessionId === sessionId;
    if (mayTell.type !== "delivery_update" || !wanted.has(mayTell.deliveryId)) continue;
    if (mayTell.status === "started") delivered.add(mayTell.deliveryId);
    if (mayTell.status === "queued") delivered.delete(mayTell.deliveryId);
  }
  return { exists, delivered };
}

function linesOf(path: string): string[] {
  return (readText(path) ?? "").split("\n").slice(0, -1);
}

function readText(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}
