/** Threads in a program's hand: begun in each mode, looked at, waited for, gone on with. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { AppError } from "../../shared/errors.ts";
import { RoomClient } from "../../shared/room-client.ts";
import { continueThread, spawn, ThreadError } from "../../shared/thread-handle.ts";
import { STAND_IN_CONFIG, script } from "../support/agents.ts";
import { startSidecar, type TestSidecar } from "../support/sidecar.ts";
import { until } from "../support/wait.ts";

let sidecar: TestSidecar;
beforeAll(async () => {
  sidecar = await startSidecar(STAND_IN_CONFIG);
  mkdirSync(join(sidecar.reposDir, "shop"));
});
afterAll(() => sidecar?.close());

const dir = "shop";
const errorOf = (work: Promise<unknown>) =>
  work.then(
    () => undefined,
    (error: unknown) => error,
  );

test("a handle waits for its own turn, and tells what was said", async () => {
  const { client, reposDir } = sidecar;
  const command = script("Go", { waitFor: "go", text: "One." });
  const handle = await spawn(client, { dir, command });
  expect(handle.isDone).toBe(false);
  await until("its work", async () => (await handle.status()) === "running");
  expect(await errorOf(handle.wait(50))).toMatchObject({
    name: "ThreadError",
    reason: "timeout",
    threadId: handle.id,
  });
  expect(await errorOf(continueThread(client, handle.id, "Now?"))).toMatchObject({ code: "turn_running" });
  writeFileSync(join(reposDir, dir, "go"), "");
  expect(await handle.wait()).toEqual({ text: "One.", stopReason: "end_turn" });
  expect(handle.isDone).toBe(true);
  const next = await continueThread(client, handle.id, script("And?", { text: "Two." }));
  expect(await next.wait(60_000)).toEqual({ text: "Two.", stopReason: "end_turn" });
  expect(await next.peek(3)).toEqual(["One.", expect.stringMatching(/^> And\?/), "Two."]);
  expect(await next.peek()).toEqual(["Two."]);
  expect(await errorOf(next.peek(0))).toMatchObject({ code: "invalid_request" });
});

test("await gives the handle once the turn has ended; single takes no second message", async () => {
  const { client } = sidecar;
  const outputSchema = { type: "object", properties: { ok: { type: "boolean" } }, required: ["ok"] };
  const awaited = await spawn(client, {
    ...{ dir, mode: "await" },
    command: script("Go", { output: { ok: true } }),
    agent: { outputSchema },
  });
  expect(awaited.isDone).toBe(true);
  expect(await awaited.wait()).toMatchObject({ result: { ok: true } });
  const single = await spawn(client, { dir, mode: "single", command: script("Go", { text: "Once." }) });
  expect(await single.wait(60_000)).toMatchObject({ text: "Once." });
  expect(await errorOf(continueThread(client, single.id, "Again?"))).toMatchObject({ code: "thread_single" });
});

test("a thread's error is thrown by its handle", async () => {
  const { client } = sidecar;
  const failing = { dir, command: script("Go", { error: { status: 400, message: "no such model" } }) };
  const failed = await errorOf(spawn(client, { ...failing, mode: "await" }));
  expect(failed).toBeInstanceOf(ThreadError);
  expect((failed as Error).message).toContain("no such model");
  const handle = await spawn(client, { dir, command: script("Go", { waitFor: "never", text: "x" }) });
  const waits = errorOf(handle.wait());
  await client.killThread(handle.id);
  expect(await waits).toMatchObject({ reason: "failed" });
  const refused = await errorOf(spawn(client, { dir: "nowhere", command: "x" }));
  expect(refused).toBeInstanceOf(AppError);
  expect(refused).toMatchObject({ code: "invalid_directory" });
});

test("a directive's spawn sets the mode, unless another one is asked for", async () => {
  const { client, stateDir } = sidecar;
  mkdirSync(join(stateDir, "directives"), { recursive: true });
  for (const mode of ["await", "single"])
    writeFileSync(
      join(stateDir, "directives", `by-${mode}.md`),
      `---\nname: by-${mode}\ndescription: d\nthreadmux:\n  spawn: ${mode}\n---\nWork.`,
    );
  const command = script("Go", { text: "Once." });
  for (const directive of ["by-await", "user:by-await"])
    expect((await spawn(client, { dir, command, agent: { directive } })).isDone).toBe(true);
  const waits = script("Go", { waitFor: "never", text: "Once." });
  const other = await spawn(client, { dir, command: waits, mode: "async", agent: { directive: "by-await" } });
  expect(other.isDone).toBe(false);
  const single = await spawn(client, { dir, command, agent: { directive: "by-single" } });
  expect(await single.wait(60_000)).toMatchObject({ text: "Once." });
  expect(await errorOf(continueThread(client, single.id, "Again?"))).toMatchObject({ code: "thread_single" });
  const room = new RoomClient(client).create({
    ...{ threadId: "room", dir, protocol: "reactive" },
    members: [{ directive: "by-await" }, { directive: "by-single" }],
  });
  expect(await errorOf(room)).toMatchObject({
    code: "unsupported",
    message: "members.1.directive: by-single takes one message alone.",
  });
  const nobody = spawn(client, { dir, command, agent: { directive: "nobody" } });
  expect(await errorOf(nobody)).toMatchObject({ code: "not_found" });
});
