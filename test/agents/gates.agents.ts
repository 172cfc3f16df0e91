/** The real program at gates: held before a call, between calls and before its end, also over a kill. */
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { callKeyOf } from "../../shared/agent/call-key.ts";
import { type AgentThread, bash, says } from "../support/agent-threads.ts";
import { signal } from "../support/processes.ts";
import { until } from "../support/wait.ts";
import { realThreads } from "./real-threads.ts";

const real = realThreads();

const call = (command: string) => ({ tools: [bash(command)] });
const isMade = (thread: AgentThread, name: string) => existsSync(join(thread.dir, name));
const outcomes = (thread: AgentThread) =>
  thread.of("gate_response").map(({ outcome, text }) => [outcome, ...(text === undefined ? [] : [text])]);

test("a command and a person decide before calls, a check between them, another before the end", async () => {
  const gates = [
    { at: "before_step", if: { command: "touch prod*" }, by: "command: echo 'not on prod'; exit 1" },
    { at: "before_step", if: { command: "touch staging*" }, by: "person" },
    { at: "after_step", if: { command: "touch staging*" }, by: "command: echo 'lint it'; exit 1" },
    { at: "after_complete", by: "command: test -e ready || { touch ready; echo 'not ready'; exit 1; }" },
  ];
  const thread = real.open({ agent: { permissionMode: "acceptEdits", gates } });
  thread.write(says("Go", call("touch prod"), call("touch staging"), { text: "First." }, { text: "Last." }));
  thread.start();
  const ask = await thread.event("permission_request");
  expect(ask).toMatchObject({ gate: "before_step", callKey: callKeyOf("Bash", bash("touch staging").input) });
  expect(isMade(thread, "staging")).toBe(false);
  thread.answer(ask.requestId, "continue");
  expect(await thread.event("turn_end")).toMatchObject({ stopReason: "end_turn" });
  expect([isMade(thread, "prod"), isMade(thread, "staging")]).toEqual([false, true]);
  expect(outcomes(thread)).toEqual([
    ["fail", "not on prod"],
    ["retry", "lint it"],
    ["retry", "not ready"],
    ["continue"],
  ]);
  // A person's yes at the gate is their yes to the program's own ask.
  expect(thread.of("permission_request").filter(({ gate }) => gate === undefined)).toMatchObject([]);
  const heard = JSON.stringify(real.model.requests);
  for (const text of ["not on prod", "lint it", "not ready"]) expect(heard).toContain(text);
});

test("killed while a command decides, it runs nothing that nobody has let", async () => {
  const by = "command: echo x >> asked; until test -e go; do sleep 0.1; done; exit 1";
  const thread = real.open({
    agent: { permissionMode: "bypassPermissions", gates: [{ at: "before_step", by }] },
  });
  thread.write(says("Go", call("echo ran >> effect"), { text: "Done." }));
  thread.start();
  await until("the command", () => isMade(thread, "asked"));
  const pid = thread.enginePid();
  if (pid) signal(pid, "SIGKILL");
  await thread.event("engine_end");
  writeFileSync(join(thread.dir, "go"), "");
  await until("the turn's end", () => {
    if (!thread.runner) thread.start();
    return thread.of("turn_end").some(({ stopReason }) => stopReason === "end_turn");
  });
  expect(thread.of("engine_start")).toHaveLength(2);
  expect(isMade(thread, "effect")).toBe(false);
  expect(outcomes(thread).map(([outcome]) => outcome)).not.toContain("continue");
});
