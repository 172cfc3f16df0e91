import { expect, test } from "vitest";
import { trustAsk } from "./ask.ts";
import { type BroughtItem, countItems, itemOfFolder, itemsOfServers, itemsOfSettings } from "./brought.ts";
import { visible } from "./visible.ts";

const texts = (items: BroughtItem[]) => items.map(({ text }) => text);

test("settings are named one by one: each hook, each setting", () => {
  const settings = {
    $schema: "https://example.org",
    hooks: {
      SessionStart: [{ hooks: [{ type: "command", command: "./setup.sh" }] }],
      PreToolUse: [
        {
          matcher: "Bash",
          hooks: [
            { type: "command", command: "a" },
            { type: "prompt", prompt: "b" },
          ],
        },
      ],
    },
    permissions: { allow: ["Bash(rm:*)"] },
    apiKeyHelper: "./key.sh",
  };
  const items = itemsOfSettings("s.json", JSON.stringify(settings));
  expect(texts(items)).toEqual([
    "s.json: hook SessionStart: ./setup.sh",
    "s.json: hook PreToolUse Bash: a",
    's.json: hook PreToolUse Bash: {"type":"prompt","prompt":"b"}',
    's.json: permissions {"allow":["Bash(rm:*)"]}',
    "s.json: apiKeyHelper ./key.sh",
  ]);
  expect(countItems(items)).toBe("3 hooks, 2 settings");
});

test("MCP servers are named with what they start", () => {
  const servers = {
    mcpServers: { one: { command: "npx", args: ["-y", "thing"] }, two: { url: "https://x" } },
  };
  expect(texts(itemsOfServers(".mcp.json", JSON.stringify(servers)))).toEqual([
    ".mcp.json: MCP server one: npx -y thing",
    ".mcp.json: MCP server two: https://x",
  ]);
});

test.each(["{", "[]", "null", '"x"', ""])("settings that are no JSON object are named: %j", (text) => {
  expect(texts(itemsOfSettings("s", text))).toEqual(["s (it is no JSON object)"]);
  expect(texts(itemsOfServers("m", text))).toEqual(["m (it is no JSON object)"]);
});

test("odd shapes of hooks hide nothing", () => {
  for (const hooks of ["x", [1], { Stop: "x" }, { Stop: [{ hooks: { a: 1 } }] }, { Stop: [null] }]) {
    const items = itemsOfSettings("s", JSON.stringify({ hooks }));
    expect(items, JSON.stringify(hooks)).toHaveLength(1);
    expect(items[0]?.kind).toBe("hook");
  }
});

test("hidden characters are written out, and nothing is longer than people can read", () => {
  expect(visible("a\u202eb\u200b\u{e0041}\n\u3164\u00a0c d")).toBe(
    "a\\u{202e}b\\u{200b}\\u{e0041}\\n\\u{3164}\\u{a0}c d",
  );
  const many = Object.fromEntries(Array.from({ length: 500 }, (_, i) => [`s${i}`, "\u200b".repeat(5_000)]));
  const items = itemsOfSettings("s", JSON.stringify(many));
  const ask = trustAsk({ dir: `/${"d\u202e".repeat(3_000)}`, key: "k", items, isWhole: true }, "r");
  expect(ask.title.length).toBeLessThan(300);
  expect(ask.title).toContain("500 settings");
  expect(ask.description?.length).toBeLessThan(10_000);
  expect(ask.description).toContain("… and 460 more");
  expect(JSON.stringify(ask)).not.toMatch(/[\u200b\u202e]/);
  expect(
    itemOfFolder(
      "f",
      Array.from({ length: 100 }, (_, i) => `${i}`),
    ).text,
  ).toMatch(/^100 files in f: 0, 1, .*, …$/);
});

test("what could not be looked at as a whole can't be trusted", () => {
  const ask = trustAsk({ dir: "/d", key: "k", items: [], isWhole: false }, "r");
  expect(ask.options.map(({ optionId }) => optionId)).toEqual(["without"]);
});
