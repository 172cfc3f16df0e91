/** A thread that text from outside has got into: whatever was allowed before, it asks about all that it does. */
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { type AgentThread, bash, openThreads, says } from "../support/agent-threads.ts";
import { until } from "../support/wait.ts";

const open = openThreads();
const RULE = "Bash(mkdir made *)";

/** In a turn of its own. */
const make = (thread: AgentThread, name: string, command = `mkdir made ${name}`) =>
  thread.write(says(`make ${name}`, { tools: [bash(command)] }, { text: "ok" }), { when: "next_turn" });
const isMade = (thread: AgentThread, name: string) => existsSync(join(thread.dir, name));
const mark = (thread: AgentThread) =>
  thread.append({ op: "mark", why: "a request of the hook deploy", by: "job:deploy" });

async function grant(thread: AgentThread): Promise<void> {
  thread.write(says("make", { tools: [bash("mkdir made")] }, { text: "made it" }));
  thread.start();
  thread.answer((await thread.event("permission_request")).requestId, "thread");
  await thread.event("turn_end");
}

test("granted rules hold no more, nobody grants more than a call, and the next engine knows", async () => {
  const thread = open({ timeouts: { idleSeconds: 3 } });
  await grant(thread);
  expect(thread.fold().grantedRules).toEqual([RULE]);
  mark(thread);
  make(thread, "one");
  const first = await thread.event("permission_request", 2);
  expect(isMade(thread, "one")).toBe(false);
  expect(thread.fold()).toMatchObject({ grantedRules: [], marked: { why: "a request of the hook deploy" } });
  // Nobody can grant more than this call any more.
  expect(first.options.map(({ kind }) => kind)).toEqual(["allow_once", "reject_once"]);
  thread.answer(first.requestId, "once");
  await thread.event("turn_end", 2);
  expect(isMade(thread, "one")).toBe(true);
  make(thread, "two");
  thread.answer((await thread.event("permission_request", 3)).requestId, "no");
  await thread.event("turn_end", 3);
  expect(thread.of("engine_start")).toHaveLength(1);
  await thread.ended();

  // What only looks is asked about too.
  make(thread, "three", "pwd");
  thread.start();
  thread.answer((await thread.event("permission_request", 4)).requestId, "once");
  await thread.event("turn_end", 4);
  expect(thread.of("engine_start")).toHaveLength(2);

  await thread.ended();

  // Trusted, it may look again.
  thread.append({ op: "unmark", by: "discord:7" });
  make(thread, "four", "pwd");
  thread.start();
  await thread.event("turn_end", 5);
  expect(thread.of("permission_request")).toHaveLength(4);
});

test("an ask from before, answered for the whole thread, is answered for once", async () => {
  const thread = open();
  thread.write(says("make", { tools: [bash("mkdir made")] }, { text: "made it" }));
  thread.start();
  const { requestId } = await thread.event("permission_request");
  mark(thread);
  thread.answer(requestId, "thread");
  expect(await thread.event("permission_response")).toMatchObject({ optionId: "once" });
  await thread.event("turn_end");
  expect([isMade(thread, "made"), thread.fold().grantedRules]).toEqual([true, []]);
  make(thread, "asked");
  thread.answer((await thread.event("permission_request", 2)).requestId, "no");
  await thread.event("turn_end", 2);
  expect(isMade(thread, "asked")).toBe(false);
});

test("marked while its runner is dead, a turn that goes on asks from its next call on", async () => {
  const thread = open();
  await grant(thread);
  const gate = join(thread.folder, "go");
  const call = (name: string) => ({ tools: [bash(`mkdir made ${name}`)] });
  thread.write(says("both", call("first"), { ...call("second"), waitFor: gate }, { text: "ok" }));
  await until("the first call", () => isMade(thread, "first"));
  thread.killRunner();
  await thread.runnerDied();
  mark(thread);
  thread.start();
  await thread.event("control");
  writeFileSync(gate, "");
  const { requestId } = await thread.event("permission_request", 2);
  expect(isMade(thread, "second")).toBe(false);
  thread.answer(requestId, "no");
  await thread.event("turn_end", 2);
});
