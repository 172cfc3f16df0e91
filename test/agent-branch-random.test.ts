/** Branches from random points of agents at work, of branches, and of agents that are killed meanwhile. */
import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { ThreadEvent } from "../shared/agent/events.ts";
import { seededRandom } from "../shared/random.ts";
import { openAgent, script, standIn, transcriptOf } from "./support/agents.ts";
import { isFull } from "./support/faults.ts";
import { heardBy, sessionOf } from "./support/heard.ts";
import { startSidecar, type TestSidecar } from "./support/sidecar.ts";
import { until } from "./support/wait.ts";

const BRANCHES = isFull ? 200 : 8;
const SEED = Number(process.env["SEED"] ?? 20_261_122);

let sidecar: TestSidecar;
beforeAll(async () => {
  sidecar = await startSidecar({ maxThreads: 500, agent: standIn({ idleSeconds: 1 }) });
});
afterAll(() => sidecar?.close());

const random = seededRandom(SEED);
const pick = <T>(all: readonly T[]): T => all[Math.floor(random() * all.length)] as T;

/** An agent that is written to without end: in its turns, between them, several messages at once. */
class Talker {
  readonly id: string;
  isKilled = false;
  #count = 0;
  #rounds = 0;

  constructor(id: string) {
    this.id = id;
  }

  /** A message with some rounds: each of them says a word of its own, all but the last one call something. */
  message(): string {
    const rounds = Array.from({ length: 1 + Math.floor(random() * 3) }, (_, at, all = 0) => {
      const text = `t-${this.id}-${++this.#rounds}`;
      const call = { name: "Bash", input: { command: "true", description: `call ${at} ${all}` } };
      return { text, delayMs: Math.floor(random() * 40), ...(random() < 0.6 && { tools: [call] }) };
    });
    const last = { text: `t-${this.id}-${++this.#rounds}` };
    return script(`m-${this.id}-${++this.#count}`, ...rounds, last);
  }

  async say(): Promise<void> {
    const inputId = `m-${this.id}-${this.#count + 1}`;
    await sidecar.client.sendInput(this.id, { text: this.message(), inputId });
  }

  async kill(): Promise<void> {
    this.isKilled = true;
    await sidecar.client.killThread(this.id);
  }
}

async function open(id: string): Promise<Talker> {
  const talker = new Talker(id);
  await openAgent(sidecar, id, talker.message());
  await until(`words of ${id}`, () => heardBy(sidecar, id).some((word) => word.startsWith("t-")));
  return talker;
}

/** The word that the model of the parent had heard or said last at that event. */
function wordAt(events: readonly ThreadEvent[], seq: number): string {
  const at = events.find((event) => event.seq === seq);
  if (at?.type === "user_message") {
    const [block] = at.content;
    return /^m-\S+/.exec(block?.type === "text" ? block.text : "")?.[0] ?? "";
  }
  const words = events.filter((event) => event.type === "agent_message" && event.seq <= seq).at(-1);
  return words?.type === "agent_message" ? words.text : "";
}

function findSession(parent: Talker): string | undefined {
  const projects = join(sidecar.folders.home, ".claude", "projects");
  const name = `${sessionOf(sidecar.stateDir, parent.id)}.jsonl`;
  const project = readdirSync(projects).find((one) => readdirSync(join(projects, one)).includes(name));
  return project === undefined ? undefined : join(projects, project, name);
}

test(`the model of each of ${BRANCHES} branches knows exactly what was said up to its point`, async () => {
  const parents = [await open("a"), await open("b"), await open("c")];
  const seen = { seeded: 0, forked: 0, killed: 0, ofBranches: 0 };
  for (let n = 1; n <= BRANCHES; n++) {
    const alive = parents.filter(({ isKilled }) => !isKilled);
    if (alive.length < 3) {
      parents.push(await open(`p${n}`));
      continue;
    }
    for (const one of alive) if (random() < 0.5) await one.say();
    const parent = pick(alive);
    const events = await transcriptOf(sidecar, parent.id);
    const points = events.filter(({ type }) => type === "agent_message" || type === "tool_call_update");
    const kind = random();
    const point =
      kind < 0.2 || points.length === 0 ? {} : { seq: pick(kind < 0.8 ? points : events.slice(-20)).seq };
    const child = new Talker(`${parent.id.length > 12 ? "x" : parent.id}x${n}`);
    const request = { threadId: child.id, createdBy: "42", lockParent: false, ...point };
    const made = await sidecar.client
      .branchThread(parent.id, request)
      .catch((error: { code: string }) => error);
    // A point before anything was read, or a message that waits, is none.
    if ("code" in made) {
      expect(made).toMatchObject({ code: "invalid_request" });
      continue;
    }
    const then = await transcriptOf(sidecar, made.origin.threadId);
    const word = wordAt(then, made.origin.seq);
    const said = await until(`${word} in ${made.origin.threadId}`, () => {
      const all = heardBy(sidecar, made.origin.threadId);
      return all.includes(word) && all;
    });
    const expected = said.slice(0, said.indexOf(word) + 1);
    if (parent.id.includes("x")) seen.ofBranches++;
    if (random() < 0.25) {
      await parent.kill();
      seen.killed++;
      const file = findSession(parent);
      if (random() < 0.5 && file !== undefined) rmSync(file);
    }
    await child.say();
    const first = `m-${child.id}-1`;
    const heard = await until(`the first message of ${child.id}`, () => {
      const all = heardBy(sidecar, child.id);
      return all.includes(first) && all;
    });
    const where = `seed ${SEED}, branch ${n} of ${parent.id} at ${JSON.stringify(point)} → ${made.origin.seq} (${word})`;
    expect(heard.slice(0, heard.indexOf(first)), where).toEqual(expected);
    const [start] = (await transcriptOf(sidecar, child.id)).filter(({ type }) => type === "engine_start");
    const isSeeded = start?.type === "engine_start" && start.reseeded === true;
    if (isSeeded) seen.seeded++;
    else {
      seen.forked++;
      parents.push(child); // what a seeded model says is the old scripts over again
    }
  }
  process.stdout.write(`branches: ${JSON.stringify(seen)}\n`);
  expect(seen.forked).toBeGreaterThan(BRANCHES / 8);
}, 1_200_000);
