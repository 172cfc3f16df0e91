/**
 * Random turns with a second writer in the same files: after Undo every file that nobody else touched is what it was
 * before the turn, the others stay as they are and are named, and index, branch and stash are not touched.
 */
import { execFileSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { type AgentThread, bash, openThreads, says } from "../support/agent-threads.ts";
import { inFull } from "../support/faults.ts";
import { until } from "../support/wait.ts";

const TURNS = inFull(500, 20);
/** Each seed has a repository of its own. */
const TURNS_OF_SEED = inFull(20, 10);
/** Repositories at once: a turn waits more than it works. */
const AT_ONCE = inFull(4, 2);
const newThread = openThreads();
const PATHS = [
  "a",
  "b",
  "c.bin",
  "run.sh",
  "sp ace",
  "d/x",
  "d/y",
  "d/deep/z",
  "e/new",
  "ü",
  "kept.log",
  "f",
  "g",
  "h",
];

/** The same numbers each time (mulberry32), so that a failure can be seen again. */
function random(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) % below;
  };
}

type Files = Record<string, string>;

/** Each file's mode and content; a path without a file is missing. */
function filesOf({ dir }: AgentThread): Files {
  const found: Files = {};
  for (const path of PATHS) {
    const file = join(dir, path);
    if (!existsSync(file)) continue;
    found[path] = `${lstatSync(file).mode & 0o100} ${readFileSync(file, "latin1")}`;
  }
  return found;
}

const differing = (a: Files, b: Files) => PATHS.filter((path) => a[path] !== b[path]);

class World {
  readonly thread: AgentThread;
  readonly #random: (below: number) => number;
  #count = 0;

  constructor(seed: number) {
    this.thread = newThread({ agent: { permissionMode: "bypassPermissions" } });
    this.#random = random(seed);
    this.git("init", "-q", "-b", "main");
    writeFileSync(join(this.thread.dir, ".gitignore"), "*.log\n");
    for (const path of PATHS.slice(0, 11)) this.#put(path, this.#text());
    this.git("add", "-A");
    this.git("add", "-f", "kept.log");
    this.git("rm", "-q", "--cached", "d/y"); // untracked
    this.git("commit", "-qm", "first");
  }

  git(...args: string[]): string {
    const who = ["-c", "user.name=t", "-c", "user.email=t@t"];
    return execFileSync("git", [...who, ...args], { cwd: this.thread.dir, encoding: "utf8" });
  }

  /** What no undo may touch. */
  standing(): string {
    return [
      ["rev-parse", "HEAD"],
      ["symbolic-ref", "HEAD"],
      ["ls-files", "-s"],
      ["stash", "list"],
    ]
      .map((args) => this.git(...args))
      .join("\n");
  }

  /** All but the ignored file, if the repository does not have it any more. */
  keptPaths(): string[] {
    const isTracked = this.git("ls-files", "kept.log") !== "";
    return PATHS.filter((path) => isTracked || path !== "kept.log");
  }

  chance(of: number): boolean {
    return this.#random(of) === 0;
  }

