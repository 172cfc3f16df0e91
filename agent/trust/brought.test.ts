import { expect, test } from "vitest";
import { trustAsk } from "./ask.ts";
import { type BroughtItem, countItems, itemOfFolder, itemsOfServers, itemsOfSettings } from "./brought.ts";
import { headLines } from "./head.ts";
import { visible } from "./visible.ts";

const names = { folder: ".tool", memory: "TOOL.md" };

const texts = (items: BroughtItem[] | undefined) => (items ?? []).map(({ text }) => text);

// Promise: S9
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
  expect(countItems(items ?? [], names)).toBe("3 hooks, 2 settings");
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

test.each([
  ["a hook's arguments", { command: "node", args: ["-e", "evil()"] }, 'Stop: node {"args":["-e","evil()"]}'],
  ["the end of a long one", { command: `${"x".repeat(5_000)}; evil` }, `Stop: ${"x".repeat(5_000)}; evil`],
  ["a hook of HTTP", { type: "http", url: "http://e", headers: { a: "$KEY" } }, '"headers":{"a":"$KEY"}'],
  ["a hook with the command of another type", { type: "prompt", command: "a", prompt: "b" }, '"prompt":"b"'],
])("a hook is shown whole: %s", (_name, hook, expected) => {
  const items = itemsOfSettings("s", JSON.stringify({ hooks: { Stop: [{ hooks: [hook] }] } }));
  expect(texts(items).join("\n")).toContain(expected);
});

test.each([
  [
    { command: "node", args: ["x"], env: { NODE_OPTIONS: "--require ./evil.js" } },
    'node x {"env":{"NODE_OPTIONS":"--require ./evil.js"}}',
  ],
  [
    { type: "http", url: "https://x", headersHelper: "./evil" },
    'https://x {"type":"http","headersHelper":"./evil"}',
  ],
  [{ command: "sh", args: ["-c", "a b"] }, 'sh -c "a b"'],
  [{ command: "sh", url: "https://x", cwd: "/" }, '{"command":"sh","url":"https://x","cwd":"/"}'],
  [{ command: "c", args: "a b" }, 'c "a b"'],
])("a server is shown whole: %j", (server, expected) => {
  expect(texts(itemsOfServers("m", JSON.stringify({ mcpServers: { s: server } })))).toEqual([
    `m: MCP server s: ${expected}`,
  ]);
});

test.each([
  "{",
  "[]",
  "null",
  '"x"',
  '{"a":1,}',
  "{} // x",
  `{"a":${"[".repeat(30_000)}${"]".repeat(30_000)}}`,
])("what is no JSON object that can be shown is not told as one", (text) => {
  expect(itemsOfSettings("s", text)).toBeUndefined();
  expect(itemsOfServers("m", text)).toBeUndefined();
});

test.each([
  ["a skill's hooks", "---\nname: a\nhooks:\n  Stop: evil\n---\nx", ["name: a", "hooks:", "  Stop: evil"]],
  ["lines of another system", "---\r\nallowed-tools: Bash\r\n---\r\n", ["allowed-tools: Bash"]],
  ["ended in a line", "---\na: b --- ", ["a: b "]],
  ["none", "text\n---\n", []],
  ["commands that run", "See !`cat .env` and !`x\ny`", ["runs !`cat .env`", "runs !`x\ny`"]],
  ["a block that runs", "a\n```!\nevil\n```\n", ["runs ```!\nevil\n```"]],
  ["a block without an end", "```!\nevil", ["runs ```!\nevil"]],
  ["one behind what only looks like one", "x!`a !`evil`", ["runs !`a !`", "runs !`evil`"]],
  [
    "one that the head seems to begin",
    "---\na: x!`\n---\n!`evil`",
    ["a: x!`", "runs !`\n---\n!`", "runs !`evil`"],
  ],
  [
    "a block that the head seems to begin",
    "---\na: ```!\n---\n```!\nevil\n```",
    ["a: ```!", "runs ```!\n---\n```", "runs ```!\nevil\n```"],
  ],
])("the head of a text tells what it grants and runs: %s", (_name, text, lines) => {
  expect(headLines(text)).toEqual(lines);
});

