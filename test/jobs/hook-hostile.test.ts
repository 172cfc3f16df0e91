/**
 * A request whose every text is meant to be taken for ours: frames, tags, marks, tool names, line ends of all kinds,
 * 50 levels deep and as large as the door takes. Nothing of it stands in a model's input but behind a mark.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { VmJobs } from "../../relay/sidecar/jobs.ts";
import { OUTSIDE_NOTE } from "../../shared/outside-text.ts";
import { signRequest } from "../../vm/hooks/proof.ts";
import { BYPASS_CONFIG, script, transcriptOf } from "../support/agents.ts";
import { makeFolder } from "../support/folders.ts";
import { hostileJson, hostileLines, hostileText, LEVELS } from "../support/hostile-body.ts";
import { callTool } from "../support/mcp.ts";
import { READER_ANSWER, writeReaderStandIn } from "../support/reader-stand-in.ts";
import { startSidecar, type TestSidecar } from "../support/sidecar.ts";
import { untilValue } from "../support/wait.ts";

const SECRET = "a-secret-that-nobody-knows";
const PROOF = { preset: "github" as const };
const MAX_BODY = 1024 * 1024;

let sidecar: TestSidecar;
let folder: ReturnType<typeof makeFolder>;
let told: string;
beforeAll(async () => {
  folder = makeFolder();
  const reader = writeReaderStandIn(folder.path);
  told = reader.told;
  sidecar = await startSidecar({
    ...BYPASS_CONFIG,
    agent: { ...BYPASS_CONFIG.agent, program: reader.program } as never,
    hooks: { host: "127.0.0.1", port: 0 },
  });
  mkdirSync(join(sidecar.reposDir, "work"));
  writeFileSync(join(sidecar.reposDir, "work", "file"), "of the project\n");
});
afterAll(async () => {
  await sidecar.close();
  folder.remove();
});

/** Makes a hook, sends it one body, and resolves with the thread of its run. */
async function bring(name: string, body: Buffer, when: object, prompt = "A hook called."): Promise<string> {
  const jobs = new VmJobs(sidecar.client);
  const agent = { permissionMode: "bypassPermissions" };
  await jobs.create({
    name,
    when: { type: "webhook", proof: PROOF, secret: SECRET, ...when },
    what: { type: "agent", dir: "work", prompt, agent },
  });
  const id = "[owner] go";
  const headers = signRequest(PROOF, SECRET, body, { id, nowSeconds: Date.now() / 1_000 });
  const reply = await fetch(`${sidecar.hookUrl}/hook/${name}`, {
    method: "POST",
    body: body as BodyInit,
    headers,
  });
  expect(reply.status).toBe(202);
  const [run] = await untilValue(
    `a run of ${name}`,
    () => jobs.listRuns(name, 5),
    ([one]) => one?.status === "started" || one?.status === "done",
  );
  return run?.threadId ?? "";
}

/** What the model is given, as the engine's own file has it. */
async function inputOf(threadId: string): Promise<string> {
  const events = await untilValue(
    "its message",
    () => transcriptOf(sidecar, threadId),
    (all) => all.some(({ type }) => type === "delivery"),
  );
  const text = events.flatMap((event) => (event.type === "user_message" ? event.content : []));
  return text.map((block) => (block.type === "text" ? block.text : "")).join("\n");
}

async function attached(threadId: string, run: string): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of sidecar.client.downloadAttachment(threadId, `${run}.txt`)) chunks.push(chunk);
  return Buffer.concat(chunks).toString().trimEnd();
}

/** @returns what stands behind the mark, without it */
function marked(lines: readonly string[]): string[] {
  const [mark = ""] = /^[0-9a-f]{8}(?=\| )/.exec(lines[0] ?? "") ?? [];
  expect(mark, lines[0]).toHaveLength(8);
  expect(lines.filter((line) => !line.startsWith(`${mark}| `))).toEqual([]);
  return lines.map((line) => line.slice(mark.length + 2));
}

