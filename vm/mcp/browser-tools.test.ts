/** Who gets a browser as a tool. */
import { expect, test } from "vitest";
import { knownThreadId } from "../../shared/ids.ts";
import { canBeHeld } from "../agents/outside.ts";
import type { AgentBrowsers } from "./agent-browsers.ts";
import { browserTools } from "./browser-tools.ts";

// Promise: S51
test("an engine that can't be held to ask is offered none, and refused each", async () => {
  expect(["claude", "demo", "own", "acp", "command", undefined].map(canBeHeld)).toEqual([
    true,
    true,
    true,
    false,
    false,
    false,
  ]);
  const threadId = knownThreadId.parse("a");
  const inputs: Record<string, object> = {
    browser_open: { url: "example.org" },
    browser_click: { number: 1, picture: 1, what: "link About us" },
    browser_type: { text: "x" },
    browser_go: { to: "back" },
  };
  const tools = browserTools({
    agentBrowsers: { isThere: true } as AgentBrowsers,
    canBeHeld: () => false,
  });
  for (const { name, isFor, run } of tools.filter((tool) => tool.name !== "browser_close")) {
    expect(isFor?.(threadId)).toBe(false);
    const call = { threadId, callId: "c", input: inputs[name] ?? {}, signal: new AbortController().signal };
    await expect(async () => run(call)).rejects.toThrow("There is no browser for you");
  }
});

test("bad input is refused by its field", async () => {
  const tools = browserTools({ agentBrowsers: { isThere: true } as AgentBrowsers, canBeHeld: () => true });
  const run = async (name: string, input: object) => {
    const tool = tools.find((one) => one.name === name);
    const signal = new AbortController().signal;
    return tool?.run({ threadId: knownThreadId.parse("a"), callId: undefined, input, signal });
  };
  await expect(run("browser_go", {})).rejects.toThrow("to, key: give one of them");
  await expect(run("browser_go", { to: "back", key: "Enter" })).rejects.toThrow("to, key: give one of them");
  await expect(run("browser_click", { number: 100, picture: 1, what: "x" })).rejects.toThrow(
    "must be from 1 to 99",
  );
  await expect(run("browser_type", { text: "\0" })).rejects.toThrow("must not hold a NUL");
  await expect(run("browser_click", { number: 1, picture: 1 })).rejects.toThrow("what");
  await expect(run("browser_type", { text: "x", number: 1 })).rejects.toThrow("what: say what stands");
  await expect(run("browser_look", { from: -1 })).rejects.toThrow("from");
});
