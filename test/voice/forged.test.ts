/** Whatever people, hooks and names of files imitate, the model is given it as text of its true source. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Vm } from "../../relay/sidecar/vm.ts";
import { chooseMark, OUTSIDE_NOTE } from "../../shared/outside-text.ts";
import { seededRandom } from "../../shared/random.ts";
import { bringRaw } from "../../vm/hooks/brought.ts";
import { signRequest } from "../../vm/hooks/proof.ts";
import { type Model, startModel } from "../agents/model.ts";
import { STAND_IN_CONFIG, untilStatus } from "../support/agents.ts";
import { inFull } from "../support/faults.ts";
import { forgedText, LINE_END, looksLikeOurs } from "../support/forged-text.ts";
import { aDiscordId } from "../support/ids.ts";
import { envOf } from "../support/own-agent.ts";
import { makeSidecarFolders, startSidecar, type TestSidecar } from "../support/sidecar.ts";
import { until } from "../support/wait.ts";

const SEED = Number(process.env["SEED"] ?? Math.floor(Math.random() * 1e9));
/** The texts are people's, and names of files, and go in by the sidecar's own doors. */
const WRITTEN = inFull(334, 60);
/** In all, also those that are only rendered. */
const OF_HOOKS = 332;
const CALLED_WORDS = "A hook called.";
/** Each is a turn of its own, so that fewer of them go through the hook's door. */
const CALLED = inFull(60, 8);
const id = (n: number) => aDiscordId(String(300_000_000_000_000_000n + BigInt(n)));
const [OPS, ALICE] = [id(1), id(11)];
const SECRET = "a-secret-of-the-test";

const folders = makeSidecarFolders();
const random = seededRandom(SEED);
let model: Model;
let sidecar: TestSidecar;
beforeAll(async () => {
  const done = { tools: [{ name: "mcp__threadmux__done", input: {} }] };
  const isOver = (text: string) => text.includes("tool_result") || text.includes(CALLED_WORDS);
  model = await startModel({
    say: (messages) => (isOver(JSON.stringify(messages.at(-1))) ? { text: "Well." } : done),
  });
  const threadEnv = { PATH: folders.env["PATH"] ?? "", HOME: folders.home, ...envOf("anthropic", model.url) };
  sidecar = await startSidecar(
    { ...STAND_IN_CONFIG, threadEnv, hooks: { host: "127.0.0.1", port: 0 } },
    { folders },
  );
  await sidecar.client.putPeople([{ id: ALICE, role: "maker", handle: "alice" }]);
  await sidecar.client.putFixedChannels([{ id: OPS, dir: ".", mode: "off" }]);
  await new Vm(sidecar.client).channels.putPlace(OPS, { name: "ops", problem: null });
});
afterAll(async () => {
  await sidecar?.close();
  await model?.close();
});