  #text(): string {
    return this.chance(4) ? `\0binary ${this.#count++}\r\n` : `text ${this.#count++}\n`;
  }

  #path(): string {
    return PATHS[this.#random(PATHS.length)] ?? "a";
  }

  #put(path: string, text: string): void {
    const file = join(this.thread.dir, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text, "latin1");
  }

  /** A person, or a program of theirs. @returns what they changed */
  write(): string[] {
    const before = filesOf(this.thread);
    for (let i = this.#random(3); i >= 0; i--) {
      const path = this.#path();
      const file = join(this.thread.dir, path);
      const what = existsSync(file) ? this.#random(6) : 6;
      if (what === 0) rmSync(file);
      else if (what === 1) chmodSync(file, lstatSync(file).mode ^ 0o100);
      else if (what === 2) {
        const target = join(this.thread.dir, this.#path());
        mkdirSync(dirname(target), { recursive: true });
        renameSync(file, target);
      } else this.#put(path, this.#text());
    }
    return differing(before, filesOf(this.thread));
  }

  /** A call that changes something, or tries to. */
  call() {
    if (this.chance(4)) {
      const file_path = join(this.thread.dir, this.#path());
      return { name: "Write", input: { file_path, content: `written ${this.#count++}\n` } };
    }
    const commands = Array.from({ length: 1 + this.#random(3) }, () => this.#command());
    return bash(`${commands.join("; ")}; true`);
  }

  #command(): string {
    const [one, other] = [this.#path(), this.#path()];
    switch (this.#random(6)) {
      case 0:
        return `rm -f '${one}'`;
      case 1:
        return `mkdir -p "$(dirname '${other}')"; mv '${one}' '${other}' 2>/dev/null`;
      case 2:
        return `chmod +x '${one}' 2>/dev/null`;
      case 3:
        return `mkdir -p "$(dirname '${one}')"; printf 'b\\0${this.#count++}' > '${one}'`;
      default:
        return `mkdir -p "$(dirname '${one}')"; echo 'bash ${this.#count++}' >> '${one}'`;
    }
  }

  /** One turn, with the second writer between its calls. @returns what that one changed */
  async turn(): Promise<{ turnId: string; touched: Set<string> }> {
    const { thread } = this;
    const calls = Array.from({ length: 1 + this.#random(3) }, () => this.call());
    const gates = calls.map((_, i) => join(thread.folder, `go-${this.#count++}-${i}`));
    const rounds = calls.map((tool, i) => ({ tools: [tool], waitFor: gates[i] ?? "" }));
    const last = join(thread.folder, `go-${this.#count++}`);
    const [turns, ended] = [thread.of("turn_end").length, thread.of("tool_call_update").length];
    thread.write(says("Do it", ...rounds, { text: "Done.", waitFor: last }));
    if (!thread.runner) thread.start();
    const touched = new Set<string>();
    await thread.event("turn_start", turns + 1);
    for (const [i, gate] of [...gates, last].entries()) {
      if (i > 0) await thread.event("tool_call_update", ended + i);
      await until("the state before the turn, or after the call", () => this.#isAtRest(turns));
      if (this.chance(3)) for (const path of this.write()) touched.add(path);
      writeFileSync(gate, "");
    }
    const { turnId } = await thread.event("turn_end", turns + 1);
    return { turnId, touched };
  }

  #isAtRest(turns: number): boolean {
    const path = join(this.thread.folder, "turn.json");
    const notes = existsSync(path) ? JSON.parse(readFileSync(path, "utf8")) : undefined;
    return notes?.ended === turns && notes.running.length === 0;
  }

  async undo(turnId: string) {
    const count = this.thread.of("undo").length;
    this.thread.control("undo", { turnId });
    if (!this.thread.runner) this.thread.start();
    return this.thread.event("undo", count + 1);
  }
}

/** A turn with the second writer, its undo, and sometimes the undo of that. @returns how much was undone and named */
async function checkTurn(world: World, where: string): Promise<{ undone: number; named: number }> {
  const before = filesOf(world.thread);
  const paths = world.keptPaths();
  const { turnId, touched } = await world.turn();
  const after = filesOf(world.thread);
  if (world.chance(3)) for (const path of world.write()) touched.add(path);
  const stood = world.standing();
  const atUndo = filesOf(world.thread);
  const changes = world.thread.of("turn_changes").find((event) => event.turnId === turnId);
  if (!changes || changes.files === 0) return { undone: 0, named: 0 };
  expect(changes.problem, where).toBeUndefined();
  const done = await world.undo(turnId);
  const now = filesOf(world.thread);
  expect(done, where).toMatchObject({ status: "completed" });
  const names = [...(changes.others ?? []), ...done.left.map(({ path }) => path)];
  for (const path of paths) {
    if (!touched.has(path)) expect(now[path], `${path}, ${where}`).toBe(before[path]);
    else {
      expect(now[path], `${path} of somebody else, ${where}`).toBe(atUndo[path]);
      // What they took back themselves is as before already.
      const isOther = after[path] !== before[path] && atUndo[path] !== before[path];
      if (isOther) expect(names, `${path} is named, ${where}`).toContain(path);
    }
  }
  expect(world.standing(), where).toBe(stood);
  if (world.chance(3)) {
    await world.undo(done.undoId);
    const again = filesOf(world.thread);
    expect(differing(again, atUndo), `undo of the undo, ${where}`).toEqual([]);
  }
  if (world.chance(4)) world.git("add", "-A");
  return { undone: done.files, named: names.length };
}

test(`${TURNS} random turns with a second writer: undone, what nobody else touched is as before`, {
  timeout: TURNS * 20_000,
}, async () => {
  const seen = { turns: 0, undone: 0, named: 0 };
  const seeds = Array.from({ length: TURNS / TURNS_OF_SEED }, (_, i) => i + 1);
  const work = async () => {
    for (let seed = seeds.shift(); seed !== undefined; seed = seeds.shift()) {
      const world = new World(seed);
      for (let i = 0; i < TURNS_OF_SEED; i++) {
        const { undone, named } = await checkTurn(world, `seed ${seed}, turn ${i}`);
        seen.turns++;
        seen.undone += undone;
        seen.named += named;
      }
      await world.thread.close();
      console.log(`${seen.turns} of ${TURNS} turns, ${seen.undone} files undone, ${seen.named} named`);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  expect(seen.undone).toBeGreaterThan(TURNS / 2);
  expect(seen.named).toBeGreaterThan(0);
});
