/** Measures jobs: how late they are when many are due at once, what they cost while none is, and the hook's door. */
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { Agent, createServer, type IncomingMessage, request } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import Database from "better-sqlite3";
import { VmJobs } from "../relay/sidecar/jobs.ts";
import { makeFolder } from "../test/support/folders.ts";
import { freePort, type SpawnedSidecar, spawnSidecar } from "../test/support/sidecar.ts";
import { statePaths } from "../vm/config.ts";
import { judgeProof, signRequest } from "../vm/hooks/proof.ts";
import { openStore } from "../vm/store/store.ts";
import { cpuSeconds, percentile, type Row, ratioRow } from "./measure.ts";

export const JOB_ROWS = ["jobs-late", "jobs-idle", "door", "signatures"] as const;

type Pick = <T>(full: T, smoke: T) => T;

const SECRET = "a-secret-that-nobody-knows";
const PROOF = { preset: "github" as const };
const COMMAND = { type: "command", dir: ".", command: "true" } as const;

export function jobRows(pick: Pick): Record<(typeof JOB_ROWS)[number], () => Promise<Row[]>> {
  return {
    "jobs-late": () => rowLate(pick(1_000, 20), pick(60, 3)),
    "jobs-idle": () => rowIdle(pick(10_000, 100), pick(65, 3)),
    door: () => rowDoor(pick(1_000, 20), pick(500, 50), pick(30, 2)),
    signatures: () => rowSignatures(pick(10_000, 200)),
  };
}

/** The time from the instant at which all are due to the row of each. The baseline inserts as many rows, each alone. */
async function rowLate(count: number, inSeconds: number): Promise<Row[]> {
  const sidecar = await spawnSidecar({ MAX_JOBS: "2000" });
  try {
    const jobs = new VmJobs(sidecar.client);
    const at = new Date(Date.now() + inSeconds * 1_000).toISOString();
    for (let n = 0; n < count; n++)
      await jobs.create({ name: `due-${n}`, when: { type: "at", at }, what: COMMAND });
    const db = new Database(statePaths(sidecar.stateDir).database, { readonly: true });
    const rows = db.prepare("SELECT count(*) FROM job_runs").pluck();
    while (Number(rows.get()) < 0.95 * count) await sleep(5);
    const ours = Date.now() - Date.parse(at);
    db.close();
    const name = `${count} jobs due at once → row p95 (ms), beside ${count} bare inserts`;
    return [{ name, ours, baseline: bareInserts(count), isMet: ours <= 1_000, bar: "≤ 1000" }];
  } finally {
    await sidecar.close();
  }
}

function bareInserts(count: number): number {
  const { path, remove } = makeFolder();
  const db = new Database(join(path, "bare.db"));
  db.pragma("journal_mode = WAL");
  db.pragma("synchronous = NORMAL");
  db.exec("CREATE TABLE runs (run TEXT PRIMARY KEY, at INTEGER) STRICT");
  const insert = db.prepare("INSERT INTO runs VALUES (?, ?)");
  const since = performance.now();
  const taken: number[] = [];
  for (let n = 0; n < count; n++) {
    insert.run(`due-${n}`, n);
    taken.push(performance.now() - since);
  }
  db.close();
  remove();
  return percentile(taken, 95);
}

/** Measures the share of a core that a sidecar takes while none of its jobs is due, beside the same one before it has any. */
async function rowIdle(count: number, seconds: number): Promise<Row[]> {
  const sidecar = await spawnSidecar({ MAX_JOBS: "20000" });
  try {
    const jobs = new VmJobs(sidecar.client);
    await jobs.create({ name: "seed", when: { type: "every", seconds: 86_400 }, what: COMMAND });
    const baseline = await shareOf(sidecar, seconds);
    await sidecar.stop();
    addIdle(sidecar, count);
    await sidecar.start();
    const ours = await shareOf(sidecar, seconds);
    const name = `idle with ${count} jobs (% of a core), beside one job`;
    return [{ name, ours, baseline, isMet: ours - baseline <= 0.1, bar: "+ ≤ 0.1" }];
  } finally {
    await sidecar.close();
  }
}

async function shareOf(sidecar: SpawnedSidecar, seconds: number): Promise<number> {
  await sleep(5_000); // its start is over
  const before = cpuSeconds([sidecar.pid()]);
  await sleep(seconds * 1_000);
  return ((cpuSeconds([sidecar.pid()]) - before) / seconds) * 100;
}

/** A request for each would take longer than all else here. */
function addIdle({ stateDir }: SpawnedSidecar, count: number): void {
  const store = openStore(statePaths(stateDir).database);
  const seed = store.jobs.find("seed");
  if (!seed) throw new Error("the job is not there");
  store.transaction(() => {
    for (let n = 0; n < count; n++) {
      const settings = { ...seed.settings, name: `idle-${n}` };
      store.jobs.insert({ ...seed, notice: undefined, settings });
    }
  });
  store.close();
}

