/** Places: so many threads have a turn at once, the others wait in order, and nobody who waits for somebody keeps one. */
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { statusOf } from "../../shared/agent/fold.ts";
import { PLACES_FOLDER, PLACES_MAX } from "../../shared/agent/markers.ts";
import { type AgentThread, bash, openThreads, says } from "../support/agent-threads.ts";
import { makeFolder } from "../support/folders.ts";
import { signal } from "../support/processes.ts";
import { until } from "../support/wait.ts";

// Several runners and engines at once: on a busy machine they take a while.
vi.setConfig({ testTimeout: 60_000 });

const open = openThreads();
let root: ReturnType<typeof makeFolder>;
beforeEach(() => {
  root = makeFolder();
});
afterEach(() => root.remove());

const gate = (name: string) => join(root.path, name);
const openGate = (name: string) => writeFileSync(gate(name), "");

function make(places: number, fields: object = {}): AgentThread {
  const env = { [PLACES_FOLDER]: join(root.path, "places"), [PLACES_MAX]: String(places) };
  return open({ env, timeouts: { idleSeconds: 1 }, ...fields });
}

/** A thread at work until the gate opens. */
function begin(thread: AgentThread, name: string, fields: object = {}): AgentThread {
  thread.write(says("work", { text: `Done ${name}.`, waitFor: gate(name) }), fields);
  thread.start();
  return thread;
}

const status = (thread: AgentThread) => statusOf(thread.fold());
const waiting = (thread: AgentThread) =>
  until("it to wait for a place", () => thread.fold().steps.find(({ kind }) => kind === "place"));
const inTurn = (thread: AgentThread) => thread.event("step_start");
const hasTurn = (thread: AgentThread) => thread.fold().turn !== null;
const words = (thread: AgentThread) => thread.of("agent_message").map(({ text }) => text);

test("a second thread waits, is told where it stands, and costs no engine; it goes on when the first has ended", async () => {
  const first = begin(make(1), "first");
  await inTurn(first);
  const second = begin(make(1), "second");
  expect(await waiting(second)).toMatchObject({ title: "Waiting for a free place" });
  expect(status(second)).toBe("queued");
  const third = begin(make(1), "third");
  expect(await waiting(third)).toMatchObject({ title: "Waiting for a free place (1 before you)" });
  expect([...second.engineProcesses(), ...third.engineProcesses()]).toEqual([]);
  openGate("first");
  await until("the second to have a turn", () => hasTurn(second));
  await until("the third to be told", () => !third.fold().steps[0]?.title.includes("before"));
  for (const name of ["second", "third"]) openGate(name);
  await until("all to be done", () => [second, third].every((one) => words(one).length === 1));
  expect(third.of("step_end").find(({ stepId }) => stepId.startsWith("place-"))).toMatchObject({
    status: "completed",
  });
});

test("a queued thread can be stopped, its message taken back, and be killed; the others move up", async () => {
  const first = begin(make(1), "first");
  await inTurn(first);
  const [stopped, withdrawn, killed] = [make(1), make(1), make(1)];
  begin(stopped, "x");
  await waiting(stopped);
  const messageId = withdrawn.write(says("no", { text: "No." }));
  withdrawn.start();
  begin(killed, "y");
  for (const one of [withdrawn, killed]) await waiting(one);
  stopped.control("interrupt");
  expect(await stopped.ended()).toBe(0);
  expect(status(stopped)).toBe("idle");
  withdrawn.append({ op: "withdraw", messageId, by: "discord:7" });
  expect(await withdrawn.ended()).toBe(0);
  expect(status(withdrawn)).toBe("idle");
  // As the sidecar does it: the processes first, then a runner that writes down the end.
  killed.killRunner();
  await killed.runnerDied();
  killed.control("kill");
  killed.start();
  expect(await killed.ended()).toBe(0);
  expect(status(killed)).toBe("killed");
  expect(killed.fold().steps).toEqual([]);
  const last = begin(make(1), "last");
  expect(await waiting(last)).toMatchObject({ title: "Waiting for a free place" });
  // The stopped one goes on with what had waited, behind it.
  stopped.write(says("more", { text: "More." }));
  stopped.start();
  for (const name of ["first", "last", "x"]) openGate(name);
  await until("both to be done", () => words(last).length === 1 && words(stopped).length === 1);
  expect(stopped.of("delivery")[0]?.messageIds).toHaveLength(2);
});

test("who waits for a person gives the place back, and is the first to get one when the answer is there", async () => {
  const asker = make(1);
  const effect = bash("mkdir made");
  asker.write(says("work", { tools: [effect] }, { text: "Made." }));
  asker.start();
  const { requestId } = await asker.event("permission_request");
  const second = begin(make(1), "second");
  await inTurn(second);
  const third = begin(make(1), "third");
  await waiting(third);
  asker.answer(requestId, "once");
  expect(await waiting(asker)).toMatchObject({ title: "Waiting for a free place" });
  expect(existsSync(join(asker.dir, "made"))).toBe(false);
  openGate("second");
  await until("the asker to have made it", () => words(asker).length === 1);
  expect(existsSync(join(asker.dir, "made"))).toBe(true);
  openGate("third");
  await until("the third to be done", () => words(third).length === 1);
});

test("who gave its place back waits for one, though its runner was killed and the answer is there already", async () => {
  const asker = make(1);
  asker.write(says("work", { tools: [bash("mkdir made")] }, { text: "Made." }));
  asker.start();
  const { requestId } = await asker.event("permission_request");
  const second = begin(make(1), "second");
  await inTurn(second);
  asker.killRunner();
  await asker.runnerDied();
  asker.answer(requestId, "once");
  asker.start();
  expect(await waiting(asker)).toMatchObject({ title: "Waiting for a free place" });
  expect(existsSync(join(asker.dir, "made"))).toBe(false);
  openGate("second");
  await until("the asker to have made it", () => words(asker).length === 1);
});

// Promise: R14
test("a killed runner keeps its thread's place while the engine works, a dead thread keeps none", async () => {
  const first = begin(make(1), "first");
  await inTurn(first);
  first.killRunner();
  await first.runnerDied();
  const second = begin(make(1), "second");
  await waiting(second);
  first.start();
  openGate("first");
  await until("the first to be done", () => words(first).length === 1);
  await until("the second to have a turn", () => hasTurn(second));
  const third = begin(make(1), "third");
  await waiting(third);
  second.killRunner();
  await second.runnerDied();
  signal(second.enginePid(), "SIGKILL");
  openGate("third");
  await until("the third to be done", () => words(third).length === 1);
  rmSync(gate("third"));
});

test("whoever began many threads keeps nobody else waiting", async () => {
  const first = begin(make(1), "first");
  await inTurn(first);
  const log = join(root.path, "order");
  const queue = async (name: string, source: string) => {
    const thread = make(1, { agent: { permissionMode: "bypassPermissions" } });
    thread.write(says("work", { tools: [bash(`echo ${name} >> ${log}`)] }, { text: "Done." }), { source });
    thread.start();
    await waiting(thread);
    return thread;
  };
  const all: AgentThread[] = [];
  for (const name of ["anna1", "anna2"]) all.push(await queue(name, "discord:1"));
  all.push(await queue("ben1", "discord:2"));
  openGate("first");
  await until("all to be done", () => all.every((thread) => words(thread).length === 1));
  expect(readFileSync(log, "utf8")).toBe("anna1\nben1\nanna2\n");
});
