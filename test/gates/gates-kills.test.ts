/**
 * Kills of the runner and the engine between a gate's request and its decision. The request is decided once, and the
 * call that ran is the one that was asked about.
 */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { callKeyOf } from "../../shared/agent/call-key.ts";
import { bash, openThreads, says } from "../support/agent-threads.ts";
import { isAlive, signal } from "../support/processes.ts";
import { until } from "../support/wait.ts";

const open = openThreads();

const DECIDE = 'cat > /dev/null; echo $$ >> pids; until test -e go; do sleep 0.05; done; exit "$(cat go)"';
const linesOf = (path: string) => (existsSync(path) ? readFileSync(path, "utf8").trim().split("\n") : []);

function openGated(by: unknown, more: object = {}) {
  const gates = [{ at: "before_step", by, ...more }];
  const thread = open({ agent: { permissionMode: "auto", gates }, timeouts: { idleSeconds: 1 } });
  thread.write(says("Go", { tools: [bash("echo ran >> effect")] }, { text: "Done." }));
  thread.start();
  const at = (name: string) => join(thread.dir, name);
  const key = callKeyOf("Bash", bash("echo ran >> effect").input);
  return { thread, at, key };
}

test.each([
  ["0", ["ran"], "continue"],
  ["1", [], "fail"],
])("the runner is killed while a command decides, which then says %s", async (code, effects, outcome) => {
  const { thread, at, key } = openGated({ command: DECIDE });
  await until("the command", () => linesOf(at("pids"))[0]);
  const [first = ""] = linesOf(at("pids"));
  thread.killRunner();
  await thread.runnerDied();
  thread.start();
  await until("the next command", () => linesOf(at("pids")).length === 2);
  await until("the first one's end", () => !isAlive(Number(first)));
  writeFileSync(at("go"), code);
  await thread.event("turn_end");
  const events = thread.events();
  expect(events.filter(({ type }) => type === "gate_request")).toHaveLength(1);
  expect(events.filter(({ type }) => type === "gate_response")).toMatchObject([{ outcome, callKey: key }]);
  expect(linesOf(at("effect"))).toEqual(effects);
});

test("the engine is killed while a person is asked: the call that it makes again has their answer", async () => {
  const { thread, at, key } = openGated("person");
  const { requestId } = await thread.event("permission_request");
  signal(thread.enginePid(), "SIGKILL");
  await thread.event("engine_end");
  expect(existsSync(at("effect"))).toBe(false);
  await thread.ended();
  thread.answer(requestId, "continue");
  thread.start();
  const end = await until("the turn's end", () =>
    thread.events().findLast((event) => event.type === "turn_end" && event.stopReason === "end_turn"),
  );
  expect(end).toBeDefined();
  expect(linesOf(at("effect"))).toEqual(["ran"]);
  const asked = thread.events().filter((event) => event.type === "permission_request");
  expect(asked.map(({ callKey }) => callKey)).toEqual([key]);
});

test("the engine is killed while a person has only so long: their time is over all the same, and that is a no", async () => {
  const { thread, at } = openGated("person", { timeoutSeconds: 3 });
  await thread.event("permission_request");
  signal(thread.enginePid(), "SIGKILL");
  expect(await thread.event("gate_response")).toMatchObject({
    outcome: "fail",
    text: "Nobody decided in time.",
  });
  await until("the turn's end", () => {
    if (!thread.runner) thread.start();
    return thread.of("turn_end").some(({ stopReason }) => stopReason === "end_turn");
  });
  expect(existsSync(at("effect"))).toBe(false);
  expect(thread.fold().asks).toEqual([]);
});

test("the engine is killed while a command decides: the command ends, and so does the runner at rest", async () => {
  const { thread, at } = openGated({ command: DECIDE });
  await until("the command", () => linesOf(at("pids")).length === 1);
  signal(thread.enginePid(), "SIGKILL");
  await until("the command's end", () => !isAlive(Number(linesOf(at("pids"))[0])));
  expect(await thread.ended()).toBe(0);
});

test("a command that a signal ends has decided nothing: it is run once more", async () => {
  const { thread, at } = openGated({ command: DECIDE });
  for (const count of [1, 2]) {
    await until("the command", () => linesOf(at("pids")).length === count);
    signal(Number(linesOf(at("pids")).at(-1)), "SIGKILL");
  }
  await thread.event("gate_response");
  expect(thread.of("gate_response")).toMatchObject([
    { outcome: "fail", text: "A signal ended its command twice." },
  ]);
  expect(linesOf(at("pids"))).toHaveLength(2);
});

test("a command decides on a failed turn after its engine has ended", async () => {
  const gates = [{ at: "on_error", by: { command: DECIDE } }];
  const thread = open({ agent: { gates }, timeouts: { idleSeconds: 1 } });
  thread.write(says("Go", { error: { status: 400, message: "no" } }));
  thread.start();
  await thread.event("engine_end");
  const at = (name: string) => join(thread.dir, name);
  await until("the command", () => linesOf(at("pids")).length > 0);
  expect(thread.of("gate_response")).toEqual([]);
  writeFileSync(at("go"), "1");
  const { outcome, requestId } = await thread.event("gate_response");
  expect(outcome).toBe("retry");
  await until("the next try", () =>
    thread.of("user_message").some(({ messageId }) => messageId === requestId),
  );
  await thread.event("turn_start", 2);
  await thread.ended();
  expect(linesOf(at("pids"))).toHaveLength(1);
});
