/**
 * Writes the whole request to a directive into a file of the thread's folder. The sidecar reads it and starts a
 * reviewer.
 */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { EventBody } from "../../shared/agent/events.ts";
import { type ReviewFile, reviewFileName } from "../../shared/agent/gate-review.ts";
import { deciderOf, timeoutOf } from "../../shared/agent/gates.ts";
import { threadPath } from "../../shared/agent/paths.ts";
import { writeWhole } from "../../shared/whole-file.ts";
import type { GateWant } from "../core/gate-wants.ts";

/** Must run before the request is in the transcript, so that a reader of the transcript finds the file. */
export function writeReviews(folder: string, want: GateWant, bodies: readonly EventBody[]): void {
  const decider = deciderOf(want.gate);
  if (decider.is !== "directive") return;
  const { gate, title, toolName: tool, input } = want;
  const { at, prompt } = gate;
  const place = threadPath(folder, "reviews");
  for (const body of bodies) {
    if (body.type !== "gate_request") continue;
    const { requestId, callKey: hash } = body;
    const timeoutSeconds = timeoutOf(gate) ?? 0;
    const file: ReviewFile = {
      requestId,
      hash,
      at,
      directive: decider.name,
      timeoutSeconds,
      title,
      tool,
      input,
      prompt,
    };
    mkdirSync(place, { recursive: true, mode: 0o700 });
    writeWhole(join(place, reviewFileName(requestId)), JSON.stringify(file), { isDurable: true });
  }
}
