/** The wire formats of providers beside the usual two: what each wants back of its own words comes back, also after a death. */
import { mkdirSync, writeFileSync } from "node:fs";
import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { threadPath } from "../../../shared/agent/paths.ts";
import { makeFolder } from "../../../test/support/folders.ts";
import { until } from "../../../test/support/wait.ts";
import { Agent } from "./agent.ts";
import type { FromOwn, Start } from "./protocol.ts";
import { Providers } from "./provider.ts";
import { makeTools } from "./tools/tool-set.ts";
import { findWhere } from "./tools/where.ts";

let folder: ReturnType<typeof makeFolder>;
let server: Server;
let url = "";
let requests: { path: string; body: Record<string, unknown> }[] = [];
let answers: ((response: ServerResponse) => void)[] = [];
let agents: TestAgent[] = [];

beforeEach(async () => {
  folder = makeFolder();
  for (const name of ["thread", "work"]) mkdirSync(join(folder.path, name));
  writeFileSync(join(folder.path, "work", "a.txt"), "what is in it\n");
  [requests, answers, agents] = [[], [], []];
  server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    requests.push({ path: request.url ?? "", body: JSON.parse(Buffer.concat(chunks).toString()) });
    answers.shift()?.(response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterEach(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  folder.remove();
});

/** The program without its process: the runner's part lets each call go on. */
class TestAgent {
  readonly #agent: Agent;
  readonly #lines: FromOwn[] = [];
  #isDead = false;

  constructor(generation: number, model: string) {
    agents.push(this);
    const dir = join(folder.path, "work");
    const start = {
      ...{
        generation,
        sessionId: "0123456789",
        resumed: generation > 1,
        reseeded: false,
        takesUp: generation > 1,
      },
      ...{ modeId: "default", model, rules: [], instructions: "" },
      config: { dir, agent: { engine: "own", params: { thinking: "low" } }, launch: { allowedTools: [] } },
    } as unknown as Start;
    this.#agent = new Agent({
      ...{
        start,
        providers: new Providers(),
        folder: join(folder.path, "thread"),
        commandEnv: {},
        makeTools,
        output: undefined,
      },
      env: { OPENAI_API_KEY: "k", OPENAI_BASE_URL: url, GEMINI_API_KEY: "k", GEMINI_BASE_URL: url },
      where: findWhere(dir, [], undefined, undefined),
      mcp: { tools: [], missing: [], problems: [] },
      readImage: () => undefined,
      write: (bytes) => this.#hear(bytes),
      exit: () => {},
    });
    this.#agent.take({ op: "open" });
  }

  #hear(bytes: Buffer): void {
    if (this.#isDead) return;
    const line = JSON.parse(bytes.toString()) as FromOwn;
    this.#lines.push(line);
    for (const { requestId } of line.requests ?? [])
      queueMicrotask(() => this.#agent.take({ op: "answer", verdict: { requestId, goesOn: true } }));
  }

  tell(text: string): void {
    this.#agent.take({ op: "deliver", deliveryId: text, parts: [{ type: "text", text }] });
  }

  get events(): { type: string; [field: string]: unknown }[] {
    return this.#lines.flatMap(({ events = [] }) => events as { type: string }[]);
  }

  ended(count: number): Promise<unknown> {
    return until(
      `turn ${count} to end`,
      () => this.events.filter(({ type }) => type === "turn_end").length === count,
    );
  }

  /** As `kill -9`; the transcript has all that it had said. */
  kill(): void {
    this.#isDead = true;
    this.#agent.take({ op: "control", control: { op: "interrupt", seq: 1, by: "discord:7" } });
    const lines = agents
      .flatMap(({ events }) => events)
      .map((event, at) => {
        const place = { seq: at + 1, id: `e1-${at}.0`, ts: "2026-11-26T10:00:00.000Z" };
        return `${JSON.stringify({ ...event, ...place })}\n`;
      });
    writeFileSync(threadPath(join(folder.path, "thread"), "transcript"), lines.join(""));
  }
}

const stream = (lines: readonly object[]) => (response: ServerResponse) => {
  response.writeHead(200, { "content-type": "text/event-stream" });
  response.end(lines.map((line) => `data: ${JSON.stringify(line)}\n\n`).join(""));
};

interface Wire {
  model: string;
  /** A thought, then a call of the tool `read`. */
  calls: object[];
  says(text: string): object[];
  /** The conversation in a request. */
  conversation(body: Record<string, unknown>): unknown[];
  /** The parts of a thought and a call that the provider wants back. */
  kept: object[];
}

const item = (output_index: number, more: object, done: object = {}) => [
  { type: "response.output_item.added", output_index, item: more },
  { type: "response.output_item.done", output_index, item: { ...more, ...done } },
];
const created = { type: "response.created", response: { id: "resp_1", created_at: 1, model: "gpt-6-sol" } };
const completed = {
  type: "response.completed",
  response: {
    usage: {
      ...{ input_tokens: 100, input_tokens_details: { cached_tokens: 20 } },
      ...{ output_tokens: 10, output_tokens_details: { reasoning_tokens: 4 } },
    },
  },
};
const summary = { item_id: "rs_1", summary_index: 0 };
const args = JSON.stringify({ file_path: "a.txt" });
const [reasoningAdded, reasoningDone] = item(
  0,
  { type: "reasoning", id: "rs_1", encrypted_content: null },
  { encrypted_content: "sealed", summary: [{ type: "summary_text", text: "Hm." }] },
);

const openai: Wire = {
  model: "openai/gpt-6-sol",
  calls: [
    created,
    reasoningAdded ?? {},
    { type: "response.reasoning_summary_part.added", ...summary },
    { type: "response.reasoning_summary_text.delta", ...summary, delta: "Hm." },
    { type: "response.reasoning_summary_part.done", ...summary },
    reasoningDone ?? {},
    ...item(
      1,
      { type: "function_call", id: "fc_1", call_id: "call_1", name: "read", arguments: "" },
      { arguments: args, status: "completed" },
    ),
    completed,
  ],
  says: (text) => {
    const [added, done] = item(0, { type: "message", id: "msg_1", role: "assistant", content: [] });
    const delta = {
      type: "response.output_text.delta",
      item_id: "msg_1",
      output_index: 0,
      content_index: 0,
      delta: text,
    };
    return [created, added ?? {}, delta, done ?? {}, completed];
  },
  conversation: ({ input }) => input as unknown[],
  kept: [
    { type: "reasoning", encrypted_content: "sealed", summary: [{ type: "summary_text", text: "Hm." }] },
    { type: "function_call", name: "read" },
    { type: "function_call_output", output: expect.stringContaining("what is in it") },
  ],
};

const chunk = (parts: object[], finishReason = "STOP") => ({
  candidates: [{ content: { role: "model", parts }, finishReason, index: 0 }],
  usageMetadata: { promptTokenCount: 100, candidatesTokenCount: 10, totalTokenCount: 110 },
});
const google: Wire = {
  model: "google/gemini-3.8-flash",
  calls: [
    chunk([
      { text: "Hm.", thought: true },
      { functionCall: { name: "read", args: { file_path: "a.txt" } }, thoughtSignature: "signed" },
    ]),
  ],
  says: (text) => [chunk([{ text }])],
  conversation: ({ contents }) => contents as unknown[],
  kept: [
    {
      role: "model",
      parts: expect.arrayContaining([
        expect.objectContaining({ functionCall: expect.anything(), thoughtSignature: "signed" }),
      ]),
    },
    { role: "user", parts: [{ functionResponse: { name: "read" } }] },
  ],
};

test.each([
  ["openai", openai],
  ["google", google],
] as const)(
  "%s: a call, a death in the next answer, and each request begins with the one before",
  async (_, wire) => {
    const conversation = (at: number) => wire.conversation(requests[at]?.body ?? {});
    answers.push(stream(wire.calls), () => {}); // the second one never comes
    const first = new TestAgent(1, wire.model);
    first.tell("look");
    await until("the second request", () => requests.length === 2);
    first.kill();
    answers.push(stream(wire.says("Seen.")), stream(wire.says("Still there.")));
    const second = new TestAgent(2, wire.model);
    await second.ended(1);
    second.tell("and now?");
    await second.ended(2);
    expect(conversation(1).slice(-wire.kept.length)).toMatchObject(wire.kept);
    expect(JSON.stringify(conversation(2))).toBe(JSON.stringify(conversation(1)));
    for (const at of [1, 3]) {
      const before = JSON.stringify(conversation(at - 1)).slice(0, -1);
      expect(JSON.stringify(conversation(at)).startsWith(before)).toBe(true);
    }
    const said = agents.flatMap(({ events }) => events);
    expect(said.flatMap(({ type, text }) => (type === "agent_message" ? [text] : []))).toEqual([
      "Seen.",
      "Still there.",
    ]);
    expect(said.flatMap(({ type, text }) => (type === "agent_thought" ? [text] : []))).toEqual(["Hm."]);
    expect(said.filter(({ type }) => type === "turn_end")).toMatchObject([
      { stopReason: "end_turn", cost: { currency: "USD" } },
      { stopReason: "end_turn" },
    ]);
    if (wire === openai)
      expect(requests[0]?.body).toMatchObject({ store: false, reasoning: { effort: "low" } });
  },
);
