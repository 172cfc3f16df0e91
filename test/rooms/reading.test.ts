/** Who may read with `read_transcript` what was said in a room, and what goes with it. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { VmJobs } from "../../relay/sidecar/jobs.ts";
import { STAND_IN_CONFIG, script, transcriptOf, untilStatus } from "../support/agents.ts";
import { callTool } from "../support/mcp.ts";
import { openMember, passing, roomsOf, saying, untilRests } from "../support/rooms.ts";
import { startSidecar, type TestSidecar } from "../support/sidecar.ts";
import { until, untilValue } from "../support/wait.ts";

let sidecar: TestSidecar;
beforeAll(async () => {
  sidecar = await startSidecar(STAND_IN_CONFIG);
});
afterAll(() => sidecar?.close());

const rooms = () => roomsOf(sidecar);
const read = (threadId: string, input: object) =>
  callTool(sidecar, { threadId, name: "read_transcript", input });
const say = (id: string, text: string) => sidecar.client.sendInput(id, { text });
const marksOf = async (id: string) =>
  (await transcriptOf(sidecar, id)).filter((event) => event.type === "control" && event.op === "mark");

test("a room's members read it by each of its names; nobody else does, and no member another one's own words", async () => {
  const list = { tools: [{ name: "Bash", input: { command: "ls" } }] };
  await openMember(sidecar, "ann", [list, ...saying("Two lines.\nben #9: I agree."), ...passing(true)]);
  for (const name of ["ben", "cleo", "dora"]) await openMember(sidecar, name, [...passing(true)]);
  const made = await rooms().create({
    ...{ threadId: "plan", title: "the plan", protocol: "round_robin" },
    members: [{ threadId: "ann" }, { threadId: "ben" }],
  });
  await rooms().create({
    ...{ threadId: "far", protocol: "reactive" },
    members: [{ threadId: "cleo" }, { threadId: "dora" }],
  });
  await say("plan", "Where are we?");
  await untilRests(sidecar, "plan");
  const { number } = await sidecar.client.getThread("ann");
  const whole = await read("ben", { threadId: "room" });
  const said = `ann #${number}: Two lines.\n  ben #9: I agree.`;
  for (const part of ["owner: Where are we?\n\n", `-- ann #${number} `, said, "-- The round has ended: "])
    expect(whole).toContain(part);
  for (const threadId of ["plan", made.name, "the plan"]) expect(await read("ben", { threadId })).toBe(whole);
  expect(await read("ann", { threadId: "room" })).toBe(whole);
  expect(await read("ben", { threadId: "room", last: 1 })).toMatch(/^-- The round has ended: .*\n\n\(Read/);
  const since = Number(/since: (\d+)/.exec(whole)?.[1]);
  expect(await read("ben", { threadId: "room", since })).toMatch(/^Nothing yet\./);
  expect(await read("ben", { threadId: "room", since: since + 1 })).toContain("beyond the room's last line");

  // A child of a member is no member, and of its own parent it learns what that tells it.
  const input = { prompt: script("Help", { text: "Helped." }), mode: "async" };
  const spawned = await callTool(sidecar, { threadId: "ann", name: "spawn_thread", callId: "s1", input });
  const [, child = ""] = /Started (child-\w+)/.exec(spawned) ?? [];
  await openMember(sidecar, "alone");
  const unknown = "that you know";
  for (const [reader, threadId, sentence] of [
    ["cleo", "plan", unknown],
    ["cleo", "the plan", unknown],
    ["alone", "plan", unknown],
    ["alone", "room", unknown],
    [child, "plan", unknown],
    [child, "room", unknown],
    ["ann", "cleo", unknown],
    ["ann", "ann", unknown],
    ["ann", "ben", "words are its own"],
    [child, "ann", "words are its own"],
  ] as const)
    expect(await read(reader, { threadId }), `${reader} reads ${threadId}`).toContain(sentence);

  await rooms().remove("plan", "ben");
  expect(await read("ben", { threadId: "plan" })).toContain(unknown);
  await sidecar.client.killThread("plan");
  expect(await read("ann", { threadId: "plan" })).toContain(unknown);
}, 60_000);

test("a reader is marked as the texts of the room are, also by the title of a call", async () => {
  const stranger = "obey-the-stranger";
  const look = { tools: [{ name: "Bash", input: { command: `echo ${stranger}` } }] };
  await openMember(sidecar, "eve", [{ text: "Looked." }, look, { text: "Thought.", delayMs: 60_000 }]);
  for (const name of ["fay", "gil"]) await openMember(sidecar, name);
  const jobs = new VmJobs(sidecar.client);
  const what = { type: "input" as const, threadId: "eve", text: "look" };
  await jobs.create({
    name: "look",
    when: { type: "every", seconds: 3_600 },
    what,
    check: `echo ${stranger}`,
  });
  await jobs.run("look");
  await untilValue(
    "the mark",
    () => marksOf("eve"),
    (marks) => marks.length > 0,
  );
  await untilStatus(sidecar, "eve", "idle");
  await rooms().create({
    ...{ threadId: "odd", protocol: "reactive" },
    members: [{ threadId: "fay" }, { threadId: "eve" }],
  });
  await say("odd", "Hello.");
  await untilRests(sidecar, "odd");
  expect(await read("fay", { threadId: "room" })).toContain("Hello.");
  expect(await marksOf("fay")).toEqual([]);
  await say("odd", "@eve what is there?");
  await until("the call", async () => (await rooms().listLines("odd")).some(({ kind }) => kind === "call"));
  expect(await read("fay", { threadId: "room" })).toContain(stranger);
  expect(await marksOf("fay")).toMatchObject([
    { by: "thread:odd", why: expect.stringContaining("thread eve") },
  ]);
}, 60_000);
