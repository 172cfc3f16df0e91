/** Five agents that never have enough of thanking each other stop within a room's bounds, in each protocol. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { emptyFold, foldEvent } from "../../shared/agent/fold.ts";
import { ownUseOf } from "../../shared/agent/limits.ts";
import { ROOM_PROTOCOLS } from "../../shared/rooms/protocol.ts";
import { STAND_IN_CONFIG, transcriptOf, untilStatus } from "../support/agents.ts";
import { openMember, roomsOf, saying, untilRests } from "../support/rooms.ts";
import { startSidecar, type TestSidecar } from "../support/sidecar.ts";

const NAMES = ["a", "b", "c", "d", "e"];
const TIMES = 12;

let sidecar: TestSidecar;
beforeAll(async () => {
  sidecar = await startSidecar(STAND_IN_CONFIG);
});
afterAll(() => sidecar?.close());

async function openRoom(
  roomId: string,
  protocol: (typeof ROOM_PROTOCOLS)[number],
  more: object,
): Promise<string[]> {
  const ids = NAMES.map((name) => `${roomId}-${name}`);
  for (const [at, id] of ids.entries()) {
    const thanks = Array.from({ length: TIMES }, (_, n) => {
      const next =
        NAMES[(at + n + 1) % NAMES.length] === NAMES[at]
          ? NAMES[(at + 1) % NAMES.length]
          : NAMES[(at + n + 1) % NAMES.length];
      return saying(`Thank you so much, @${next}! ${at} ${n}`);
    });
    await openMember(sidecar, id, thanks.flat(), { title: NAMES[at] ?? "" });
  }
  await roomsOf(sidecar).create({
    ...{ threadId: roomId, protocol, members: ids.map((threadId) => ({ threadId })) },
    ...(protocol === "orchestrated" && { lead: "a" }),
    ...more,
  });
  await sidecar.client.sendInput(roomId, { text: "@a well done." });
  return ids;
}

test.each(ROOM_PROTOCOLS)("%s: at the bound of turns it is over, and said", async (protocol) => {
  const roomId = `turns-${protocol.replace("_", "-")}`;
  await openRoom(roomId, protocol, { maxTurns: 7 });
  const { why, turns } = await untilRests(sidecar, roomId, 60_000);
  expect({ why, turns }).toEqual({ why: "7 turns without a person are the most", turns: 7 });
  expect((await roomsOf(sidecar).listLines(roomId)).at(-1)?.text).toBe(`The round has ended: ${why}.`);
});

test.each(ROOM_PROTOCOLS)("%s: what they cost is the cap and one call, at most", async (protocol) => {
  const roomId = `cost-${protocol.replace("_", "-")}`;
  const maxUsd = 0.03;
  const ids = await openRoom(roomId, protocol, { maxUsd });
  const { why } = await untilRests(sidecar, roomId, 60_000);
  expect(why).toMatch(
    /^its members have used \$0\.0\d of \$0\.03(, and their next calls may go beyond it)?$/,
  );
  for (const id of ids) await untilStatus(sidecar, id, "idle");
  const calls = [];
  for (const id of ids) {
    let fold = emptyFold();
    for (const event of await transcriptOf(sidecar, id)) {
      const before = ownUseOf(fold, Date.now()).spendUsd;
      fold = foldEvent(fold, event);
      const cost = ownUseOf(fold, Date.now()).spendUsd - before;
      if (cost > 0) calls.push(cost);
    }
  }
  const { costUsd } = await roomsOf(sidecar).get(roomId);
  expect(costUsd).toBeLessThanOrEqual(maxUsd + Math.max(...calls));
});
