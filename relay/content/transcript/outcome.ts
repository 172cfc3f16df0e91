/** What came of a call, in a few words behind its line. Pure. */

import type { EventOf } from "../../../shared/agent/events.ts";
import { changeOf, failureOf } from "../../../shared/agent/outcome.ts";
import { formatDuration } from "../texts.ts";

const WORTH_TELLING_MS = 1_000;

/** Such as `+12 −3`, `denied` or `exit code 1 · 2.4 s`; empty if there is nothing to add. */
export function outcomeOf(update: EventOf<"tool_call_update">): string {
  const parts = [changeOf(update), failureOf(update), durationOf(update)];
  return parts.filter((part) => part !== "").join(" · ");
}

function durationOf({ durationMs = 0 }: EventOf<"tool_call_update">): string {
  return durationMs < WORTH_TELLING_MS ? "" : formatDuration(durationMs / 1_000);
}
