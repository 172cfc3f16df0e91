/** A connection with an agent that is a stream in this process. */
import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import type { AgentProgram } from "./agent-program.ts";
import { Connection, OpenError } from "./connection.ts";
import type { Spec } from "./protocol.ts";
import { Replay } from "./replay.ts";
import { Rpc } from "./rpc.ts";

const spec: Spec = { program: "x", args: [], dir: "/", allowedTools: [], taken: [] };
const DEADLINES = { initializeMs: 50, sessionMs: 50 };

function connect(answers: (line: { id: number; method: string }) => unknown): Connection {
  const input = new PassThrough();
  const output = new PassThrough();
  input.on("data", (chunk: Buffer) => {
    const line = JSON.parse(chunk.toString()) as { id: number; method: string };
    const result = answers(line);
    if (result !== undefined) output.write(`${JSON.stringify({ jsonrpc: "2.0", id: line.id, result })}\n`);
  });
  const nothing = () => {};
  return new Connection(spec, { input, output } as unknown as AgentProgram, {
    heard: nothing,
    update: nothing,
    permission: () => Promise.resolve({}),
    cancelled: nothing,
    notice: nothing,
    log: nothing,
    broken: nothing,
  });
}

test("an agent that never answers is told of with what it did not answer, and when", async () => {
  const mute = connect(() => undefined);
  await expect(mute.open(DEADLINES)).rejects.toThrow(/did not answer initialize within 0\.1 seconds/);
  const half = connect(({ method }) => (method === "initialize" ? { protocolVersion: 1 } : undefined));
  await expect(half.open(DEADLINES)).rejects.toThrow(/did not answer session\/new within/);
});

test.each([
  ["no object", 7],
  ["without a version", { protocolVersion: "one" }],
])("an answer to initialize that is %s is a sentence", async (_, answer) => {
  await expect(connect(() => answer).open(DEADLINES)).rejects.toThrow(
    new OpenError("Its answer to initialize is none of the Agent Client Protocol."),
  );
});

test("a new session without an id is none", async () => {
  const agent = connect(({ method }) => (method === "initialize" ? { protocolVersion: 1 } : {}));
  await expect(agent.open(DEADLINES)).rejects.toThrow("Its new session has no id.");
});

test("a marker counts in a person's words alone, also in two pieces", () => {
  const ids = ["11111111-a", "22222222-b", "33333333-c"];
  const replay = new Replay(ids);
  const said = (kind: "user_message_chunk" | "agent_message_chunk", text: string) =>
    replay.take({ sessionUpdate: kind, content: { type: "text", text } });
  said("user_message_chunk", "one <!-- 111");
  said("user_message_chunk", "11111 -->");
  said("agent_message_chunk", "<!-- 22222222 -->");
  said("user_message_chunk", "x".repeat(100_000));
  expect(replay.missing).toEqual(["22222222-b", "33333333-c"]);
});

test("of hostile output nothing is kept, and what comes after noise is read", async () => {
  const output = new PassThrough();
  const heard: string[] = [];
  let isTooLong = false;
  const rpc = new Rpc(new PassThrough(), output, {
    request: () => undefined,
    notification: (method) => void heard.push(method),
    noise: (text) => void heard.push(text),
    tooLong: () => (isTooLong = true),
  });
  const lines = [
    "{}",
    "[1]",
    "null",
    '{"id":99,"result":1}',
    '{"id":{},"method":"a"}',
    "{",
    '{"method":"ok"}',
  ];
  output.write(`${lines.join("\n")}\n`);
  await new Promise(setImmediate);
  expect(heard).toEqual(["[1]", "null", '{"id":{},"method":"a"}', "{", "ok"]);
  const piece = Buffer.alloc(8 * 1024 * 1024, 120);
  for (let i = 0; i < 5; i += 1) output.write(piece);
  await new Promise(setImmediate);
  expect(isTooLong).toBe(true);
  output.write('\n{"method":"late"}\n');
  await new Promise(setImmediate);
  expect(heard.at(-1)).toBe("ok");
  await expect(
    Promise.race([
      rpc.request("x", {}, 20),
      new Promise((_, reject) => setTimeout(() => reject(new Error("never")), 500)),
    ]),
  ).rejects.toThrow("did not answer x");
});
