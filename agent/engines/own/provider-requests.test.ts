/**
 * The requests that each provider's file makes of one conversation, byte for byte as `recordings/` has them. Whoever
 * changes a file, or the package that speaks to the provider, records anew (`--update`) and reads what differs.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { EventBody } from "../../../shared/agent/events.ts";
import { threadPath } from "../../../shared/agent/paths.ts";
import { makeFolder } from "../../../test/support/folders.ts";
import { until } from "../../../test/support/wait.ts";
import { Agent } from "./agent.ts";
import { textContent } from "./history.ts";
import type { Start, ToOwn } from "./protocol.ts";
import { Providers } from "./provider.ts";
import { systemPrompt } from "./system-prompt.ts";
import type { AnyTool } from "./tools/tool.ts";
import type { ToolSet } from "./tools/tool-set.ts";
import { findWhere } from "./tools/where.ts";

let folder: ReturnType<typeof makeFolder>;
let server: Server;
let url = "";
let requests: string[] = [];
beforeEach(async () => {
  folder = makeFolder();
  for (const name of ["thread", "work"]) mkdirSync(join(folder.path, name));
  requests = [];
  server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    requests.push(`${request.url}\n${Buffer.concat(chunks).toString()}\n`);
    response.writeHead(400, { "content-type": "application/json" }).end('{"error":{"message":"no"}}');
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterEach(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  folder.remove();
});

const OTHER = "nobody/else";
const IMAGE = { type: "image", mimeType: "image/png", uri: "there.png" } as const;
const GONE = { type: "image", mimeType: "image/png", uri: "gone.png" } as const;
const text = (value: string) => ({ type: "text" as const, text: value });

/** All that a conversation can hold. @param kept what the provider wants back with its thought */
function conversation(by: string, kept: object | undefined): EventBody[] {
  const meta = (of: string) => ({ meta: { by: of, ...(kept && of === by && { options: kept }) } });
  const said = (deliveryId: string, ...parts: object[]): EventBody => ({
    ...{ type: "delivery_update", deliveryId, status: "started", meta: { said: parts } },
  });
  const step = (stepId: string, events: EventBody[], news?: string): EventBody[] => [
    {
      ...{ type: "step_start", stepId, kind: "chat", title: "" },
      ...(news !== undefined && { meta: { said: [text(news)] } }),
    },
    ...events,
    { type: "step_end", stepId, status: "completed", durationMs: 1 },
  ];
  const words = (at: string, value: string, of = by): EventBody => ({
    ...{ type: "agent_message", messageId: `m${at}`, at, text: value, meta: { by: of } },
  });
  const thought = (at: string, value: string, of = by): EventBody => ({
    ...{ type: "agent_thought", messageId: `t${at}`, at, text: value },
    ...meta(of),
  });
  const call = (at: string, toolCallId: string, rawInput: unknown): EventBody => ({
    ...{ type: "tool_call", toolCallId, at, name: "read", title: "read", kind: "read", rawInput },
  });
  const end = (toolCallId: string, more: object): EventBody =>
    ({ type: "tool_call_update", toolCallId, status: "completed", ...more }) as EventBody;
  const image = { type: "content", content: IMAGE };
  return [
    { type: "turn_start", turnId: "t", cause: "message", deliveryIds: ["d0", "d1"] },
    said("d0", text("forgotten")),
    ...step("s0", [words("s0", "an answer of many words")]),
    said("d1", text("look"), IMAGE, GONE),
    said("d2", text("and be quick")),
    { type: "compaction_update", status: "completed", summary: 'There was "more".', keptFrom: "d1" },
    ...step("s1", [
      thought("s1", "Hm."),
      words("s1", "I look."),
      call("s1", "c1", { path: "a.txt" }),
      call("s1", "c2", null),
      call("s1", "c3", {}),
      call("s1", "c4", {}),
      call("s1", "c5", {}),
    ]),
    end("c1", { content: [textContent("one"), textContent("two")] }),
    end("c2", { status: "failed", content: [textContent("There is none.")] }),
    end("c3", { content: [textContent("seen"), image] }),
    end("c4", { content: [] }),
    end("c5", { status: "failed", reason: "interrupted" }),
    ...step("s2", [thought("s2", "Other's.", OTHER), words("s2", "Other's words.", OTHER)], "something new"),
    said("d3", text("go on")),
    ...step("s3", [call("s3", "c6", { path: "b" })]),
    end("c6", { status: "failed" }),
    ...step("s4", [words("s4", "Done.")]),
    { type: "turn_end", turnId: "t", stopReason: "end_turn" },
  ];
}

