/** Branches, with files and without, from random points: of agents at work, of branches, of agents that are killed. */
import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { ThreadEvent } from "../../shared/agent/events.ts";
import type { BranchReply } from "../../shared/branch-api.ts";
import { seededRandom } from "../../shared/random.ts";
import { BYPASS_CONFIG, script, standIn, transcriptOf } from "../support/agents.ts";
import { changingCall, type Files, filesAt } from "../support/branch-files.ts";
import { inFull } from "../support/faults.ts";
import { heardBy, sessionOf } from "../support/heard.ts";
import { startSidecar, type TestSidecar } from "../support/sidecar.ts";
import { until } from "../support/wait.ts";

const BRANCHES = inFull(200, 8);
/** Of each kind so many at least; which lane takes which random number depends on the machine. */
const EACH = BRANCHES / 8;
const MAX_BRANCHES = 3 * BRANCHES;
const LANES = inFull(4, 2);
const PARENTS = 6;
const SEED = Number(process.env["SEED"] ?? 20_261_122);

let sidecar: TestSidecar;
beforeAll(async () => {
  const agent = { ...standIn({ idleSeconds: 1 }), allowBypass: true };
  sidecar = await startSidecar({ ...BYPASS_CONFIG, maxThreads: 500, agent });
});
afterAll(() => sidecar?.close());

const random = seededRandom(SEED);
const pick = <T>(all: readonly T[]): T => all[Math.floor(random() * all.length)] as T;
const talkers = new Map<string, Talker>();
const alive = () => [...talkers.values()].filter(({ isParent }) => isParent);
const seen = { made: 0, withFiles: 0, undone: 0, refused: 0, seeded: 0, forked: 0, killed: 0, ofBranches: 0 };

/** An agent that is written to without end: in its turns, between them, several messages at once. */
class Talker {
  readonly id: string;
  /** Of one that may change files: those that it began with. */
  first: Files | undefined;
  /** It has its directory for itself. */
  isAlone = true;
  isParent = false;
  /** So many look at what it has heard. */
  holders = 0;
  #count = 0;
  #rounds = 0;
  /** All that a killed one has heard. */
  #heard: string[] | undefined;

  constructor(id: string, first?: Files) {
    this.id = id;
    this.first = first;
    talkers.set(id, this);
  }

  get heard(): string[] {
    return this.#heard ?? heardBy(sidecar, this.id);
  }

  /** A message with some rounds, each with a word of its own; all but the last one call something. */
  message(isChanging: boolean): string {
    const rounds = Array.from({ length: Math.floor(random() * 4) }, () => {
      const text = `t-${this.id}-${++this.#rounds}`;
      const call =
        isChanging && random() < 0.9 ? changingCall(this.id, text.replace("t-", "v-"), random) : IDLE_CALL;
      return { text, delayMs: Math.floor(random() * 40), tools: [call] };
    });
    const last = { text: `t-${this.id}-${++this.#rounds}` };
    return script(`m-${this.id}-${++this.#count}`, ...rounds, last);
  }

  get isWriter(): boolean {
    return this.first !== undefined && this.isAlone;
  }

  async say(isChanging = this.isWriter): Promise<void> {
    const inputId = `m-${this.id}-${this.#count + 1}`;
    await sidecar.client.sendInput(this.id, { text: this.message(isChanging), inputId });
  }

  /** Undoes any turn that changed files, or any undo; refused if it is at work. */
  async undo(): Promise<void> {
    const targets = (await transcriptOf(sidecar, this.id)).flatMap((event) => {
      if (event.type === "turn_changes" && event.files > 0) return [event.turnId];
      return event.type === "undo" && event.files > 0 ? [event.undoId] : [];
    });
    if (targets.length === 0) return;
    const turnId = pick(targets.slice(-3));
    const undo = sidecar.client.controlAgent(this.id, { control: "undo", turnId });
    const refused = await undo.catch((error: Error) => error);
    if (refused instanceof Error) expect(refused.message).toContain("is at work");
    else seen.undone++;
  }

  async kill(): Promise<void> {
    this.isParent = false;
    await sidecar.client.killThread(this.id);
    seen.killed++;
  }

  /** The engine's own record goes too. */
  forget(): void {
    this.#heard = this.heard;
    const projects = join(sidecar.folders.home, ".claude", "projects");
    const name = `${sessionOf(sidecar.stateDir, this.id)}.jsonl`;
    const project = readdirSync(projects).find((one) => readdirSync(join(projects, one)).includes(name));
    if (project !== undefined) rmSync(join(projects, project, name));
  }
}

