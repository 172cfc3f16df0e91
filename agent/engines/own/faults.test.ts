/** What goes wrong with a call of the model, as the package tells it, in sentences for people. */
import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { callModel, type Reply } from "./call-model.ts";
import { type Fault, faultOf, waitMs } from "./faults.ts";
import { Providers, SetupError } from "./provider.ts";
import { chooseModel, openModel, placeOf } from "./providers.ts";

type Answer = (response: ServerResponse) => void;
let answer: Answer = () => {};
let server: Server;
let url = "";
beforeAll(async () => {
  server = createServer((request, response) => {
    request.resume().once("end", () => answer(response));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => new Promise((resolve) => server.close(resolve)));

const providers = new Providers();
const NOW = Date.parse("2026-11-26T12:00:00Z");
const TOOLS = [{ name: "read", description: "reads", schema: { type: "object", properties: {} } }];
const envOf = (at: string) => ({
  ANTHROPIC_API_KEY: "k",
  ANTHROPIC_BASE_URL: at,
  OPENAI_COMPATIBLE_BASE_URL: `${at}/v1`,
});

async function call(model: string, at = url, timeoutMs?: number): Promise<Reply | Fault> {
  const env = envOf(at);
  const chosen = chooseModel(model, env, providers);
  try {
    return await callModel({
      model: await openModel(chosen, env),
      mapping: chosen.provider.messages,
      system: "s",
      messages: [{ role: "user", content: [{ type: "text", text: "hi" }] }],
      tools: TOOLS,
      mayCall: true,
      maxOutputTokens: 100,
      temperature: undefined,
      providerOptions: {},
      timeoutMs,
      signal: new AbortController().signal,
      onText: () => {},
    });
  } catch (error) {
    return faultOf(
      error,
      { model: chosen.model, key: chosen.provider.key, place: placeOf(chosen, env) },
      NOW,
    );
  }
}

const refuse = (status: number, message: string, headers: Record<string, string> = {}): Answer => {
  const body = JSON.stringify({ type: "error", error: { type: "some_error", message, code: "some" } });
  return (response) =>
    response.writeHead(status, { "content-type": "application/json", ...headers }).end(body);
};
const stream = (...lines: object[]): Answer => {
  const text = lines.map(
    (line) => `event: ${(line as { type?: string }).type}\ndata: ${JSON.stringify(line)}\n\n`,
  );
  return (response) => response.writeHead(200, { "content-type": "text/event-stream" }).end(text.join(""));
};

describe.each(["anthropic/m", "openai-compatible/m"])("with %s", (model) => {
  const refusals: [string, Answer, RegExp, object][] = [
    ["a wrong key", refuse(401, "invalid x-api-key"), /does not take the key in \w+_API_KEY \(401\)/, {}],
    ["an unknown model", refuse(404, "model: m"), /knows no model "m" \(404\)/, {}],
    ["no credit", refuse(400, "Your credit balance is too low"), /no credit is left/, {}],
    ["no quota", refuse(429, "You exceeded your current quota"), /no credit is left/, {}],
    [
      "too long a prompt",
      refuse(400, "prompt is too long: 9 > 8"),
      /longer than m can read/,
      { isTooLong: true },
    ],
    ["a bad request", refuse(400, "messages: wrong"), /refuses the call \(400\): messages: wrong/, {}],
  ];
  test.each(refusals)("%s is final", async (_, given, sentence, more) => {
    answer = given;
    const fault = await call(model);
    expect(fault).toMatchObject({ mayTryAgain: false, sentence: expect.stringMatching(sentence), ...more });
  });

  test("a limit and an overload are tried again, when the provider says", async () => {
    answer = refuse(429, "slow down", { "retry-after": "7" });
    expect(await call(model)).toMatchObject({ mayTryAgain: true, afterMs: 7_000 });
    answer = refuse(529, "overloaded", { "retry-after": "Thu, 26 Nov 2026 12:00:03 GMT" });
    expect(await call(model)).toMatchObject({ mayTryAgain: true, afterMs: 3_000 });
    answer = refuse(500, "oops");
    expect(await call(model)).toMatchObject({
      mayTryAgain: true,
      sentence: expect.stringContaining("(500)"),
    });
  });

  test("a server that is away, one that breaks off and one that is late are tried again", async () => {
    const gone = createServer();
    await new Promise<void>((resolve) => gone.listen(0, "127.0.0.1", resolve));
    const { port } = gone.address() as AddressInfo;
    await new Promise((resolve) => gone.close(resolve));
    const away = await call(model, `http://127.0.0.1:${port}`);
    const sentence = expect.stringMatching(`^Nothing answers at .*127.0.0.1:${port}\\) \\(ECONNREFUSED`);
    expect(away).toMatchObject({ mayTryAgain: true, sentence });
    answer = (response) => {
      response.writeHead(200, { "content-type": "text/event-stream" }).write(": hi\n\n");
      setTimeout(() => response.end(), 10);
    };
    expect(await call(model)).toMatchObject({
      mayTryAgain: true,
      sentence: expect.stringContaining("broke off"),
    });
    answer = (response) => setTimeout(() => response.destroy(), 200);
    expect(await call(model, url, 50)).toMatchObject({
      mayTryAgain: true,
      sentence: expect.stringContaining("0.05 s"),
    });
  });
});

test("a connection that ends in the midst of an answer, also of a refusal, is tried again", async () => {
  for (const status of [200, 500]) {
    answer = (response) => {
      response.writeHead(status, { "content-type": "text/event-stream", "content-length": 1_000 });
      response.write("data: {", () => response.destroy());
    };
    expect(await call("openai-compatible/m")).toEqual({
      sentence: expect.stringMatching(/^the server \(.*\) broke off in the midst of its answer\.$/),
      mayTryAgain: true,
    });
  }
});

test("an answer without an end is given up: many words, one word, the input of a call, and a refusal", async () => {
  const chunk = (delta: object) =>
    `data: ${JSON.stringify({ id: "1", object: "chat.completion.chunk", created: 1, model: "m", choices: [{ index: 0, delta, finish_reason: null }] })}\n\n`;
  const words = "word ".repeat(20_000);
  const called = { index: 0, id: "x", type: "function", function: { name: "read", arguments: words } };
  /** Writes as fast as it is read, without an end. */
  const endless =
    (status: number, piece: string): Answer =>
    (response) => {
      response.writeHead(status, { "content-type": status === 200 ? "text/event-stream" : "text/plain" });
      const more = () => {
        while (!response.destroyed && response.write(piece));
      };
      response.on("drain", more);
      more();
    };
  for (const given of [
    endless(200, chunk({ content: words })),
    endless(200, chunk({ tool_calls: [called] })),
    endless(200, words),
    endless(500, words),
  ]) {
    answer = given;
    const fault = await call("openai-compatible/m");
    expect(fault).toEqual({
      sentence: expect.stringMatching(/^the server \(.*\): its answer had no end, and was given up\.$/),
      mayTryAgain: false,
    });
  }
});

test("a failure in the midst of a stream is tried again if it is the provider's", async () => {
  answer = stream({ type: "error", error: { type: "overloaded_error", message: "Overloaded" } });
  expect(await call("anthropic/m")).toMatchObject({
    mayTryAgain: true,
    sentence: expect.stringContaining("Overloaded"),
  });
});

test("a call that is no JSON, and one of a tool that is not there, are told as problems of the call", async () => {
  const calls = ["read", "nothing"].map((name, index) => ({
    ...{
      index,
      id: `x${index}`,
      type: "function",
      function: { name, arguments: index === 0 ? '{"a": oops' : "{}" },
    },
  }));
  const chunk = (delta: object, finish_reason: string | null) => ({
    ...{ id: "1", object: "chat.completion.chunk", created: 1, model: "m" },
    choices: [{ index: 0, delta, finish_reason }],
  });
  answer = stream(chunk({ tool_calls: calls }, null), chunk({}, "tool_calls"));
  const reply = await call("openai-compatible/m");
  expect(reply).toMatchObject({
    pieces: [
      { type: "call", name: "read", input: {}, problem: expect.stringMatching(/JSON/) },
      { type: "call", name: "nothing", problem: expect.any(String) },
    ],
  });
});

test("what is not set up is named, with the variable", async () => {
  const none = (model: string | undefined, env = {}) => {
    try {
      return openModel(chooseModel(model, env, providers), env).then(
        () => "",
        (error: Error) => error.message,
      );
    } catch (error) {
      if (!(error instanceof SetupError)) throw error;
      return Promise.resolve(error.message);
    }
  };
  expect(await none(undefined)).toMatch(/THREAD_ENV=ANTHROPIC_API_KEY/);
  expect(await none("openai/gpt")).toMatch(/no key for OpenAI\. Set OPENAI_API_KEY/);
  expect(await none("openai-compatible/x")).toMatch(/^OPENAI_COMPATIBLE_BASE_URL is not set/);
  expect(await none(undefined, { OPENAI_COMPATIBLE_BASE_URL: "http://127.0.0.1:1" })).toMatch(
    /THREADMUX_MODEL/,
  );
  expect(await none("m", { ANTHROPIC_API_KEY: "k", ANTHROPIC_BASE_URL: "file:///etc" })).toMatch(
    /^ANTHROPIC_BASE_URL must be/,
  );
});

test("an address with a password in it is told without it", () => {
  const env = { OPENAI_COMPATIBLE_BASE_URL: "http://me:secret@127.0.0.1:8/v1" };
  expect(placeOf(chooseModel("openai-compatible/m", env, providers), env)).toBe(
    "the server (http://127.0.0.1:8)",
  );
});

test("waits grow, are never longer than a minute unasked, and differ between threads", () => {
  expect([1, 2, 3, 10].map((attempt) => waitMs(attempt, undefined, 0.5))).toEqual([
    1_000, 2_000, 4_000, 60_000,
  ]);
  expect(waitMs(1, undefined, 0)).toBe(750);
  expect(waitMs(1, 86_400_000, 0)).toBe(600_000);
});
