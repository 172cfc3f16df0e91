import { expect, test } from "vitest";
import type { ReplyPiece } from "./call-model.ts";
import { charactersOf, LocalServer } from "./local-server.ts";

const TOOLS = [{ name: "bash" }];
const text = (words: string): ReplyPiece => ({ type: "text", text: words, options: undefined });
const usage = (inputTokens: number) => ({ inputTokens, outputTokens: 1 });

function look(server: LocalServer, characters: number, inputTokens: number, by = "m") {
  return server
    .look(by, { characters }, { pieces: [text("Yes.")], usage: usage(inputTokens) }, TOOLS)
    .map(({ title }) => title);
}

const asText = (words: string, ...more: ReplyPiece[]) =>
  new LocalServer().look(
    "m",
    { characters: 10 },
    { pieces: [text(words), ...more], usage: undefined },
    TOOLS,
  );

test("a request that grows while its tokens do not was cut; after a summary, or under another model, it was not", () => {
  const server = new LocalServer();
  expect(look(server, 8_000, 2_000)).toEqual([]);
  expect(look(server, 16_000, 4_000)).toEqual([]);
  expect(look(server, 17_000, 3_990)).toEqual([]); // templates differ by some tokens
  expect(look(server, 24_000, 3_980)).toMatchObject([expect.stringContaining("cut the conversation")]);
  expect(look(server, 30_000, 3_000, "another")).toEqual([]);
  expect(look(server, 9_000, 2_000, "another")).toEqual([]);
});

test("a first request of far more characters than its tokens could be was cut; without a count nobody knows", () => {
  expect(look(new LocalServer(), 200_000, 4_096)).toHaveLength(1);
  expect(look(new LocalServer(), 200_000, 40_000)).toEqual([]);
  expect(look(new LocalServer(), 200_000, 0)).toEqual([]);
});

test("a call as text is noticed in the forms of several models, and words about calls are not", () => {
  for (const words of [
    '<tool_call>\n{"name": "bash", "arguments": {"command": "ls"}}\n</tool_call>',
    '```json\n{"name": "bash", "parameters": {"command": "ls"}}\n```',
    '[TOOL_CALLS][{"name":"bash","arguments":{}}]',
    "<function=bash><parameter=command>ls</parameter></function>",
  ])
    expect(asText(words), words).toMatchObject([{ title: expect.stringContaining("as text") }]);
  for (const words of [
    "I call bash with the command ls.",
    'package.json has {"name": "bash"} in it.',
    '{"name": "curl", "arguments": {"url": "x"}}',
  ])
    expect(asText(words), words).toEqual([]);
  const call: ReplyPiece = { type: "call", name: "bash", input: {} };
  expect(asText("<tool_call>", call)).toEqual([]);
});

test("images count for nothing, nor does what is nested without end", () => {
  let input: unknown = "deep";
  for (let depth = 0; depth < 100_000; depth++) input = [input];
  const call = { type: "tool-call" as const, toolCallId: "c", toolName: "bash", input };
  expect(charactersOf("", [{ role: "assistant", content: [call] }], [])).toBeLessThan(300);
  const image = { type: "file" as const, mediaType: "image/png", data: Buffer.alloc(10_000) };
  expect(charactersOf("", [{ role: "user", content: [image] }], [])).toBeLessThan(200);
});
