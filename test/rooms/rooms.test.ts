/** Rooms with real agents' threads: who writes when, what each hears, and what ends a round. With the stand-in. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { SidecarClient } from "../../shared/client.ts";
import type { DiscordId } from "../../shared/ids.ts";
import { PeopleClient } from "../../shared/people-client.ts";
import { RoomClient } from "../../shared/room-client.ts";
import { STAND_IN_CONFIG, untilStatus } from "../support/agents.ts";
import { aDiscordId } from "../support/ids.ts";
import { callTool } from "../support/mcp.ts";
import { heardBy, openMember, passing, roomsOf, saying, untilRests } from "../support/rooms.ts";
import { startSidecar, type TestSidecar } from "../support/sidecar.ts";
import { refusal } from "../support/threads.ts";
import { until } from "../support/wait.ts";

let sidecar: TestSidecar;
beforeAll(async () => {
  sidecar = await startSidecar(STAND_IN_CONFIG);
});
afterAll(() => sidecar?.close());

const rooms = () => roomsOf(sidecar);
const say = (id: string, text: string, inputId?: string) =>
  sidecar.client.sendInput(id, { text, ...(inputId !== undefined && { inputId }) });
const told = async (id: string) =>
  (await rooms().listLines(id)).map(({ kind, name, text }) => (kind === "text" ? `${name}: ${text}` : kind));
const sayInRoom = (threadId: string, content: string, callId: string) =>
  callTool(sidecar, { threadId, name: "message", input: { to: "room", content }, callId });

test("round_robin: each in its order, each text in each other member's context once", async () => {
  const names = ["ann", "ben", "cleo"];
  for (const name of names)
    await openMember(sidecar, name, [...saying(`${name} one`), ...saying(`${name} two`), ...passing()]);
  const made = await rooms().create({
    ...{ threadId: "talk", title: "the talk", protocol: "round_robin" },
    members: names.map((threadId) => ({ threadId })),
  });
  expect(made).toMatchObject({ turnOf: [], maxTurns: 30, maxUsd: 5, why: null, isOpen: true });
  expect(made.name).toMatch(/^room-\d+$/);
  await say("talk", "What is to be done?", "m1");
  await say("talk", "What is to be done?", "m1");
  const rests = await untilRests(sidecar, "talk");
  expect(rests.why).toBe("nobody has anything to say");
  const said = [
    "ann: ann one",
    "ben: ben one",
    "cleo: cleo one",
    "ann: ann two",
    "ben: ben two",
    "cleo: cleo two",
  ];
  expect(await told("talk")).toEqual(["person", ...said, "pass", "pass", "pass", "note"]);
  const asked = "owner: What is to be done?";
  for (const name of names)
    expect(await heardBy(sidecar, name)).toEqual(
      [asked, ...said].filter((line) => !line.startsWith(`${name}:`)),
    );
  const state = JSON.parse(readFileSync(join(sidecar.stateDir, "rooms/talk/state.json"), "utf8"));
  expect(state).toMatchObject({
    thread_mode: "room",
    turn_protocol: "round_robin",
    turn_order: names,
    current_turn: [],
    max_turns: 30,
    members: names.map((name) => ({ thread_id: name, directive: null })),
  });
  const { output } = await sidecar.client.readOutput("talk", { since: 0 });
  expect(output).toContain("owner: What is to be done?\r\nann #");
  expect(output).toContain("-- The round has ended: nobody has anything to say.\r\n");
});

test("a write out of turn is refused, and the refusal says whose turn it is", async () => {
  for (const name of ["dora", "emil"])
    await openMember(sidecar, name, [{ text: "Thinking.", delayMs: 60_000 }]);
  await rooms().create({
    ...{ threadId: "order", protocol: "round_robin" },
    members: [{ threadId: "dora" }, { threadId: "emil" }],
  });
  expect(await sayInRoom("emil", "Me first.", "c0")).toContain("The room rests (nobody has written yet)");
  await say("order", "Begin.");
  await until("dora's turn", async () => (await rooms().get("order")).turnOf.includes("dora"));
  expect(await sayInRoom("emil", "Me!", "c1")).toContain("it is the turn of @dora");
  expect(await sayInRoom("dora", "Hello.", "c2")).toContain("Said in the room");
  expect(await sayInRoom("dora", "Hello.", "c2")).toContain("Said in the room");
  expect(await sayInRoom("dora", "And more.", "c3")).toContain("it is the turn of @emil");
  expect(await told("order")).toEqual(["person", "dora: Hello."]);
  // A person's stop is a control: it ends the round and the turn.
  expect(await rooms().stop("order")).toEqual({ stopped: true });
  const { why, turnOf } = await rooms().get("order");
  expect({ why, turnOf }).toEqual({ why: "owner has stopped it", turnOf: [] });
  await untilStatus(sidecar, "emil", "idle");
  expect(await rooms().stop("order")).toEqual({ stopped: false });
  expect(await sayInRoom("emil", "Late.", "c4")).toContain("The room rests (owner has stopped it)");
});

test("agents that thank each other stop at the bound of turns, and it is said aloud", async () => {
  const names = ["t1", "t2", "t3", "t4", "t5"];
  for (const name of names)
    await openMember(
      sidecar,
      name,
      [0, 1, 2, 3].flatMap((at) => saying(`Thank you all, ${at} ${name}!`)),
    );
  await rooms().create({
    ...{ threadId: "thanks", protocol: "on_demand", maxTurns: 7 },
    members: names.map((threadId) => ({ threadId })),
  });
  await say("thanks", "Well done.");
  const { why, turns } = await untilRests(sidecar, "thanks");
  expect({ why, turns }).toEqual({ why: "7 turns without a person are the most", turns: 7 });
  expect((await rooms().listLines("thanks")).at(-1)?.text).toBe(`The round has ended: ${why}.`);
});

test("bounds of money and time end a round, and the turn", async () => {
  await openMember(sidecar, "slow", [{ text: "Hm.", delayMs: 60_000 }]);
  await openMember(sidecar, "dear", [...saying("This was dear."), ...saying("Again.")]);
  await rooms().create({
    ...{ threadId: "late", protocol: "reactive", turnSeconds: 3, maxUsd: 0.000_001 },
    members: [{ threadId: "slow" }, { threadId: "dear" }],
  });
  await say("late", "@dear what do you cost?");
  expect((await untilRests(sidecar, "late")).why).toMatch(/^its members have used \$\d/);
  await say("late", "@slow and you?");
  await until("the end", async () => /did not write within 3 s/.test((await rooms().get("late")).why ?? ""));
  await untilStatus(sidecar, "slow", "idle");
}, 60_000);

test("what can't be: each with a sentence that names the field", async () => {
  for (const name of ["x", "y"]) await openMember(sidecar, name);
  await sidecar.client.createThread({ threadId: "loud", type: "agent", dir: ".", command: "Hi" });
  await sidecar.client.createThread({ threadId: "sh", type: "terminal", dir: ".", command: "cat" });
  const room = (more: object) =>
    refusal(
      rooms().create({
        ...{ threadId: "no", protocol: "round_robin", members: [{ threadId: "x" }, { threadId: "y" }] },
        ...more,
      } as never),
    );
  const members = (...ids: string[]) => ({ members: ids.map((threadId) => ({ threadId })) });
  for (const [asked, code, sentence] of [
    [{ protocol: "free" }, "invalid_request", "protocol: must be one of round_robin, on_demand"],
    [members("x"), "invalid_request", "members: must be at least 2 agents"],
    [members("x", "x"), "invalid_request", "members.1.threadId: x is in the list twice."],
    [members("x", "nobody"), "not_found", 'members.1.threadId: there is no thread "nobody".'],
    [members("x", "sh"), "unsupported", "members.1.threadId: sh is a terminal; members are agents."],
    [members("x", "loud"), "unsupported", 'members.1.threadId: loud has no agent.voice "message"'],
    [members("x", "ann"), "unsupported", "members.1.threadId: ann is in the room talk already."],
    [{ protocol: "orchestrated" }, "invalid_request", "lead: is needed: the member that names others."],
    [{ lead: "x" }, "invalid_request", "lead: is for orchestrated; round_robin has none."],
    [{ protocol: "orchestrated", lead: "ann" }, "invalid_request", 'lead: "ann" is no member of this room'],
  ] as const) {
    const refused = await room(asked);
    expect(refused.message).toContain(sentence);
    expect(refused.code).toBe(code);
  }
  const bare = sidecar.client.createThread({ threadId: "no", type: "room", dir: ".", command: "x" });
  expect(await refusal(bare)).toMatchObject({
    code: "invalid_request",
    message: expect.stringMatching(/^type: /),
  });
  await sidecar.client.killThread("y");
  expect(await room({})).toMatchObject({ code: "thread_ended", message: "members.1.threadId: y has ended." });
  expect(await refusal(rooms().get("sh"))).toMatchObject({ code: "not_found" });
  expect(await sayInRoom("x", "Hello?", "c1")).toContain("you are in no room");
});

test("members come and go: a new one is told what was said last, one that ends is said to have left", async () => {
  for (const name of ["m1", "m2", "m3"])
    await openMember(sidecar, name, [...saying(`I am ${name}.`), ...passing()]);
  await rooms().create({
    ...{ threadId: "open", protocol: "reactive" },
    members: [{ threadId: "m1" }, { threadId: "m2" }],
  });
  await say("open", "@m1 who are you?");
  await untilRests(sidecar, "open");
  const added = await rooms().add("open", { threadId: "m3" });
  expect(added.members.map(({ name }) => name)).toEqual(["m1", "m2", "m3"]);
  await say("open", "@m3 and you?");
  await until("its words", async () => (await told("open")).includes("m3: I am m3."));
  expect(await heardBy(sidecar, "m3")).toEqual([
    ...["owner: @m1 who are you?", "m1: I am m1.", "owner: @m3 and you?"],
  ]);
  await sidecar.client.killThread("m2");
  const left = await rooms().remove("open", "@m1");
  expect(left.members.map(({ name }) => name)).toEqual(["m3"].concat(left.members.length > 1 ? ["m2"] : []));
  const again = await rooms()
    .create({
      ...{ threadId: "next", protocol: "orchestrated", lead: "m1" },
      members: [{ threadId: "m1" }, { threadId: "slow" }],
    })
    .catch((error: Error) => error.message);
  expect(again).toContain("slow is in the room late already");
  const lead = await rooms().setProtocol("open", { protocol: "orchestrated", lead: "m3" });
  expect(lead).toMatchObject({ protocol: "orchestrated", lead: "m3" });
  await sidecar.client.killThread("open");
  expect(await rooms().get("open")).toMatchObject({ isOpen: false, members: [] });
  expect(await refusal(say("open", "hello"))).toMatchObject({ code: "thread_ended" });
});

test("a person makes a room only of agents that they may write to", async () => {
  const [maker, here, there] = ["420000000000000001", "430000000000000001", "430000000000000002"].map(
    aDiscordId,
  ) as [DiscordId, DiscordId, DiscordId];
  await new PeopleClient(sidecar.client).setRole({ kind: "user", id: maker, channelId: here, role: "maker" });
  for (const [at, name] of ["near", "far", "nearer"].entries()) {
    const home = { channelId: `45000000000000000${at}`, parentId: name === "far" ? there : here };
    await openMember(sidecar, name, [], { home });
  }
  const ask = (by: SidecarClient, ...ids: string[]) =>
    new RoomClient(by).create({
      ...{ threadId: "mine", protocol: "reactive" },
      home: { channelId: "440000000000000001", parentId: here },
      members: ids.map((threadId) => ({ threadId })),
    });
  expect(await refusal(ask(sidecar.as(maker), "near", "far"))).toMatchObject({ code: "forbidden" });
  expect(await refusal(ask(sidecar.as("420000000000000009"), "near", "nearer"))).toMatchObject({
    code: "forbidden",
  });
  expect((await ask(sidecar.as(maker), "near", "nearer")).threadId).toBe("mine");
  const add = new RoomClient(sidecar.as(maker)).add("mine", { threadId: "far" });
  expect(await refusal(add)).toMatchObject({ code: "forbidden" });
});

test("one room over MAX_ROOMS is refused with the number; ended ones make room", async () => {
  const open = await rooms().list();
  const maxRooms = open.filter(({ isOpen }) => isOpen).length;
  expect(maxRooms).toBeGreaterThan(0);
  await sidecar.restart({ maxRooms });
  for (const name of ["p1", "p2"]) await openMember(sidecar, name);
  const make = () =>
    rooms().create({
      ...{ threadId: "one-more", protocol: "reactive" },
      members: [{ threadId: "p1" }, { threadId: "p2" }],
    });
  expect(await refusal(make())).toEqual({
    code: "max_threads",
    message: `${maxRooms} of ${maxRooms} rooms are open; end one before you make another.`,
  });
  await sidecar.client.killThread("talk");
  expect((await make()).threadId).toBe("one-more");
});