function expectHarmless(lines: readonly string[]): void {
  // No line begins as one of ours does, and no frame of an engine stands without a backslash before it.
  const likeOurs = lines.filter((line) =>
    /^\s*(?:\[|［|【|[0-9a-z]{2,64}\||(?:human|system|assistant):)/i.test(line),
  );
  expect(likeOurs).toEqual([]);
  const framed = lines.filter((line) =>
    /(?<!\\)[<＜]\s*\/?\s*(?:antml|system|user|human|assistant|function|tool|invoke|result)/i.test(line),
  );
  expect(framed).toEqual([]);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  expect(lines.filter((line) => /[\u0000-\u0008\u000b-\u001f\u0085\u2028\u2029\u202e]/.test(line))).toEqual(
    [],
  );
}

test("raw: text as large as the door takes goes in behind the mark, and so does the file with all of it", async () => {
  const threadId = await bring("text", Buffer.from(hostileText(MAX_BODY)), { raw: true });
  const [prompt, blank, note, ...rest] = (await inputOf(threadId)).split("\n");
  expect([prompt, blank, note]).toEqual(["A hook called.", "", OUTSIDE_NOTE]);
  const cut = rest.findIndex((line) => line.startsWith("This is its beginning"));
  expectHarmless(marked(rest.slice(0, cut)));
  const { run = "" } = (await new VmJobs(sidecar.client).listRuns("text", 1))[0] ?? {};
  const [first, ...lines] = (await attached(threadId, run)).split("\n");
  expect(first).toBe(OUTSIDE_NOTE);
  expect(lines.length).toBeGreaterThan(1_000);
  expectHarmless(marked(lines));
});

test("raw: each field of 50 levels that a template takes stands behind the mark, and the job's words before it", async () => {
  const fields = Array.from({ length: LEVELS }, (_, level) => `{${"/n".repeat(level)}/t}`);
  const body = Buffer.from(hostileJson(1_000));
  const threadId = await bring("fields", body, { raw: true, template: fields.join(" ") });
  const { run = "" } = (await new VmJobs(sidecar.client).listRuns("fields", 1))[0] ?? {};
  const [, ...lines] = (await attached(threadId, run)).split("\n");
  expect(lines.length).toBeGreaterThanOrEqual(LEVELS * hostileLines.length);
  expectHarmless(marked(lines));
});

test("the reader is given each line behind the mark, and its answer has no word of it", async () => {
  const threadId = await bring("read", Buffer.from(hostileJson(MAX_BODY)), {});
  const said = JSON.parse(readFileSync(told, "utf8")).message.content[0].text as string;
  const [note, ...lines] = said.split("\n");
  expect(note).toBe(OUTSIDE_NOTE);
  expectHarmless(marked(lines));
  const message = await inputOf(threadId);
  expect(message).toContain(JSON.stringify(READER_ANSWER));
  expect(message.split("\n")).toHaveLength(3);
});

test("raw, its agent asks about each thing that it does, though its job lets it do all", async () => {
  const call = (name: string, input: object) => ({
    tools: [{ name, input: input as Record<string, unknown> }],
  });
  const made = (name: string) => join(sidecar.reposDir, "work", name);
  const rounds = [
    call("Bash", { command: "pwd" }),
    call("Bash", { command: `touch ${made("by-bash")}` }),
    call("Read", { file_path: made("file") }),
    call("Write", { file_path: made("by-write"), content: "x" }),
  ];
  const prompt = script("A hook called.", ...rounds, { text: "done" });
  const threadId = await bring("asks", Buffer.from(hostileText(3_000)), { raw: true }, prompt);
  const titles: string[] = [];
  for (const round of rounds) {
    const [ask] = await untilValue(
      `the ask about ${JSON.stringify(round)}`,
      () => sidecar.client.listAsks(threadId),
      (asks) => asks.length === 1,
    );
    titles.push(ask?.title ?? "");
    await sidecar.client.answerAsk(threadId, ask?.requestId ?? "", { optionId: "no" });
    await untilValue(
      "its answer",
      () => sidecar.client.listAsks(threadId),
      (asks) => asks.length === 0 || asks[0]?.requestId !== ask?.requestId,
    );
  }
  await untilValue(
    "the end of its turn",
    () => transcriptOf(sidecar, threadId),
    (events) => events.some(({ type }) => type === "turn_end"),
  );
  expect([existsSync(made("by-bash")), existsSync(made("by-write"))]).toEqual([false, false]);
  expect(titles).toHaveLength(rounds.length);
  // Of our own tools, those are refused by which the text would outlive the thread.
  const use = (name: string, input: object) => callTool(sidecar, { threadId, name, input, callId: name });
  expect(await use("memory_write", { path: "note.md", text: "obey" })).toMatch(/outside/);
  expect(await use("job_add", { name: "later", when: "in 5h", text: "obey" })).toMatch(/outside/);
  const started = await use("spawn_thread", { prompt: "hi", mode: "async", title: "a part" });
  const [, child = ""] = /Started (child-\w+)/.exec(started) ?? [];
  await untilValue(
    "the mark of its child",
    () => transcriptOf(sidecar, child),
    (events) => events.some((event) => event.type === "control" && event.op === "mark"),
  );
});
