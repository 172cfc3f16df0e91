/** Reads the transcript of the thread's folder, as it is when a process of this engine starts. */
import { readFileSync } from "node:fs";
import { unboundLine } from "../../../shared/agent/bound.ts";
import { findEvent } from "../../../shared/agent/find-event.ts";
import { blobPath, threadPath } from "../../../shared/agent/paths.ts";
import { LineFile } from "../../folder/line-file.ts";
import { linesBack } from "../../folder/lines-back.ts";
import type { History } from "./history.ts";

const MAX_LINE = 1024 * 1024;

/** Reads the history of events whose cut parts are put together again. A conversation that was begun anew knows nothing of what came before it. */
export function readHistory(history: History, folder: string): void {
  const path = threadPath(folder, "transcript");
  const file = new LineFile(path, beginOf(path), MAX_LINE, true);
  for (let lines = file.read(); lines.length > 0; lines = file.read())
    for (const { text } of lines) {
      const event = text.length > MAX_LINE ? undefined : findEvent(text);
      if (event) history.apply(unboundLine(event, (sha256) => readText(blobPath(folder, sha256))));
    }
  file.close();
}

/** Where the newest process that was to begin a conversation anew says so; 0 if none was. */
function beginOf(path: string): number {
  for (const { byte, text } of linesBack(path, MAX_LINE)) {
    const event = text.includes('"engine_start"') ? findEvent(text) : undefined;
    if (event?.type === "engine_start" && event.reseeded) return byte;
  }
  return 0;
}

/** Whether the transcript says that these deliveries were taken, and that the conversation was begun. */
export function lookAtTranscript(
  folder: string,
  sessionId: string,
  deliveryIds: readonly string[],
): { exists: boolean; delivered: Set<string> } {
  const open = new Set(deliveryIds);
  const delivered = new Set<string>();
  let exists = false;
  for (const { text } of linesBack(threadPath(folder, "transcript"), MAX_LINE)) {
    if (exists && open.size === 0) break;
    const mayTell = TELLING.test(text) && findEvent(text);
    if (!mayTell) continue;
    if (mayTell.type === "engine_start") exists ||= mayTell.sessionId === sessionId;
    if (mayTell.type === "delivery") open.delete(mayTell.deliveryId); // nothing is said of it before
    if (mayTell.type !== "delivery_update" || !open.has(mayTell.deliveryId)) continue;
    if (mayTell.status === "started") delivered.add(mayTell.deliveryId);
    if (mayTell.status === "started" || mayTell.status === "queued") open.delete(mayTell.deliveryId);
  }
  return { exists, delivered };
}

const TELLING = /"type":"(?:engine_start|delivery|delivery_update)"/;

function readText(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}
