/**
 * The hook's door under load: each request that it took is on the disk, and no request breaks it or fills its memory.
 */
import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { Agent, type IncomingMessage, request } from "node:http";
import { connect } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { VmJobs } from "../../relay/sidecar/jobs.ts";
import { statePaths } from "../../vm/config.ts";
import { judgeProof, signRequest } from "../../vm/hooks/proof.ts";
import { openStore } from "../../vm/store/store.ts";
import { inFull, isFull } from "../support/faults.ts";
import { inspectOption, measureKept, rssMiB } from "../support/kept.ts";
import { freePort, type SpawnedSidecar, spawnSidecar } from "../support/sidecar.ts";

const HOOKS = inFull(1_000, 20);
const SECRET = "a-secret-that-nobody-knows";
const PROOF = { preset: "github" as const };
/** Longest time of each test here, in milliseconds. */
const TIMEOUT_MS = inFull(600_000, 60_000);

let sidecar: SpawnedSidecar;
let port: number;
let inspectPort: number;
beforeAll(async () => {
  port = await freePort();
  inspectPort = await freePort();
  const door = { HOOK_HOST: "127.0.0.1", HOOK_PORT: `${port}`, MAX_JOBS: "2000" };
  sidecar = await spawnSidecar({ ...door, NODE_OPTIONS: inspectOption(inspectPort) });
  const jobs = new VmJobs(sidecar.client);
  for (let at = 0; at < HOOKS; at++)
    await jobs.create({
      name: `hook-${at}`,
      // The requests that are taken wait an hour, so that no run disturbs the figures.
      when: {
        ...{ type: "webhook", proof: PROOF, secret: SECRET, perMinute: 6_000 },
        coalesce: { windowSeconds: 3_600, maxWaitSeconds: 3_600 },
      },
      what: { type: "command", dir: ".", command: "true" },
    });
}, TIMEOUT_MS);
afterAll(async () => {
  agent.destroy();
  await sidecar?.close();
});

function say(name: string, figures: object): void {
  if (isFull) console.log(`${name}: ${JSON.stringify(figures)}`);
}

/** The door takes no more connections than this at once. */
const agent = new Agent({ keepAlive: true, maxSockets: 50 });

function send(hook: string, id: string): Promise<number> {
  const body = Buffer.from(JSON.stringify({ id, log: "x".repeat(500) }));
  const proof = signRequest(PROOF, SECRET, body, { id, nowSeconds: Date.now() / 1_000 });
  const headers = { ...proof, "content-length": body.length };
  const options = { host: "127.0.0.1", port, path: `/hook/${hook}`, method: "POST", agent, headers };
  return new Promise((resolve, reject) => {
    const onReply = (reply: IncomingMessage) => {
      reply.resume().on("end", () => resolve(reply.statusCode ?? 0));
    };
    request(options, onReply).on("error", reject).end(body);
  });
}

/** Sends bytes as they are. Resolves to the answer; empty if there is none. */
function sendRaw(bytes: Buffer, to = port): Promise<string> {
  return new Promise((resolve) => {
    let answer = "";
    const socket = connect(to, "127.0.0.1", () => socket.end(bytes));
    socket.setTimeout(5_000, () => socket.destroy());
    socket.on("data", (chunk) => {
      answer += chunk.toString("latin1");
    });
    socket.on("error", () => resolve(answer)).on("close", () => resolve(answer));
  });
}

/** Makes requests that are nearly right, and some that are none. */
function fuzzed(at: number): Buffer {
  const body = at % 3 === 0 ? randomBytes(at % 2_000) : Buffer.from('{"a":['.repeat(at % 50));
  const names = [
    "hook-1",
    "%00",
    "..%2f..",
    "hook-1/../..",
    "x".repeat(at % 3_000),
    "hook-1?a=b",
    "__proto__",
  ];
  const head = [
    `${["POST", "GET", "PUT", "post", "\u0000"][at % 5]} /hook/${names[at % names.length]} HTTP/1.1`,
    "host: x",
    `x-hub-signature-256: ${["sha256=", "sha256=00", `sha256=${"f".repeat(64)}`, "\u00ff", ""][at % 5]}`,
    `content-length: ${[body.length, body.length + 5, -1, "1e9", "0x10"][at % 5]}`,
    `content-encoding: ${["identity", "gzip", "br", "nothing"][at % 4]}`,
    `connection: close`,
  ];
  return Buffer.concat([Buffer.from(`${head.join("\r\n")}\r\n\r\n`, "latin1"), body]);
}

