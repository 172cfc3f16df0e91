/** Rooms of scripted agents in each protocol, while sidecar, runners and engines are killed. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Round } from "../../agent/engines/demo/script.ts";
import type { Room, RoomLine } from "../../shared/rooms/api.ts";
import {
  NO_TURN,
  ROOM_PROTOCOLS,
  type RoomEvent,
  type RoomProtocol,
  type RoomTurn,
} from "../../shared/rooms/protocol.ts";
import { namedIn, stepRoom } from "../../vm/rooms/turns.ts";
import { engineOf, folderOf, runnersOf } from "./agent-siege.ts";
import { signal } from "./processes.ts";
import { heardBy, openMember, roomsOf, saying } from "./rooms.ts";
import type { SpawnedSidecar } from "./sidecar.ts";
import { untilValue } from "./wait.ts";

const WAITS = { timeoutMs: 240_000, intervalMs: 200 };
const VICTIMS = ["sidecar", "runner", "engine"] as const;
/** More often, and a member's thread fails. */
const KILLS_OF_ONE = 2;

export interface RoomSiegeOptions {
  sidecar: SpawnedSidecar;
  /** In each protocol. */
  rooms: number;
  /** That each member has to say. */
  texts: number;
  pauseMs: number;
  random: () => number;
}

/** In every other room a person says *Stop* after so many texts, and begins another round. */
const STOP_AFTER = 2;

export interface RoomReport {
  /** Rounds that a person has stopped. */
  stops: number;
  /** By victim. */
  kills: Record<string, number>;
  faults: string[];
  texts: number;
  /** Why rounds ended, and how often. */
  ends: Record<string, number>;
}

export async function besiegeRooms(options: RoomSiegeOptions): Promise<RoomReport> {
  const { sidecar, rooms } = options;
  const ids: string[] = [];
  for (const protocol of ROOM_PROTOCOLS)
    for (let at = 0; at < rooms; at++) ids.push(await openRoom(options, protocol, at));
  const report: RoomReport = { kills: {}, faults: [], texts: 0, ends: {}, stops: 0 };
  for (const id of ids) await sidecar.client.sendInput(id, { text: "@m0 @m1 begin.", inputId: `${id}-1` });
  const done = new AbortController();
  const killing = killAtRandom(options, ids, report.kills, done.signal);
  const work = ids.map(async (id, at) => {
    if (at % 2 === 1 && (await stopOnce(sidecar, id))) report.stops++;
    return untilAtRest(sidecar, id);
  });
  const rested = await Promise.all(work).finally(() => done.abort());
  await killing;
  for (const room of rested) {
    const lines = await roomsOf(sidecar).listLines(room.threadId);
    report.texts += lines.filter(({ kind }) => kind === "text").length;
    const why = (room.why ?? "").replace(/@m\d|\d+/g, "N");
    report.ends[why] = (report.ends[why] ?? 0) + 1;
    const faults = [...faultsOf(room, lines), ...(await contextFaults(sidecar, room, lines))];
    report.faults.push(...faults.map((fault) => `${room.threadId}: ${fault}`));
  }
  return report;
}

/** Three to five members; each names others where the protocol wants names. */
async function openRoom(
  { sidecar, texts }: RoomSiegeOptions,
  protocol: RoomProtocol,
  at: number,
): Promise<string> {
  const roomId = `${protocol}-${at}`;
  const members = Array.from({ length: 3 + (at % 3) }, (_, i) => `${roomId}-m${i}`);
  const rounds = (i: number): Round[] =>
    Array.from({ length: texts }, (_, n) => {
      const [first, second] = [(i + n + 1) % members.length, (i + n + 2) % members.length];
      const lead = [1 + ((2 * n) % (members.length - 1)), 1 + ((2 * n + 1) % (members.length - 1))];
      const named = protocol === "orchestrated" ? lead : [first, second];
      return saying(`word ${i}x${n} ${named.map((one) => `@m${one}`).join(" ")}`);
    })
      .flat()
      .map((round) => ({ ...round, delayMs: 60 }));
  await Promise.all(members.map((member, i) => openMember(sidecar, member, rounds(i), { title: `m${i}` })));
  await roomsOf(sidecar).create({
    ...{ threadId: roomId, protocol, maxTurns: 100 },
    members: members.map((threadId) => ({ threadId })),
    ...(protocol === "orchestrated" && { lead: `${roomId}-m0` }),
  });
  return roomId;
}

/** @returns whether a round ran by then */
async function stopOnce(sidecar: SpawnedSidecar, id: string): Promise<boolean> {
  const rooms = roomsOf(sidecar);
  const texts = async () => (await rooms.listLines(id)).filter(({ kind }) => kind === "text").length;
  const hasBegun = async () => (await texts()) >= STOP_AFTER || (await rooms.get(id)).why !== null;
  await untilValue(`two texts in ${id}`, () => hasBegun().catch(() => false), Boolean, WAITS);
  // An answer that a kill has swallowed leaves open whether it was this one that has stopped the round.
  const again = () => rooms.stop(id).catch(() => undefined);
  await untilValue(`the stop of ${id}`, again, (reply) => reply !== undefined, WAITS);
  const wasStopped = ((await untilAtRest(sidecar, id)).why ?? "").endsWith("has stopped it");
  const goOn = { text: "@m0 @m1 go on.", inputId: `${id}-2` };
  const sent = () =>
    sidecar.client.sendInput(id, goOn).then(
      () => true,
      () => false,
    );
  await untilValue(`another round in ${id}`, sent, Boolean, WAITS);
  return wasStopped;
}

