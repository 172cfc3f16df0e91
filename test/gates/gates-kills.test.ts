/** Kills of the runner and the engine between a gate's request and its decision: it is decided once, and the call that ran is the one that was asked about. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { callKeyOf } from "../../agent/core/call-key.ts";
import { bash, openThreads, says } from "../support/agent-threads.ts";
import { isAlive, signal } from "../support/processes.ts";
import { until } from "../support/wait.ts";

const open = openThreads();

const DECIDE = 'cat > /dev/null; echo $$ >> pids; until test -e go; do sleep 0.05; done; exit "$(cat go)"';
const linesOf = (path: string) => (existsSync(path) ? readFileSync(path, "utf8").trim().split("\n") : []);

function openGated(by: unknown) {
  const thread = open({ agent: { permissionMode: "auto", gates: [{ at: "before_step", by }] } });
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
