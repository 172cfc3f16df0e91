import { expect, test } from "vitest";
import { type EventBody, type ThreadEvent, toEvent } from "./events.ts";
import { foldEvents } from "./fold.ts";
import { workedOnIn } from "./fold-voice.ts";

/** The events, numbered, a second apart. */
function events(bodies: readonly EventBody[]): ThreadEvent[] {
  return bodies.map((body, at) => {
    const ts = new Date(Date.parse("2026-11-22T10:00:00Z") + at * 1_000).toISOString();
    return toEvent({ ...body, seq: at + 1, id: `r${at}.0`, ts }) as ThreadEvent;
  });
}

let count = 0;
/** One message, delivered by itself. */
function delivered(source: string, place: { handle?: string; channelId?: string }): EventBody[] {
  const name = `${++count}`;
  const content = [{ type: "text", text: "x" }];
  return [
    { type: "user_message", messageId: `m${name}`, source, content, ...place } as EventBody,
    { type: "delivery", deliveryId: `d${name}`, messageIds: [`m${name}`] },
    { type: "delivery_update", deliveryId: `d${name}`, status: "started" },
  ];
}
const alice = (channelId = "1") => delivered("discord:11", { handle: "discord:#ops/alice", channelId });
const bob = () => delivered("discord:12", { handle: "discord:#ops/bob", channelId: "1" });
const child = () => delivered("thread:below", { handle: "thread:#9" });
const begin = (turnId: string): EventBody => ({
  type: "turn_start",
  turnId,
  cause: "message",
  deliveryIds: [],
});
const end = (turnId: string): EventBody[] => [
  { type: "turn_end", turnId, stopReason: "end_turn" },
  { type: "delivery_update", deliveryId: `d${count}`, status: "completed" },
];
const askersOf = (...bodies: EventBody[]) =>
  foldEvents(events(bodies)).voice?.askers?.map(({ source, channelId }) => `${source} in ${channelId}`);
const ALICE = "discord:11 in 1";
const BOB = "discord:12 in 1";

test("an agent works for all who wrote in its turn, and goes on for them where no person wrote", () => {
  const turn = [...alice(), begin("t1")];
  expect(askersOf(...turn)).toEqual([ALICE]);
  expect(askersOf(...turn, ...bob(), ...alice(), ...alice("2"))).toEqual([ALICE, BOB, "discord:11 in 2"]);
  expect(askersOf(...turn, ...end("t1"), ...child(), begin("t2"))).toEqual([ALICE]);
  // Who comes in the midst of that is heard beside those for whom it goes on.
  expect(askersOf(...turn, ...end("t1"), ...child(), begin("t2"), ...bob())).toEqual([ALICE, BOB]);
  expect(askersOf(...turn, ...end("t1"), ...bob(), begin("t2"))).toEqual([BOB]);
});

test("a thread whose own words are its voice keeps nothing of this", () => {
  expect(foldEvents(events([...delivered("discord:11", {}), begin("t1")])).voice).toBeUndefined();
});

test("it is at work in the channels of the messages of this turn, and nowhere once it rests", () => {
  const turn = [...alice(), begin("t1")];
  expect(workedOnIn(foldEvents(events(turn)))).toEqual(["1"]);
  expect(workedOnIn(foldEvents(events([...turn, ...end("t1")])))).toEqual([]);
  expect(workedOnIn(foldEvents(events([...turn, ...end("t1"), ...child(), begin("t2")])))).toEqual([]);
});