/** Signed requests at the hook's door. The baseline is a bare server that answers as many requests of that size. */
async function rowDoor(hooks: number, perSecond: number, seconds: number): Promise<Row[]> {
  const port = await freePort();
  const sidecar = await spawnSidecar({ HOOK_HOST: "127.0.0.1", HOOK_PORT: `${port}`, MAX_JOBS: "2000" });
  try {
    const jobs = new VmJobs(sidecar.client);
    // Taken requests wait for an hour, so that no run is measured.
    const coalesce = { windowSeconds: 3_600, maxWaitSeconds: 3_600 };
    const when = { type: "webhook", proof: PROOF, secret: SECRET, perMinute: 6_000, coalesce } as const;
    for (let n = 0; n < hooks; n++) await jobs.create({ name: `hook-${n}`, when, what: COMMAND });
    const baseline = await withBare((bare) =>
      load(bare, { hooks, perSecond, seconds: Math.ceil(seconds / 3) }),
    );
    const ours = await load(port, { hooks, perSecond, seconds });
    const name = `${perSecond} signed requests/s to ${hooks} hooks`;
    const refused = ours.statuses.filter((status) => status !== 202).length;
    return [
      ...([50, 99] as const).map((percent) => ({
        name: `${name}, p${percent} (ms), beside a bare server`,
        ours: percentile(ours.taken, percent),
        baseline: percentile(baseline.taken, percent),
        isMet: percentile(ours.taken, percent) <= 250,
        bar: "≤ 250",
      })),
      { name: `${name}: not taken`, ours: refused, baseline: undefined, isMet: refused === 0, bar: "0" },
    ];
  } finally {
    await sidecar.close();
  }
}

async function withBare<T>(work: (port: number) => Promise<T>): Promise<T> {
  const server = createServer((request, response) => {
    request.resume().on("end", () => response.writeHead(202).end());
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  try {
    return await work((server.address() as AddressInfo).port);
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

/** @returns the milliseconds of each, ascending, from the time at which it was to be sent */
async function load(
  port: number,
  { hooks, perSecond, seconds }: { hooks: number; perSecond: number; seconds: number },
): Promise<{ taken: number[]; statuses: number[] }> {
  const taken: number[] = [];
  const statuses: number[] = [];
  // The door takes no more connections than this at once.
  const agent = new Agent({ keepAlive: true, maxSockets: 50 });
  const send = async (n: number, dueAt: number) => {
    const body = Buffer.from(JSON.stringify({ n, log: "x".repeat(500) }));
    const headers = signRequest(PROOF, SECRET, body, { id: `d${n}`, nowSeconds: Date.now() / 1_000 });
    const path = `/hook/hook-${n % hooks}`;
    const length = { "content-length": body.length };
    const options = {
      host: "127.0.0.1",
      port,
      path,
      method: "POST",
      agent,
      headers: { ...headers, ...length },
    };
    const status = await new Promise<number>((resolve, reject) => {
      const onReply = (reply: IncomingMessage) =>
        reply.resume().on("end", () => resolve(reply.statusCode ?? 0));
      request(options, onReply).on("error", reject).end(body);
    });
    statuses.push(status);
    taken.push(performance.now() - dueAt);
  };
  const begunAt = performance.now();
  const sent: Promise<void>[] = [];
  for (let n = 0; n < perSecond * seconds; n++) {
    const dueAt = begunAt + (n * 1_000) / perSecond;
    if (performance.now() < dueAt) await sleep(dueAt - performance.now());
    sent.push(send(n, dueAt));
  }
  await Promise.all(sent);
  agent.destroy();
  return { taken: taken.sort((a, b) => a - b), statuses };
}

/** Wrong signatures beside right ones, in turns. */
async function rowSignatures(count: number): Promise<Row[]> {
  const body = randomBytes(2_000);
  const sent = signRequest(PROOF, SECRET, body, { id: "x", nowSeconds: Date.now() / 1_000 });
  const right = Object.fromEntries(Object.entries(sent).map(([name, value]) => [name.toLowerCase(), value]));
  const header = "x-hub-signature-256";
  const signature = right[header] ?? "";
  const last = signature.endsWith("0") ? "1" : "0";
  const kinds = {
    right,
    "wrong in all": { ...right, [header]: `sha256=${"0".repeat(64)}` },
    "wrong in the last digit": { ...right, [header]: signature.slice(0, -1) + last },
  };
  const taken = Object.entries(kinds).map(([name, headers]) => ({ name, headers, ns: [] as number[] }));
  for (let n = 0; n < count; n++)
    for (const { headers, ns } of n % 2 === 0 ? taken : taken.toReversed()) {
      const since = process.hrtime.bigint();
      judgeProof({ secret: SECRET, proof: PROOF }, { headers, body }, Date.now());
      ns.push(Number(process.hrtime.bigint() - since));
    }
  const [first, ...others] = taken.map(({ name, ns }) => {
    return {
      name,
      median: percentile(
        ns.sort((a, b) => a - b),
        50,
      ),
    };
  });
  return others.map(({ name, median }) => {
    const row = ratioRow(`a signature that is ${name}, median (ns)`, median, first?.median ?? 0, {
      atMost: 1.05,
    });
    return { ...row, isMet: row.isMet && median / (first?.median ?? 0) >= 0.95, bar: "± 5 %" };
  });
}
