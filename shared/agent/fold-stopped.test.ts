/** Who sets a thread going again that was stopped while it waited for a place. */
import { expect, test } from "vitest";
import type { ThreadEvent } from "./events.ts";
import { emptyFold, foldEvent } from "./fold.ts";

const said = (source: string, handle?: string) =>
  ({
    ...{ seq: 1, id: "i1.0", ts: "2027-01-05T09:00:00.000Z", type: "user_message", messageId: "m", source },
    ...{ content: [{ type: "text", text: "Hi" }], ...(handle !== undefined && { handle }) },
  }) as ThreadEvent;

test.each<[string, "place" | "calls", ThreadEvent, "place" | "calls" | null]>([
  ["a person", "place", said("owner"), null],
  ["another agent does not", "place", said("thread:other"), "place"],
  ["its room's next turn", "place", said("thread:room-1", "room"), null],
  ["what is said in its room", "place", said("thread:room-1", "room/ann"), null],
  ["its room does not at a limit", "calls", said("thread:room-1", "room"), "calls"],
])("%s", (_, stoppedAt, event, left) => {
  expect(foldEvent({ ...emptyFold(), stoppedAt }, event).stoppedAt).toBe(left);
});