const tagged = /^\[(discord:#ops\/alice|owner|job:[\w-]+|webhook:[\w-]+|threadmux) \d\d:\d\d\] /;
const begin = async (threadId: string) => {
  mkdirSync(join(sidecar.reposDir, threadId));
  const agent = { engine: "own" as const, voice: "message" as const };
  await sidecar.client.createThread({ threadId, type: "agent", dir: threadId, command: "Begin", agent });
  await untilStatus(sidecar, threadId, "idle");
};
/** The texts that the model was given, one an input. */
const heardBy = (word: string) => {
  const own = model.requests.findLast(({ messages }) => JSON.stringify(messages).includes(word));
  const texts = (own?.messages ?? []).flatMap(({ role, content }) =>
    role === "assistant"
      ? []
      : typeof content === "string"
        ? [content]
        : content.flatMap(({ text = "" }) => text),
  );
  // One message to the provider may hold several inputs, each of which begins on a line of its own.
  return texts.flatMap((text) =>
    text.split(/\n(?=\[(?:discord:#ops\/alice|owner|job:[\w-]+|webhook:[\w-]+|threadmux) \d\d:\d\d\] )/),
  );
};
/** What could be taken for a line of ours, in the place of its writer's words. */
const faultsOf = (text: string, rest: (line: string) => string | undefined) =>
  text.split(LINE_END).flatMap((line, at) => {
    const words = at === 0 ? line.replace(tagged, "") : rest(line);
    if (words === undefined) return [`no mark: ${JSON.stringify(line)}`];
    return looksLikeOurs(words) ? [`line ${at}: ${JSON.stringify(line)}`] : [];
  });

test(`${WRITTEN} texts of people stand behind their writer's tag, and no line of theirs looks like ours`, {
  timeout: inFull(600_000, 120_000),
}, async () => {
  await begin("people");
  for (let n = 0; n < WRITTEN; n++)
    await sidecar.as(ALICE).sendInput("people", { text: forgedText(random, `w${n}w`), channelId: OPS });
  const last = `w${WRITTEN - 1}w`;
  await until("the last one", () => heardBy(last).some((text) => text.includes(last)), { timeoutMs: 60_000 });
  await untilStatus(sidecar, "people", "idle");
  const heard = heardBy(last).filter((text) => text.startsWith("[discord:#ops/alice"));
  expect(heard.length, `seed ${SEED}`).toBe(WRITTEN);
  expect(
    heard.map((text, n) => text.split(`w${n}w`).length),
    `seed ${SEED}`,
  ).toEqual(heard.map(() => 2));
  expect(
    heard.flatMap((text) => faultsOf(text, (line) => line)),
    `seed ${SEED}`,
  ).toEqual([]);
});

test(`${WRITTEN} names of files are one line each, which names a file`, {
  timeout: inFull(600_000, 120_000),
}, async () => {
  await begin("files");
  const names: string[] = [];
  for (let n = 0; n < WRITTEN; n++) {
    const { name } = await sidecar.client.attach(
      "files",
      forgedText(random, `f${n}f`),
      new Uint8Array([120]),
    );
    names.push(name);
    await sidecar.as(ALICE).sendInput("files", { text: "See it.", attachments: [name], channelId: OPS });
  }
  const last = names.at(-1) ?? "";
  await until("the last one", () => JSON.stringify(model.requests.at(-1)?.messages).includes(last), {
    timeoutMs: 60_000,
  });
  await untilStatus(sidecar, "files", "idle");
  const texts = heardBy(last).join("\n").split("\n");
  const lines = texts.filter((line) => line.startsWith("[file "));
  expect(lines.length, `seed ${SEED}`).toBe(WRITTEN);
  for (const line of lines) expect(line, `seed ${SEED}`).toMatch(/^\[file [^[\]<>|:]*: \/[^[\]<>|:]*\]$/);
});

test("bodies of requests stand line by line behind a mark that is new each time", {
  timeout: 120_000,
}, async () => {
  const hook = { type: "webhook", proof: { preset: "github" }, secret: SECRET, raw: true, perMinute: 1_000 };
  mkdirSync(join(sidecar.reposDir, "hook"));
  await new Vm(sidecar.client).jobs.create({
    name: "called",
    when: hook as never,
    what: { type: "agent", dir: "hook", prompt: CALLED_WORDS, thread: "one", agent: { engine: "own" } },
    limits: { calls: null, seconds: null, spendUsd: null, spendUsdPerDay: null },
  });
  const marks = new Set<string>();
  const unmarked = (text: string) => {
    const lines = text.split(LINE_END);
    const first = lines.findIndex((line) => line.endsWith(OUTSIDE_NOTE)) + 1;
    const [, mark = ""] = /^([0-9a-f]{8})\| /.exec(lines[first] ?? "") ?? [];
    marks.add(mark);
    const rest = (line: string) => (line.startsWith(`${mark}| `) ? line.slice(mark.length + 2) : undefined);
    return first === 0 ? ["no note"] : faultsOf(["", ...lines.slice(first)].join("\n"), rest);
  };
  for (let n = 0; n < CALLED; n++) {
    const body = Buffer.from(forgedText(random, `h${n}h`));
    const at = { id: `h${n}`, nowSeconds: Date.now() / 1000 };
    const headers = signRequest({ preset: "github" }, SECRET, body, at);
    const { status } = await fetch(`${sidecar.hookUrl}/hook/called`, { method: "POST", body, headers });
    expect(status).toBe(202);
    const heard = () => JSON.stringify(model.requests.at(-1)?.messages).includes(`h${n}h`);
    await until("its turn", heard);
    const text = heardBy(`h${n}h`).find((one) => one.includes(`h${n}h`)) ?? "";
    const [own = ""] = text.split(`\n${CALLED_WORDS}`).slice(-1);
    expect(unmarked(own), `seed ${SEED}`).toEqual([]);
  }
  expect(marks.size).toBe(CALLED);
  // The same rendering without a turn for each.
  const chance = (bytes: number) =>
    Array.from({ length: bytes }, () =>
      Math.floor(random() * 256)
        .toString(16)
        .padStart(2, "0"),
    ).join("");
  for (let n = CALLED; n < OF_HOOKS; n++) {
    const parts = [{ kind: "outside" as const, text: forgedText(random, `h${n}h`) }];
    const { text } = await bringRaw(parts, chooseMark(parts, chance), "called", "run");
    expect(unmarked(text), `seed ${SEED}`).toEqual([]);
  }
});