// Seen of the real program: the opening line may have blanks, the first --- after it ends the head, wherever it stands.
test.each([
  ["blanks behind both", "---  \na: b\n---\u00a0\nx"],
  ["lines of another system", "---\r\na: b\r\n---\r\nx"],
  ["an end within a line", "---\na: b --- x\n---\n"],
  ["an end that is set in", "---\na: b\n  ---\nx"],
  ["an end with more behind it", "---\na: b\n---x\n"],
  ["an end of YAML's before it", "---\nc: d\n...\na: b\n---\nx"],
  ["no line between", "---\n\n\na: b---"],
  ["old line ends", "---\ra: b\r\n---\rx"],
  ["a control character", "---\n\0\na: b\n---"],
])("no line of a head that the program reads is left out: %s", (_name, text) => {
  expect(headLines(text).join("\n")).toContain("a: b");
});

test("a text full of beginnings is looked at in linear time", () => {
  const text = "!`".repeat(100_000) + "```!".repeat(50_000);
  const before = process.cpuUsage();
  headLines(text);
  expect(process.cpuUsage(before).user / 1_000).toBeLessThan(1_000);
});

test("all that is brought is shown, and none of it can feign another line", () => {
  const many = Object.fromEntries(Array.from({ length: 300 }, (_, i) => [`s${i}`, "end"]));
  const heads = [{ file: "a.md", lines: ["x\n- feigned"] }];
  const items = [...(itemsOfSettings("s", JSON.stringify(many)) ?? []), itemOfFolder("f", ["a.md"], heads)];
  const { description = "", options } = trustAsk({ dir: "/d", key: "k", items, isWhole: true, names }, "r");
  expect(description.split("\n")).toHaveLength(304);
  expect(description).toContain("- 1 file in f: a.md\n  a.md:\n    x\\n- feigned\n");
  expect(options.map(({ optionId }) => optionId)).toEqual(["trust", "without"]);
});

test("odd shapes of hooks hide nothing", () => {
  for (const hooks of ["x", [1], { Stop: "x" }, { Stop: [{ hooks: { a: 1 } }] }, { Stop: [null] }]) {
    const items = itemsOfSettings("s", JSON.stringify({ hooks }));
    expect(items, JSON.stringify(hooks)).toHaveLength(1);
    expect(items?.[0]?.kind).toBe("hook");
  }
});

test("hidden characters are written out, and nothing is longer than people can read", () => {
  expect(visible("a\u202eb\u200b\u{e0041}\n\u3164\u00a0c d")).toBe(
    "a\\u{202e}b\\u{200b}\\u{e0041}\\n\\u{3164}\\u{a0}c d",
  );
  const many = Object.fromEntries(Array.from({ length: 500 }, (_, i) => [`s${i}`, "\u200b".repeat(5_000)]));
  const items = itemsOfSettings("s", JSON.stringify(many)) ?? [];
  const ask = trustAsk({ dir: `/${"d\u202e".repeat(3_000)}`, key: "k", items, isWhole: true, names }, "r");
  expect(ask.title.length).toBeLessThan(300);
  expect(ask.title).toContain("500 settings");
  expect(ask.description?.length).toBeLessThan(600_000);
  expect(ask.description).toContain("… and 487 more, which are too long to be shown");
  expect(ask.options.map(({ optionId }) => optionId)).toEqual(["without"]);
  expect(JSON.stringify(ask)).not.toMatch(/[\u200b\u202e]/);
  expect(
    itemOfFolder(
      "f",
      Array.from({ length: 100 }, (_, i) => `${i}`),
    ).text,
  ).toMatch(/^100 files in f: 0, 1, .*, 99$/);
});

test("what could not be looked at as a whole can't be trusted", () => {
  const ask = trustAsk({ dir: "/d", key: "k", items: [], isWhole: false, names }, "r");
  expect(ask.options.map(({ optionId }) => optionId)).toEqual(["without"]);
});
