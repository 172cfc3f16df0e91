import { expect, test } from "vitest";
import type { ChannelRow } from "../../shared/channel-api.ts";
import { agentOf } from "./channel-agent.ts";

const row = {
  ...{
    engine: "demo",
    model: "opus",
    permissionMode: "plan",
    limits: { turns: 9, seconds: 60 },
    worktree: true,
  },
} as ChannelRow;
const none = {
  engine: null,
  model: null,
  permissionMode: null,
  limits: {},
  worktree: false,
} as unknown as ChannelRow;

test("what a person says of an agent goes before its channel's settings, field by field", () => {
  expect(agentOf(row)).toEqual({
    agent: {
      ...{ engine: "demo", model: "opus", permissionMode: "plan", limits: { turns: 9, seconds: 60 } },
      workspace: "worktree",
    },
  });
  expect(agentOf(row, { limits: { turns: 2 }, worktree: false })).toEqual({
    agent: { engine: "demo", model: "opus", permissionMode: "plan", limits: { turns: 2, seconds: 60 } },
  });
  expect(agentOf(row, { engine: { engine: "claude" }, model: "haiku", worktree: false })).toEqual({
    agent: { engine: "claude", model: "haiku", limits: { turns: 9, seconds: 60 } },
  });
  expect(agentOf(none, { worktree: true })).toEqual({ agent: { workspace: "worktree" } });
  for (const nothing of [agentOf(none), agentOf(undefined), agentOf(none, { limits: {}, worktree: null })])
    expect(nothing).toEqual({});
});