const TOOL = {
  name: "read",
  description: "Reads.",
  schema: { type: "object", properties: { path: { type: "string" } } },
} as unknown as AnyTool;
const tools: ToolSet = { tools: [TOOL], close: async () => {}, endTask: async () => {} } as never;

const KEPT: Record<string, object | undefined> = {
  anthropic: { anthropic: { signature: "signed" } },
  openai: { openai: { itemId: "rs_1", reasoningEncryptedContent: "sealed" } },
  google: { google: { thoughtSignature: "signed" } },
  "openai-compatible": undefined,
};

/** Begins the program on the conversation, and tells it one thing more. @returns its next request */
async function requestOf(provider: string, params: object, line: ToOwn): Promise<string> {
  const model = `${provider}/m-1`;
  const thread = join(folder.path, "thread");
  const lines = conversation(model, KEPT[provider]).map((event, at) => {
    const place = { seq: at + 1, id: `e1-${at}.0`, ts: "2026-11-26T10:00:00.000Z" };
    return `${JSON.stringify({ ...event, ...place })}\n`;
  });
  writeFileSync(threadPath(thread, "transcript"), lines.join(""));
  const config = { dir: "/work", agent: { engine: "own", params }, launch: { allowedTools: [] } };
  const start = {
    ...{ generation: 2, sessionId: "0123456789", resumed: true, reseeded: false, takesUp: false },
    ...{ modeId: "default", model, rules: [], instructions: "Be kind.", config },
  } as unknown as Start;
  const agent = new Agent({
    ...{ start, providers: new Providers(), folder: thread, commandEnv: {}, output: undefined },
    env: {
      ...{ ANTHROPIC_API_KEY: "k", ANTHROPIC_BASE_URL: url, OPENAI_API_KEY: "k", OPENAI_BASE_URL: url },
      ...{ GEMINI_API_KEY: "k", GEMINI_BASE_URL: url, OPENAI_COMPATIBLE_BASE_URL: url },
    },
    makeTools: () => tools,
    where: findWhere(folder.path, [], undefined, undefined),
    mcp: { tools: [], missing: [], problems: [] },
    readImage: (uri) => (uri === "there.png" ? Buffer.from("a picture") : undefined),
    write: () => {},
    exit: () => {},
  });
  agent.take({ op: "open" });
  agent.take(line);
  const count = requests.length;
  await until("the request", () => requests.length > count);
  const system = JSON.stringify(systemPrompt(config as never, "Be kind.")).slice(1, -1);
  return (requests.at(-1) ?? "").replace(system, "SYSTEM");
}

const MESSAGE: ToOwn = { op: "deliver", deliveryId: "d9", parts: [text("and now?"), IMAGE] };
const COMPACT: ToOwn = {
  op: "control",
  control: { op: "compact", seq: 9, by: "discord:7", text: "colours" },
};

test.each(Object.keys(KEPT))("%s is sent what it was sent before", async (provider) => {
  const sent: string[] = [];
  for (const params of [
    {},
    { thinking: "low", temperature: 0.5 },
    { thinking: "medium" },
    { thinking: "high" },
  ])
    sent.push(await requestOf(provider, params, MESSAGE));
  sent.push(await requestOf(provider, {}, COMPACT));
  expect(sent.every((one) => one.includes("SYSTEM"))).toBe(true);
  await expect(sent.join("\n")).toMatchFileSnapshot(`recordings/${provider}.txt`);
});
