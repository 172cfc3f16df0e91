import { expect, test } from "vitest";
import { type EventBody, toEvent } from "./events.ts";
import { foldMode, type ModeChoice } from "./modes.ts";

const started = (modeId: string): EventBody => ({
  type: "engine_start",
  generation: 1,
  engine: "claude",
  version: "2.1.330",
  sessionId: "s",
  model: "m",
  modeId,
  resumed: false,
  capabilities: [],
});
const told = (modeId: string): EventBody => ({ type: "current_mode_update", modeId });
const ordered = (modeId: string): EventBody => ({ type: "control", op: "mode", modeId, by: "discord:7" });
const confirmed = (modeId: string): EventBody => ({ type: "current_mode_update", modeId, by: "discord:7" });
const approved = (optionId: string): EventBody => ({
  type: "permission_response",
  requestId: "r",
  outcome: "selected",
  optionId,
  by: "discord:7",
});

const modeAfter = (...bodies: EventBody[]) => {
  const events = bodies.map((body, i) => toEvent({ seq: i + 1, id: `e1-${i}.0`, ts: AT, ...body }));
  return events
    .filter((event) => event !== undefined)
    .reduce<ModeChoice>((chosen, event) => foldMode(chosen, event, "claude"), { modeId: null }).modeId;
};
const AT = "2026-11-22T10:00:00.000Z";

// Promise: S32
test.each<[string, EventBody[], string | null]>([
  ["it says that it may edit", [started("default"), told("acceptEdits")], null],
  ["it says that it may do all", [started("acceptEdits"), told("bypassPermissions")], null],
  ["it says a mode that nobody knows", [started("default"), told("freely")], null],
  ["it plans by itself", [started("default"), told("plan")], "plan"],
  ["it comes back from its plan", [started("acceptEdits"), told("plan"), told("acceptEdits")], "acceptEdits"],
  [
    "a person orders it",
    [started("default"), ordered("acceptEdits"), confirmed("acceptEdits")],
    "acceptEdits",
  ],
  [
    "it says another one in the place of what a person orders",
    [started("default"), ordered("acceptEdits"), confirmed("bypassPermissions")],
    "acceptEdits",
  ],
  [
    "it says late what a person has ordered otherwise since",
    [started("default"), ordered("bypassPermissions"), ordered("default"), confirmed("bypassPermissions")],
    "default",
  ],
  ["it says so before its reply", [started("default"), ordered("auto"), told("auto")], "auto"],
  [
    "a person took it back",
    [
      started("default"),
      ordered("acceptEdits"),
      confirmed("acceptEdits"),
      ordered("default"),
      told("acceptEdits"),
    ],
    "default",
  ],
  ["a plan is approved", [started("plan"), approved("once"), told("default")], "default"],
  ["a plan is approved without edits", [started("plan"), approved("once"), told("acceptEdits")], null],
  [
    "a plan is approved with its edits",
    [started("plan"), approved("edits"), told("acceptEdits")],
    "acceptEdits",
  ],
])("the mode of the next start: %s", (_, events, mode) => {
  expect(modeAfter(...events)).toBe(mode);
});
