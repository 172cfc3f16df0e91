/** The real program at its provider's limit: what it says of it, and that its turn is taken up where it was. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { AgentThread, bash, says } from "../support/agent-threads.ts";
import { type Model, startModel } from "./model.ts";
import { claudeEnvironment, claudeProgram } from "./real.ts";

let model: Model;
let thread: AgentThread;

beforeEach(async () => {
  model = await startModel();
  // Only a subscription has such limits. Nobody but the loopback model sees this token, which is none.
  const { ANTHROPIC_API_KEY: _, ...env } = claudeEnvironment(model);
  const program = {
    program: claudeProgram(),
    args: [],
    env: { ...env, CLAUDE_CODE_OAUTH_TOKEN: "no-token" },
  };
  thread = new AgentThread({ program, agent: { permissionMode: "bypassPermissions" } });
});
afterEach(async () => {
  await thread.close();
  await model.close();
});

const refused = (limit: object) => ({ error: { status: 429, limit } });

test("refused in its first call and after a round of tools, it asks both times, and goes on", async () => {
  const effect = { tools: [bash("echo once >> ran")] };
  const told = refused({ resetsInSeconds: 5_000 });
  thread.write(says("work", told, effect, told, { text: "Done." }));
  for (const count of [1, 2]) {
    thread.start();
    const request = await thread.event("permission_request", count);
    expect(await thread.ended()).toBe(0);
    expect(request.title).toBe("You've hit your 5-hour limit");
    const aheadMs = Date.parse(request.limit?.resetsAt ?? "") - Date.now();
    expect(aheadMs).toBeGreaterThan(4_900_000);
    expect(aheadMs).toBeLessThan(5_001_000);
    thread.answer(request.requestId, "more");
  }
  thread.start();
  await thread.event("agent_message");
  expect(thread.of("agent_message").map(({ text }) => text)).toEqual(["Done."]);
  expect(readFileSync(join(thread.dir, "ran"), "utf8")).toBe("once\n");
  expect(model.timesInContext("work @@")).toBe(1);
});
