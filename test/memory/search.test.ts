/** Words are found in memories and transcripts: by threads that may, and by none that may not. */
import { appendFileSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { SidecarClient } from "../../shared/client.ts";
import { AppError } from "../../shared/errors.ts";
import { MemoryClient } from "../../shared/memory-client.ts";
import { PeopleClient } from "../../shared/people-client.ts";
import type { Role } from "../../shared/rights.ts";
import { openAgent, STAND_IN_CONFIG, script, untilStatus } from "../support/agents.ts";
import { aDiscordId } from "../support/ids.ts";
import { callTool } from "../support/mcp.ts";
import { startSidecar, type TestSidecar } from "../support/sidecar.ts";
import { untilValue } from "../support/wait.ts";

let sidecar: TestSidecar;
let memory: MemoryClient;
beforeAll(async () => {
  sidecar = await startSidecar(STAND_IN_CONFIG);
  memory = new MemoryClient(sidecar.client);
  for (const name of ["shop", "bank"]) {
    await openAgent(
      sidecar,
      name,
      script(`Hello from ${name}`, { text: `The word of ${name} is ${WORDS[name]}.` }),
    );
    await untilStatus(sidecar, name, "idle");
  }
  // Another agent of the shop.
  const prompt = script("Hello", { text: "Hello." });
  await sidecar.client.createThread({ threadId: "clerk", type: "agent", dir: "shop", command: prompt });
  await untilStatus(sidecar, "clerk", "idle");
});
afterAll(() => sidecar?.close());

const WORDS: Record<string, string> = { shop: "xylophone", bank: "glockenspiel" };
const search = (threadId: string, query: string, where?: string) =>
  callTool(sidecar, {
    threadId,
    name: "memory_search",
    input: { query, ...(where && { where }) },
    callId: `${query} ${where}`,
  });
const write = (threadId: string, path: string, text: string) =>
  callTool(sidecar, { threadId, name: "memory_write", input: { path, text }, callId: `${path} ${text}` });
/** The index is fed beside the searches. */
const untilFound = (threadId: string, query: string) =>
  untilValue(
    `${query} to be found`,
    () => search(threadId, query),
    (said) => said.includes(`threads/${threadId}/`),
  );

test("a note is found at once by its directory's agents, with file, line and day, and by no other's", async () => {
  await write(
    "shop",
    "deploy.md",
    "One line.\nDeploys of parseUserInput go through `make ship`; 部署脚本在服务器上.",
  );
  const today = new Date().toISOString().slice(0, 10);
  for (const query of ["make ship", "parse_user_input", "userInput", "部署", "服务器"]) {
    const said = await search("shop", query, "memory");
    expect(said, query).toContain(`dir/deploy.md:2 (${today})`);
    expect(said).toMatch(/\d files? (was|were) looked through/);
    expect(await search("clerk", query, "memory"), query).toContain(`dir/deploy.md:2 (${today})`);
    expect(await search("bank", query), query).not.toContain("deploy.md");
  }
  expect(await search("shop", "nowhere written")).toContain("Nothing has all of these words");
});

test("an agent finds what its own thread said, and of another's nothing", async () => {
  expect(await untilFound("shop", "xylophone")).toContain("The word of shop is xylophone.");
  await untilFound("bank", "glockenspiel");
  for (const where of ["memory", "transcripts", "all", "others"])
    expect(await search("bank", "xylophone", where), where).not.toContain("The word of shop");
});

test("a person finds both, memories first", async () => {
  await write("bank", "music.md", "A xylophone is no glockenspiel.");
  const found = await untilValue(
    "all hits",
    () => memory.search({ query: "xylophone" }),
    ({ hits }) => hits.length >= 2,
  );
  expect(found.hits[0]).toMatchObject({ path: expect.stringMatching(/^dirs\/bank-.*\/music\.md$/), line: 1 });
  expect(found.hits.map(({ path }) => path)).toContain("threads/shop/transcript.jsonl");
  const only = await memory.search({ query: "xylophone", where: "memory", dir: "shop" });
  expect(only.hits).toEqual([]);
});

// Promise: S1
test("who is a viewer in all channels and a guest in one finds nothing of what is said in that one", async () => {
  const vera = aDiscordId("500000000000000001");
  const secret = aDiscordId("500000000000000002");
  const home = { channelId: "500000000000000003", parentId: secret };
  await openAgent(sidecar, "vault", script("Hello", { text: "The word is theremin." }), { home });
  await untilStatus(sidecar, "vault", "idle");
  const give = (channelId: typeof secret | null, role: Role) =>
    new PeopleClient(sidecar.client).setRole({ kind: "user", id: vera, channelId, role });
  const search = async (client: SidecarClient) =>
    (await new MemoryClient(client).search({ query: "theremin", where: "transcripts" })).hits.length;
  const asVera = sidecar.as(vera);
  await untilValue(
    "the word to be found",
    () => search(sidecar.client),
    (count) => count > 0,
  );
  await give(null, "viewer");
  expect(await search(asVera)).toBeGreaterThan(0);
  await give(secret, "guest");
  expect(await search(asVera)).toBe(0);
});

test("what is withdrawn, forgotten or edited by hand is found as it is now", async () => {
  const path = "user/by-hand.md";
  await memory.write({ path, text: "kettledrum" });
  const file = join(sidecar.stateDir, "memory", path);
  expect((await memory.search({ query: "kettledrum" })).hits).toHaveLength(1);
  writeFileSync(file, "castanets and more\n");
  const { hits } = await untilValue(
    "the new words to be found",
    () => memory.search({ query: "castanets" }),
    (reply) => reply.hits.length > 0,
  );
  expect(hits).toMatchObject([{ path, line: 1 }]);
  expect((await memory.search({ query: "kettledrum" })).hits).toEqual([]);
  await memory.forget({ path });
  expect((await memory.search({ query: "castanets" })).hits).toEqual([]);
});

test("an index that is gone or damaged is made again from the files", async () => {
  await sidecar.restart();
  memory = new MemoryClient(sidecar.client);
  const file = join(sidecar.stateDir, "memory-index.db");
  for (const end of ["-wal", "-shm"]) rmSync(`${file}${end}`, { force: true });
  writeFileSync(file, "this is no database, whatever it was before".repeat(100));
  await untilFound("shop", "xylophone");
  expect((await memory.search({ query: "xylophone", where: "memory" })).hits).toHaveLength(1);
});

test("hostile files in the folders hold nothing up", async () => {
  const folder = join(sidecar.stateDir, "memory/user");
  mkdirSync(folder, { recursive: true });
  for (let n = 0; n < 3_000; n++) writeFileSync(join(folder, `n${n}.md`), "x");
  appendFileSync(join(sidecar.stateDir, "threads/bank/transcript.jsonl"), `${"[".repeat(300_000)}\n`);
  mkdirSync(join(sidecar.stateDir, "threads/odd/transcript.jsonl"), { recursive: true });
  const found = await memory.search({ query: "glockenspiel", where: "memory" });
  expect(found.hits.length).toBeGreaterThan(0);
  expect(found.filesSearched).toBeLessThan(1_100);
  expect(await write("shop", "user/one-more.md", "x")).toContain("1000 files");
});

test("a search that takes too long is ended, and the next one begins anew", async () => {
  const { MemoryIndex } = await import("../../vm/memory/memory-index.ts");
  const { createLog } = await import("../../shared/log.ts");
  const stuck = join(sidecar.folders.path, "stuck.cjs");
  writeFileSync(stuck, 'require("node:worker_threads").parentPort.on("message", () => { for (;;); });');
  const index = new MemoryIndex({
    ...{ indexer: stuck, stateDir: sidecar.stateDir, file: ":memory:", deadlineMs: 300 },
    log: createLog("vm", "silent"),
  });
  const order = { query: "x", scopes: [], limit: 1 };
  const both = await Promise.allSettled([index.search(order), index.search(order)]);
  for (const one of both) expect(one).toMatchObject({ status: "rejected", reason: expect.any(AppError) });
  await expect(index.search(order)).rejects.toMatchObject({ code: "unavailable" });
  await index.close();
});
