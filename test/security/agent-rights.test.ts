/** What an agent may do without asking: rules that people grant and withdraw, and the mode that asks for nothing. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { BYPASS_ALLOWED } from "../../shared/agent/markers.ts";
import { threadPath } from "../../shared/agent/paths.ts";
import { type AgentThread, bash, openThreads, says } from "../support/agent-threads.ts";
import { until } from "../support/wait.ts";

const open = openThreads();
/** What the stand-in suggests for `mkdir made`: calls of `mkdir made …` fall under it. */
const RULE = "Bash(mkdir made *)";
const FORBIDDEN = { [BYPASS_ALLOWED]: "0" };

/** In a turn of its own. */
const make = (thread: AgentThread, name: string) =>
  thread.write(says(`make ${name}`, { tools: [bash(`mkdir made ${name}`)] }, { text: "ok" }), {
    when: "next_turn",
  });
const isMade = (thread: AgentThread, name: string) => existsSync(join(thread.dir, name));
const withdraw = (thread: AgentThread, ...rules: string[]) =>
  thread.append({ op: "rules", withdraw: rules, by: "discord:8" });

async function grant(thread: AgentThread): Promise<void> {
  thread.write(says("make", { tools: [bash("mkdir made")] }, { text: "made it" }));
  thread.start();
  thread.answer((await thread.event("permission_request")).requestId, "thread");
  await thread.event("turn_end");
}

// Promise: S11
test("a withdrawn rule is asked about again, by the engine that runs and by the next; granted anew, it holds", async () => {
  const thread = open({ timeouts: { idleSeconds: 3 } });
  await grant(thread);
  make(thread, "freely");
  await thread.event("turn_end", 2);
  expect(thread.of("permission_request")).toHaveLength(1);
  withdraw(thread, RULE);
  make(thread, "asked");
  thread.answer((await thread.event("permission_request", 2)).requestId, "no");
  await thread.event("turn_end", 3);
  expect([isMade(thread, "freely"), isMade(thread, "asked")]).toEqual([true, false]);
  expect(thread.of("engine_start")).toHaveLength(1);
  expect(thread.of("control")).toMatchObject([{ op: "rules", withdraw: [RULE], by: "discord:8" }]);
  await thread.ended();
  expect(JSON.parse(readFileSync(threadPath(thread.folder, "state"), "utf8")).grantedRules).toEqual([]);

  make(thread, "asked");
  thread.start();
  const again = await thread.event("permission_request", 3);
  expect(thread.of("engine_start")).toHaveLength(2);
  thread.answer(again.requestId, "no");
  await thread.event("turn_end", 4);
  thread.write(says("make", { tools: [bash("mkdir made")] }, { text: "made it" }));
  thread.answer((await thread.event("permission_request", 4)).requestId, "thread");
  make(thread, "granted");
  await thread.event("turn_end", 6);
  expect(isMade(thread, "granted")).toBe(true);
});

// Promise: S11
test("withdrawn in mid-turn, while the runner is dead: the next call of the same turn is asked about", async () => {
  const thread = open();
  await grant(thread);
  const gate = join(thread.folder, "go");
  const call = (name: string) => ({ tools: [bash(`mkdir made ${name}`)] });
  thread.write(says("both", call("first"), { ...call("second"), waitFor: gate }, { text: "ok" }));
  await until("the first call", () => isMade(thread, "first"));
  thread.killRunner();
  await thread.runnerDied();
  withdraw(thread, RULE);
  thread.start();
  await thread.event("control");
  writeFileSync(gate, "");
  const { requestId } = await thread.event("permission_request", 2);
  expect(isMade(thread, "second")).toBe(false);
  thread.answer(requestId, "once");
  await thread.event("turn_end", 2);
  expect(isMade(thread, "second")).toBe(true);
  expect(thread.of("engine_start")).toHaveLength(1);
});

// Promise: S11
test("withdrawn before the engine has the answer that grants it: the call runs once, and nothing is granted", async () => {
  const thread = open();
  thread.write(says("make", { tools: [bash("mkdir made")] }, { text: "made it" }));
  thread.start();
  const { requestId } = await thread.event("permission_request");
  thread.killRunner();
  await thread.runnerDied();
  thread.answer(requestId, "thread");
  withdraw(thread, RULE);
  make(thread, "asked");
  thread.start();
  const { requestId: second } = await thread.event("permission_request", 2);
  expect([isMade(thread, "made"), isMade(thread, "asked")]).toEqual([true, false]);
  thread.answer(second, "no");
  await until("both turns", () => thread.fold().deliveries.length === 0 && thread.fold().turn === null);
  expect(thread.fold().grantedRules).toEqual([]);
});

// Promise: S10
test("a thread that was made to ask for nothing asks, if that is not allowed when its engine starts", async () => {
  const thread = open({ agent: { permissionMode: "bypassPermissions" }, env: FORBIDDEN });
  make(thread, "asked");
  thread.start();
  const { requestId } = await thread.event("permission_request");
  expect(thread.of("notice")).toMatchObject([{ title: expect.stringContaining("ALLOW_BYPASS") }]);
  expect(thread.of("engine_start")).toMatchObject([{ modeId: "default" }]);
  thread.append({ op: "mode", modeId: "bypassPermissions", by: "discord:7" });
  expect((await thread.event("notice", 2)).title).toContain("bypass");
  expect(thread.fold().engine?.modeId).toBe("default");
  thread.answer(requestId, "no");
  await thread.event("turn_end");
  expect(isMade(thread, "asked")).toBe(false);
});

// Promise: S10
test("neither the person's own arguments nor their settings lead to it", async () => {
  const settings = JSON.stringify({ permissions: { defaultMode: "bypassPermissions", ask: ["Bash(ls)"] } });
  const thread = open({ env: FORBIDDEN });
  const config = JSON.parse(readFileSync(threadPath(thread.folder, "config"), "utf8"));
  config.launch.args.push("--dangerously-skip-permissions", "--settings", settings);
  writeFileSync(threadPath(thread.folder, "config"), JSON.stringify(config));
  make(thread, "asked");
  thread.start();
  thread.answer((await thread.event("permission_request")).requestId, "no");
  await thread.event("turn_end");
  // What else their settings say is kept.
  thread.write(says("list", { tools: [bash("ls")] }, { text: "ok" }));
  thread.answer((await thread.event("permission_request", 2)).requestId, "no");
  await thread.event("turn_end", 2);
});