/** A sidecar that is being started again does not answer. */
function untilAtRest(sidecar: SpawnedSidecar, id: string): Promise<Room> {
  return untilValue(
    `the room ${id} to rest`,
    () =>
      roomsOf(sidecar)
        .get(id)
        .catch(() => undefined),
    (room) => room !== undefined && room.why !== null,
    WAITS,
  ) as Promise<Room>;
}

async function killAtRandom(
  { sidecar, pauseMs, random }: RoomSiegeOptions,
  roomIds: readonly string[],
  kills: Record<string, number>,
  signalEnd: AbortSignal,
): Promise<void> {
  const hit = new Map<string, number>();
  for (let round = 0; !signalEnd.aborted; round++) {
    await sleep(pauseMs * (0.2 + random()));
    if (signalEnd.aborted) return;
    const victim = VICTIMS[round % VICTIMS.length] ?? "sidecar";
    if (victim === "sidecar") {
      await sidecar.kill9();
      await sidecar.start();
    } else {
      const threads = await sidecar.client.listThreads({}).catch(() => []);
      const mine = threads.filter(
        ({ threadId, status }) =>
          status === "running" && !roomIds.includes(threadId) && (hit.get(threadId) ?? 0) < KILLS_OF_ONE,
      );
      const chosen = mine[Math.floor(random() * mine.length)];
      if (!chosen) continue;
      const folder = folderOf(sidecar, chosen.threadId);
      const pid = victim === "engine" ? engineOf(folder) : runnersOf(folder)[0];
      if (pid === undefined) continue;
      signal(pid, "SIGKILL");
      hit.set(chosen.threadId, (hit.get(chosen.threadId) ?? 0) + 1);
    }
    kills[victim] = (kills[victim] ?? 0) + 1;
  }
}

/** Plays the lines again: each was written by somebody who had the turn then, and each end says why. */
function faultsOf(room: Room, lines: readonly RoomLine[]): string[] {
  const order = room.members.map(({ name }) => name);
  const rules = { protocol: room.protocol, order, lead: room.lead, maxTurns: room.maxTurns };
  const faults: string[] = [];
  const counts = new Map(order.map((name) => [name, 0]));
  let turn: RoomTurn = NO_TURN;
  for (const line of lines) {
    const event = eventOf(line, order);
    if (!event) continue;
    if ("by" in event && !turn.holders.includes(event.by))
      faults.push(
        `line ${line.seq} of ${event.by}, while ${turn.holders.join(", ") || "nobody"} had the turn`,
      );
    if ("by" in event) counts.set(event.by, (counts.get(event.by) ?? 0) + 1);
    if (room.protocol === "round_robin" && Math.max(...counts.values()) - Math.min(...counts.values()) > 1)
      faults.push(`line ${line.seq}: turns are ${[...counts.values()].join(", ")}`);
    turn = stepRoom(rules, turn, event);
  }
  if (turn.holders.length > 0 || turn.why !== room.why)
    faults.push(`it rests: ${room.why}; played: ${turn.why}`);
  if (lines.at(-1)?.text !== `The round has ended: ${room.why}.`) faults.push("its end was not said");
  const said = lines.filter(({ kind }) => kind === "text").map(({ text }) => text);
  if (new Set(said).size < said.length) faults.push("a text is there twice");
  return faults;
}

function eventOf({ kind, name, text }: RoomLine, order: readonly string[]): RoomEvent | undefined {
  const by = name ?? "";
  if (kind === "person") return { type: "person", named: namedIn(text, order) };
  if (kind === "text") return { type: "text", by, text, named: namedIn(text, order, by) };
  const stopped = /^The round has ended: (.* has stopped it)\.$/.exec(text)?.[1];
  if (kind === "note" && stopped !== undefined) return { type: "end", why: stopped };
  return kind === "pass" ? { type: "pass", by, ends: text.includes("proposes") } : undefined;
}

/** Each member has read the others' texts from the first on, in the room's order, each once. */
async function contextFaults(
  sidecar: SpawnedSidecar,
  room: Room,
  lines: readonly RoomLine[],
): Promise<string[]> {
  const faults: string[] = [];
  for (const { name, threadId } of room.members) {
    const heard = await heardBy(sidecar, threadId);
    const others = lines
      .filter(({ kind, name: by }) => (kind === "text" || kind === "person") && by !== name)
      .map((line) => `${line.name}: ${line.text}`);
    if (heard.join("\n") !== others.slice(0, heard.length).join("\n"))
      faults.push(`${name} has read ${JSON.stringify(heard)} of ${JSON.stringify(others)}`);
  }
  return faults;
}