const IDLE_CALL = { name: "Bash", input: { command: "true", description: "a call" } };

async function open(id: string, hasFiles: boolean): Promise<void> {
  const dir = join(sidecar.reposDir, id);
  mkdirSync(dir);
  const first = { one: "committed\n", two: "not committed\n" };
  if (hasFiles) makeRepository(dir, first);
  const talker = new Talker(id, hasFiles ? first : undefined);
  const command = talker.message(hasFiles);
  const agent = { permissionMode: "bypassPermissions" };
  await sidecar.client.createThread({
    threadId: id,
    type: "agent",
    dir: id,
    command,
    agent,
  });
  await until(`words of ${id}`, () => talker.heard.some((word) => word.startsWith("t-")));
  talker.isParent = true;
}

function makeRepository(dir: string, { one, two }: { one: string; two: string }): void {
  const git = (...args: string[]) =>
    execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@b", ...args], { cwd: dir });
  git("init", "-q", "-b", "main");
  writeFileSync(join(dir, "one"), one);
  git("add", ".");
  git("commit", "-qm", "first");
  writeFileSync(join(dir, "two"), two);
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

interface Tried {
  parent: Talker;
  child: Talker;
  files: boolean;
  point: { seq?: number };
  /** The parent's transcript before the branch was asked for. */
  events: readonly ThreadEvent[];
}

/** @returns undefined if it was refused, and rightly */
async function branch({ parent, child, files, point, events }: Tried): Promise<BranchReply | undefined> {
  const request = { threadId: child.id, lockParent: false, files, ...point };
  const isKilled = parent.holders === 1 && point.seq !== undefined && random() < 0.1;
  const [made] = await Promise.all([
    sidecar.client.branchThread(parent.id, request).catch((error: { code: string }) => error),
    isKilled && parent.kill(),
  ]);
  if (!("code" in made)) return made;
  seen.refused++;
  if (made.code === "thread_ended" && isKilled) return undefined;
  if (made.code === "unsupported" && files) {
    const hasState = events.some((event) => event.type === "turn_changes" && event.files > 0);
    expect(hasState, `${child.id}: ${JSON.stringify(made)}`).toBe(false);
    return undefined;
  }
  // A point before anything was read, or a message that waits, is none.
  expect(made).toMatchObject({ code: "invalid_request" });
  return undefined;
}

/** What its worktree may begin with: the parent goes on while the branch is made. */
async function possibleFiles({ parent, point, events }: Tried, made: BranchReply): Promise<Files[]> {
  const { threadId, seq } = made.origin;
  const of = talkers.get(threadId) ?? parent;
  const after = await transcriptOf(sidecar, threadId);
  if (of !== parent) {
    // Before all that was said in a branch: what that began with, or an earlier point of the thread behind it.
    const known = filesAt(of.id, of.first ?? {}, after, seq);
    const earlier = filesAt(
      of.id,
      of.first ?? {},
      after.filter((event) => event.type !== "undo" || event.seq <= seq),
      seq,
    );
    return [...(parent.first ? [parent.first] : []), known, earlier];
  }
  const lengths = Array.from({ length: after.length - events.length + 1 }, (_, i) => events.length + i);
  const at = point.seq === undefined ? undefined : seq;
  return lengths.map((length) => filesAt(of.id, of.first ?? {}, after.slice(0, length), at));
}

function filesIn(dir: string): Files {
  const names = readdirSync(dir).filter((name) => name !== ".git");
  return Object.fromEntries(names.map((name) => [name, readFileSync(join(dir, name), "utf8")]));
}

async function check(tried: Tried, made: BranchReply, where: string): Promise<void> {
  const { parent, child, files, point } = tried;
  const of = talkers.get(made.origin.threadId) ?? parent;
  const word = wordAt(await transcriptOf(sidecar, of.id), made.origin.seq);
  const said = await until(`${word} in ${of.id}, ${where}`, () => of.heard.includes(word) && of.heard);
  const expected = said.slice(0, said.indexOf(word) + 1);
  const possible = files ? await possibleFiles(tried, made) : [];
  if (parent.isParent && parent.holders === 1 && random() < 0.2) await parent.kill();
  if (!parent.isParent && parent.holders === 1 && random() < 0.5) parent.forget();
  await child.say(false);
  const first = `m-${child.id}-1`;
  const heard = await until(`the first message of ${child.id}, ${where}`, () => {
    const all = child.heard;
    return all.includes(first) && all;
  });
  const detail = `${where} at ${JSON.stringify(point)} → ${made.origin.seq} of ${of.id} (${word})`;
  expect(heard.slice(0, heard.indexOf(first)), detail).toEqual(expected);
  if (!files) return;
  child.first = filesIn(join(sidecar.stateDir, "worktrees", child.id));
  if (possible.some((one) => isDeepStrictEqual(one, child.first))) return;
  const story = (await transcriptOf(sidecar, of.id)).flatMap(tellChange).join("\n");
  expect(child.first, `${detail}\n${story}`).toEqual(possible.at(-1));
}

/** A line of an event that the files depend on. */
function tellChange(event: ThreadEvent): string[] {
  switch (event.type) {
    case "tool_call":
      return [`${event.seq} call ${(event.rawInput as { description?: string }).description}`];
    case "tool_call_update":
      return event.status === "in_progress" ? [] : [`${event.seq} ${event.status}`];
    case "turn_start":
    case "turn_end":
      return [`${event.seq} ${event.type} ${event.turnId}`];
    case "turn_changes":
      return [`${event.seq} changes of ${event.turnId}: ${event.files}, others ${event.others}`];
    case "undo":
      return [`${event.seq} undo ${event.undoId} of ${event.target} ${event.status}: ${event.restored}`];
    default:
      return [];
  }
}

async function takeUp(child: Talker): Promise<void> {
  const [start] = (await transcriptOf(sidecar, child.id)).filter(({ type }) => type === "engine_start");
  const isSeeded = start?.type === "engine_start" && start.reseeded === true;
  if (isSeeded) seen.seeded++;
  else {
    seen.forked++;
    // Few are written to, and often.
    child.isParent = alive().length < PARENTS || random() < 0.3;
  }
  const parents = alive();
  if (parents.length > PARENTS) pick(parents).isParent = false;
}

async function choose(parent: Talker, n: number): Promise<Tried> {
  const events = await transcriptOf(sidecar, parent.id);
  const points = events.filter(({ type }) => type === "agent_message" || type === "tool_call_update");
  const kind = random();
  const isNow = kind < 0.2 || points.length === 0;
  const point = isNow ? {} : { seq: pick(kind < 0.8 ? points : events.slice(-20)).seq };
  const files = parent.isWriter && (parent.holders > 1 || random() < 0.7);
  if (!files) parent.isAlone = false; // from now on two threads work there
  const child = new Talker(`${parent.id.length > 12 ? "x" : parent.id}x${n}`);
  return { parent, child, files, point, events };
}

const areEnough = () => seen.made >= BRANCHES && seen.forked > EACH && seen.withFiles > EACH;

/** Takes one branch after the other, until there are enough. */
async function lane(counter: { n: number; isOver: boolean }): Promise<void> {
  while (!areEnough() && seen.made < MAX_BRANCHES && !counter.isOver) {
    const n = ++counter.n;
    const parents = alive();
    const writers = parents.filter(({ isWriter }) => isWriter);
    if (parents.length < 3 || writers.length === 0) {
      await open(`p${n}`, n % 3 > 0);
      continue;
    }
    const parent = pick(random() < 0.5 ? writers : parents);
    parent.holders++;
    if (random() < 0.7 && parent.isWriter) await parent.undo();
    if (random() < 0.7) await parent.say();
    const other = pick(parents);
    if (other.isParent) await other.say().catch(expectEnded);
    const tried = await choose(parent, n);
    const made = await branch(tried);
    if (made) {
      await check(
        tried,
        made,
        `seed ${SEED}, branch ${n} of ${parent.id}${tried.files ? " with files" : ""}`,
      );
      await takeUp(tried.child);
      seen.made++;
      if (tried.files) seen.withFiles++;
      if (parent.id.includes("x")) seen.ofBranches++;
      if (seen.made % 10 === 0) tell();
    }
    parent.holders--;
  }
}

/** Another lane has killed it meanwhile. */
function expectEnded(error: { code: string }): void {
  expect(error).toMatchObject({ code: "thread_ended" });
}

function tell(): void {
  process.stdout.write(`${seen.made} of ${BRANCHES} branches: ${JSON.stringify(seen)}\n`);
}

test(`each of ${BRANCHES} branches knows exactly what was said up to its point, and has the files of then`, async () => {
  await Promise.all([open("a", true), open("b", true), open("c", false)]);
  const counter = { n: 0, isOver: false };
  try {
    await Promise.all(Array.from({ length: LANES }, () => lane(counter)));
  } finally {
    counter.isOver = true;
    tell();
  }
  expect(seen.forked).toBeGreaterThan(EACH);
  expect(seen.withFiles).toBeGreaterThan(EACH);
}, 1_200_000);