test("each request that was answered 202 is there after a kill", { timeout: TIMEOUT_MS }, async () => {
  const [perSecond, seconds] = inFull([500, 30], [50, 2]);
  const times: number[] = [];
  const statuses = new Map<number, number>();
  const taken: string[] = [];
  const begun = performance.now();
  const sent: Promise<void>[] = [];
  for (let at = 0; at < perSecond * seconds; at++) {
    const due = begun + (at * 1_000) / perSecond;
    if (performance.now() < due) await new Promise((resolve) => setTimeout(resolve, due - performance.now()));
    const since = performance.now();
    const one = send(`hook-${at % HOOKS}`, `d${at}`).then((status) => {
      times.push(performance.now() - since);
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
      if (status === 202) taken.push(`d${at}`);
    });
    sent.push(one);
  }
  await Promise.all(sent);
  const tookSeconds = (performance.now() - begun) / 1_000;
  await sidecar.kill9();
  const store = openStore(statePaths(sidecar.stateDir).database);
  const lost = taken.filter(
    (id) => store.hookRequests.find(`hook-${Number(id.slice(1)) % HOOKS}`, id, Date.now()) === undefined,
  );
  store.close();
  await sidecar.start();
  times.sort((one, other) => one - other);
  const p = (share: number) => Math.round(times[Math.floor(times.length * share)] ?? 0);
  say("door", {
    perSecond,
    seconds,
    tookSeconds,
    p50: p(0.5),
    p95: p(0.95),
    p99: p(0.99),
    ...Object.fromEntries(statuses),
  });
  expect(lost).toEqual([]);
  expect([...statuses.keys()]).toEqual([202]);
});

/** Sends so many requests, and counts the answers by their status. */
async function sendFuzzed(count: number, to?: number): Promise<Map<string, number>> {
  const statuses = new Map<string, number>();
  for (let at = 0; at < count; at += 20)
    for (const answer of await Promise.all(
      Array.from({ length: 20 }, (_, index) => sendRaw(fuzzed(at + index), to)),
    )) {
      const status = /^HTTP\/1\.1 (\d+)/.exec(answer)?.[1] ?? "none";
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
    }
  return statuses;
}

const [WARM, ALL] = inFull([5_000, 100_000], [500, 2_000]);

/** The same requests to a bare Express: by how much its memory grows that nobody has collected, in MiB. */
async function growthOfExpress(): Promise<number> {
  const bare = await freePort();
  const program = `const express = require("express");
const take = [express.raw({ type: () => true, limit: "1mb" }), (_, reply) => reply.status(404).json({ code: "no" })];
const refuse = (_, __, reply, ___) => reply.status(400).json({ code: "bad" });
express().post("/hook/:name", ...take).use(refuse).listen(${bare}, "127.0.0.1", () => console.log("ready"));`;
  const child = spawn(process.execPath, ["-e", program], { stdio: ["ignore", "pipe", "ignore"] });
  try {
    await once(child.stdout, "data");
    await sendFuzzed(WARM, bare);
    const before = rssMiB(child.pid ?? 0);
    await sendFuzzed(ALL, bare);
    return rssMiB(child.pid ?? 0) - before;
  } finally {
    child.kill("SIGKILL");
    await once(child, "exit");
  }
}

test("nothing that is sent breaks it, or stays in its memory", { timeout: TIMEOUT_MS }, async () => {
  await sendFuzzed(WARM);
  const kept = await measureKept(sidecar.pid(), inspectPort);
  await sendFuzzed(WARM);
  const before = rssMiB(sidecar.pid());
  const statuses = await sendFuzzed(ALL);
  const grown = rssMiB(sidecar.pid()) - before;
  const after = await measureKept(sidecar.pid(), inspectPort);
  // Most of it is Node's own sockets: a bare Express leaves the same garbage.
  const ofExpress = isFull ? await growthOfExpress() : undefined;
  say("fuzz", { all: ALL, kept, after, grown, ofExpress, ...Object.fromEntries(statuses) });
  expect([...statuses.keys()].filter((status) => status.startsWith("5"))).toEqual([]);
  expect(after.heapMiB - kept.heapMiB).toBeLessThanOrEqual(2);
  expect(after.rssMiB - kept.rssMiB).toBeLessThanOrEqual(20);
  expect(grown).toBeLessThanOrEqual(20);
  expect(await send("hook-1", "after-all")).toBe(202);
});

test("a wrong signature takes as long to judge as a right one", () => {
  const body = randomBytes(2_000);
  const right = signRequest(PROOF, SECRET, body, { id: "x", nowSeconds: 0 });
  const name = Object.keys(right).find((header) => /signature/i.test(header)) ?? "";
  const signature = right[name] ?? "";
  const wrongs = [
    `sha256=${"0".repeat(64)}`,
    `${signature.slice(0, -1)}${signature.endsWith("0") ? "1" : "0"}`,
  ];
  const hook = { secret: SECRET, proof: PROOF };
  const lower = (headers: Record<string, string>) =>
    Object.fromEntries(Object.entries(headers).map(([key, value]) => [key.toLowerCase(), value]));
  const tries = [right, ...wrongs.map((value) => ({ ...right, [name]: value }))].map(lower);
  const times: number[][] = tries.map(() => []);
  for (let at = 0; at < inFull(10_000, 200); at++)
    for (const [index, headers] of tries.entries()) {
      const since = process.hrtime.bigint();
      const { kind } = judgeProof(hook, { headers, body }, Date.now());
      times[index]?.push(Number(process.hrtime.bigint() - since));
      expect(kind === "wrong").toBe(index > 0);
    }
  const medians = times.map((all) => all.sort((one, other) => one - other)[Math.floor(all.length / 2)] ?? 0);
  say("signatures", { mediansNs: medians });
  const [first = 0, ...others] = medians;
  // Too few in the short form for a busy machine.
  for (const median of isFull ? others : []) expect(Math.abs(median / first - 1)).toBeLessThanOrEqual(0.05);
});
