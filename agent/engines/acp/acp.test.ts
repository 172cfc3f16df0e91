import { expect, test } from "vitest";
import type { ThreadConfig } from "../../../shared/agent/config.ts";
import { emptyFold } from "../../../shared/agent/fold.ts";
import { acpEngine } from "./acp.ts";

function needsOf(program: string) {
  const launch = { program, args: ["acp"], questions: true, env: {} };
  const config = { threadId: "t", dir: "/repos/shop", launch, agent: { mode: "conversation", params: {} } };
  const request = { config: config as unknown as ThreadConfig, launch: {} as never, fold: emptyFold() };
  return acpEngine("acp", "/adapter.cjs").plan({
    ...request,
    env: { HOME: "/home/ann", PATH: "" },
    folder: "/f",
  }).needs;
}

// Without them an agent in a home of the thread's own would ask each person to sign in anew.
test("an agent that is known by name finds its sign-in in a home of the thread's own", () => {
  expect(needsOf("codex-acp")?.copies).toContain("/home/ann/.codex/auth.json");
  expect(needsOf("/opt/bin/opencode")?.copies).toContain("/home/ann/.local/share/opencode/auth.json");
  expect(needsOf("gemini")?.copies).toContain("/home/ann/.gemini/oauth_creds.json");
  expect(needsOf("claude-agent-acp")?.copies).toContain("/home/ann/.claude/.credentials.json");
  expect(needsOf("somebody-elses")?.copies).toEqual([]);
});
