/** `GET /events`: what happens over all threads, over HTTP. */
import { afterEach, expect, test } from "vitest";
import type { EventsQuery, HubEvent, Reset } from "../../shared/hub-events.ts";
import { openAgent, STAND_IN_CONFIG, script, transcriptOf, untilStatus } from "../support/agents.ts";
import { nameOf } from "../support/event-readers.ts";
import {
  makeSidecarFolders,
  type SidecarFolders,
  startSidecar,
  type TestSidecar,
} from "../support/sidecar.ts";
import { openTerminal, refusal, untilEnded } from "../support/threads.ts";
import { until } from "../support/wait.ts";

let sidecar: TestSidecar;
const readers: AbortController[] = [];
afterEach(async () => {
  for (const reader of readers.splice(0)) reader.abort();
  await sidecar.close();
});

/** What a reader gets from now on. */
function follow(query: EventsQuery = {}): { told: (HubEvent | Reset)[]; failure: () => unknown } {
  const reader = new AbortController();
  readers.push(reader);
  const told: (HubEvent | Reset)[] = [];
  let failure: unknown;
  const run = async () => {
    for await (const one of sidecar.client.followEvents(query, reader.signal)) told.push(one);
  };
  run().catch((error: unknown) => {
    failure = error;
  });
  return { told, failure: () => failure };
}

const names = (told: readonly (HubEvent | Reset)[]) => told.map(nameOf);

test("terminals and agents in one order, over a restart, and again from any id", async () => {
  sidecar = await startSidecar(STAND_IN_CONFIG);
  const { client } = sidecar;
  const all = follow({ since: 0 });
  await openTerminal(client, "t", "exit 3", { title: "a title" });
  await untilEnded(client, "t");
  await openAgent(sidecar, "a", script("say it", { text: "first" }));
  await untilStatus(sidecar, "a", "idle");
  await sidecar.restart();
  await client.sendInput("a", { text: script("again", { text: "second" }) });
  await untilStatus(sidecar, "a", "idle");
  await client.killThread("t");
  // What nobody has read of a thread goes with it.
  await until("the kill", () => all.told.some((one) => "event" in one && one.event?.["status"] === "killed"));
  await openTerminal(client, "t", "cat"); // of the same name: the one before is not kept any more
  const transcript = await transcriptOf(sidecar, "a");
  const ofAgent = ["a thread_created", ...transcript.map(({ seq }) => `a ${seq}`)];
  const ofTerminal = [
    "t thread_created",
    "t thread_status",
    "t thread_status",
    "t thread_removed",
    "t thread_created",
  ];
  await until("all events", () => all.told.length === ofAgent.length + ofTerminal.length);
  const [agent, terminal] = ["a", "t"].map((id) => names(all.told).filter((name) => name.startsWith(id)));
  expect(agent).toEqual(ofAgent);
  expect(terminal).toEqual(ofTerminal);
  const ids = all.told.map(({ id }) => id);
  expect(ids).toEqual([...new Set(ids)].sort((a, b) => a - b));
  expect(all.told[0]).toMatchObject({
    type: "thread_created",
    event: { kind: "terminal", dir: ".", title: "a title", createdBy: "owner" },
  });
  expect(all.told[1]).toMatchObject({ event: { status: "exited", exitCode: 3 } });
  const said = all.told.find(({ type }) => type === "agent_message");
  expect(said).toMatchObject({ event: transcript.find(({ type }) => type === "agent_message") });

  const since = said?.id ?? 0;
  const [later, ends] = [follow({ since }), follow({ since: 0, type: ["turn_end"], thread: ["a"] })];
  const expected = all.told.filter(({ id }) => id > since);
  await until("what came after", () => later.told.length === expected.length);
  expect(later.told).toEqual(expected);
  await until("the turns' ends", () => ends.told.length === 2);
  expect(names(ends.told)).toEqual(
    transcript.filter(({ type }) => type === "turn_end").map(({ seq }) => `a ${seq}`),
  );
});

test("agents are found by their tags", async () => {
  sidecar = await startSidecar(STAND_IN_CONFIG);
  const { client } = sidecar;
  const ci = follow({ since: 0, tag: ["ci"], type: ["turn_end"] });
  const all = follow({ since: 0, type: ["turn_end"] });
  for (const [threadId, tags] of [
    ["a", ["night", "ci"]],
    ["b", ["night"]],
  ] as const) {
    const command = script("hello", { text: "hello" });
    const more = { dir: ".", command, agent: { tags: [...tags] } };
    await client.createThread({ threadId, type: "agent", ...more });
  }
  await until("both turns' ends", () => all.told.length === 2);
  await until("the tagged one's end", () => ci.told.length > 0);
  expect(names(ci.told).map((name) => name.split(" ")[0])).toEqual(["a"]);
});

test("the header goes before the query; what can't be meant is refused", async () => {
  sidecar = await startSidecar({}, { eventsLimits: { maxReaders: 2 } });
  const { client, url, token } = sidecar;
  await openTerminal(client, "t", "cat");
  const read = async (query: string, headers: Record<string, string> = {}) => {
    const leave = new AbortController();
    const response = await fetch(`${url}/events${query}`, {
      headers: { authorization: `Bearer ${token}`, ...headers },
      signal: leave.signal,
    });
    let text = "";
    if (!response.ok) return { status: response.status, text: await response.text() };
    await until("some of it", async () => {
      const piece = await response.body?.getReader().read();
      text += new TextDecoder().decode(piece?.value);
      return text.includes("id: ");
    }).catch(() => undefined);
    leave.abort();
    return { status: response.status, text };
  };
  const first = follow({ since: 0 });
  await until("an event", () => first.told.length === 1);
  const id = first.told[0]?.id ?? 0;
  expect((await read("?since=0", { "last-event-id": "5" })).text).toContain("event: reset");
  expect((await read("?since=5", { "last-event-id": String(id) })).text).not.toContain("event: reset");
  for (const query of ["?since=x", "?type=A", "?tag=", "?what=1"]) {
    expect(await read(query)).toMatchObject({
      status: 400,
      text: expect.stringContaining("invalid_request"),
    });
  }
  expect(await read("?thread=..")).toMatchObject({ status: 404 });
  expect(await read("", { "last-event-id": "x" })).toMatchObject({ status: 400 });
  follow();
  await until("all places to be taken", async () => (await read("")).status === 429);
  expect((await refusal(client.followEvents({ thread: [".."] }).next())).code).toBe("not_found");
});

test("a lost database begins with other ids: whoever comes with an old one is told", async () => {
  const folders: SidecarFolders = makeSidecarFolders();
  sidecar = await startSidecar({}, { folders });
  const reader = follow({ since: 1 });
  await until("it to be told", () => reader.told.length === 1);
  expect(reader.told).toEqual([{ id: expect.any(Number), type: "reset" }]);
});
