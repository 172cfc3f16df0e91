/** Agent threads of a sidecar that is a process of its own, while everything is killed, and what must be true at the end. */
import { existsSync, readdirSync, readFileSync, readlinkSync, statSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { engineOutputPath, threadPath } from "../../shared/agent/paths.ts";
import { AppError } from "../../shared/errors.ts";
import { openAgent, STAND_IN, script } from "./agents.ts";
import { listProcesses, signal } from "./processes.ts";
import type { SpawnedSidecar } from "./sidecar.ts";
import type { SmallDisk } from "./small-disk.ts";
import { untilValue } from "./wait.ts";

export type Victim = "runner" | "engine" | "both" | "sidecar" | "tmux" | "disk";

export const SIEGE_ENV = { AGENT_PROGRAM: STAND_IN, AGENT_IDLE_SECONDS: "1", MAX_THREADS: "100" };

const SEND_TIMEOUT_MS = 60_000;
const LOOK_MS = 40;
const LITTLE_BYTES = 32 * 1024 * 1024;
/** An engine that has nothing to do is not there to be killed. */
const MAX_MISSES = 5;

export interface SiegeReport {
  /** By thread, the messages' ids in the order in which they were sent. */
  messages: Map<string, string[]>;
  /** That found their victim alive. */
  kills: Record<string, number>;
  /** Answers that the sidecar confirmed: request → options. */
  confirmed: Map<string, string[]>;
  /** How often a person had to press *Go on*. */
  goOns: number;
  /** Looks at which a thread had two runners at once. */
  twins: string[];
}

export interface SiegeOptions {
  sidecar: SpawnedSidecar;
  threadIds: readonly string[];
  victims: readonly Victim[];
  kills: number;
  random: () => number;
  /** Holds the sidecar's state, if the victim "disk" is among them: it is full for a while. */
  disk?: SmallDisk;
  /** What each thread is told when all else is done: so its model is asked once more, with all that was said before. */
  lastWords?: (threadId: string) => string;
  /** An engine may need so long to open: most kills then wait for one that has opened. */
  openMs?: number;
}

export const folderOf = ({ stateDir }: { stateDir: string }, threadId: string): string =>
  join(stateDir, "threads", threadId);

/** Runners that live now: the program itself, not the wrapper that started it, nor a child that is to be another. */
export function runnersOf(folder: string, processes = listProcesses()): number[] {
  const found = processes.filter(
    ({ command }) =>
      !command.includes("wrap.sh") &&
      /node\S* /.test(command.slice(0, 200)) &&
      command.endsWith(` ${folder}`),
  );
  const pids = found.map(({ pid }) => pid);
  return found.filter(({ ppid }) => !pids.includes(ppid)).map(({ pid }) => pid);
}

/** The engine of a thread: what reads from its FIFO. */
export function engineOf(folder: string, program = STAND_IN): number | undefined {
  return listProcesses().find(({ pid, command }) => command.includes(program) && readsFrom(pid, folder))?.pid;
}

/** Whether the newest process of the engine has printed a line. */
function hasSpoken(folder: string): boolean {
  const names = readdirSync(folder).filter((name) => /^engine\.\d+\.jsonl$/.test(name));
  const newest = Math.max(0, ...names.map((name) => Number(name.split(".")[1])));
  return (statSync(engineOutputPath(folder, newest), { throwIfNoEntry: false })?.size ?? 0) > 0;
}

/** All processes that carry the thread's folder in their environment: runner, engine, what it started. */
export function processesOf(folder: string): string[] {
  return listProcesses()
    .filter(({ environment }) => environment.some((entry) => entry.endsWith(`=${folder}`)))
    .map(({ pid, command }) => `${pid} ${command.slice(0, 120)}`);
}

function readsFrom(pid: number, folder: string): boolean {
  try {
    return readlinkSync(`/proc/${pid}/fd/0`).startsWith(join(folder, "stdin."));
  } catch {
    return false; // gone meanwhile
  }
}

export class Siege {
  readonly #options: SiegeOptions;
  readonly #answered = new Set<string>();
  readonly #resumed = new Map<string, number>();
  readonly #open: Promise<unknown>[] = [];
  readonly report: SiegeReport;
  #count = 0;

  constructor(options: SiegeOptions) {
    this.#options = options;
    const messages = new Map(options.threadIds.map((threadId) => [threadId, [] as string[]]));
    this.report = { messages, kills: {}, confirmed: new Map(), goOns: 0, twins: [] };
  }

  async run(): Promise<SiegeReport> {
    const { sidecar, threadIds, victims, kills, random, lastWords } = this.#options;
    for (const threadId of threadIds) await openAgent(sidecar, threadId, script("first", { text: "begun" }));
    const watch = setInterval(() => this.#lookForTwins(), LOOK_MS);
    try {
      for (let kill = 0, hits = 0; hits < kills && kill < kills * MAX_MISSES; kill++) {
        for (const threadId of threadIds) {
          for (let n = Math.floor(random() * 3); n > 0; n--) this.#open.push(this.#send(threadId));
        }
        if (random() < 0.2) this.#open.push(this.#interrupt(threadIds[kill % threadIds.length] ?? ""));
        await this.#tendFor(150 + random() * 1_200);
        const victim = victims[Math.floor(random() * victims.length)] ?? "both";
        if (await this.#kill(victim, this.#findVictim())) hits++;
      }
      await this.#untilDone();
      if (lastWords) {
        for (const threadId of threadIds)
          await sidecar.client.sendInput(threadId, { text: lastWords(threadId) });
        await this.#untilDone();
      }
    } finally {
      clearInterval(watch);
    }
    return this.report;
  }

  async #untilDone(): Promise<void> {
    const timeoutMs = 90_000 + 5 * (this.#options.openMs ?? 0);
    await Promise.all(this.#open);
    const look = () => this.#isDone();
    await untilValue("everything to be done", look, Boolean, { timeoutMs, intervalMs: 100 });
  }

  /** A thread by chance; with slow engines mostly one whose engine has said something, if there is one. */
  #findVictim(): string {
    const { sidecar, threadIds, random, openMs = 0 } = this.#options;
    const open = threadIds.filter((threadId) => openMs > 0 && hasSpoken(folderOf(sidecar, threadId)));
    const among = open.length > 0 && random() < 0.7 ? open : threadIds;
    return among[Math.floor(random() * among.length)] ?? "";
  }

  /** Sends a message until it is taken, at times once more: it counts once. */
  async #send(threadId: string): Promise<void> {
    const { sidecar, random } = this.#options;
    const name = `M${++this.#count}M`;
    this.report.messages.get(threadId)?.push(name);
    const effect = `echo ${name} >> effects; timeout 0.3 tail -f /dev/null; true`;
    const rounds =
      random() < 0.4
        ? [{ text: `said ${name}`, delayMs: 200 }]
        : [
            { text: `doing ${name}`, tools: [{ name: "Bash", input: { command: effect } }], delayMs: 100 },
            { text: `did ${name}` },
          ];
    const input = { text: script(`please ${name}.`, ...rounds), inputId: name };
    const sends = random() < 0.3 ? 2 : 1;
    for (let n = 0; n < sends; n++) await this.#insist(() => sidecar.client.sendInput(threadId, input));
  }

  #interrupt(threadId: string): Promise<unknown> {
    const { client } = this.#options.sidecar;
    return this.#insist(() => client.controlAgent(threadId, { control: "interrupt" }));
  }

  /** As a relay does: what was not answered is asked for again. */
  async #insist(work: () => Promise<unknown>): Promise<void> {
    const deadline = Date.now() + SEND_TIMEOUT_MS;
    for (;;) {
      try {
        await work();
        return;
      } catch (error) {
        const isLate = Date.now() > deadline;
        const isAway = !(error instanceof AppError) || ["unavailable", "rate_limited"].includes(error.code);
        if (isLate || !isAway) throw error;
        await sleep(50);
      }
    }
  }

  async #tendFor(ms: number): Promise<void> {
    const until = Date.now() + ms;
    while (Date.now() < until) {
      await this.#tend();
      await sleep(30);
    }
  }

  /** Answers asks as two people at once who do not agree, and goes on with what has failed. */
  async #tend(): Promise<void> {
    const { sidecar, threadIds, random } = this.#options;
    try {
      for (const ask of await sidecar.client.listAsks()) {
        const first = random() < 0.75 ? "once" : "no";
        const second = first === "once" ? "no" : "once";
        const answers = random() < 0.3 ? [first, second] : [first];
        this.#open.push(...answers.map((option) => this.#answer(ask.threadId, ask.requestId, option)));
      }
      for (const threadId of threadIds) {
        const { status } = await sidecar.client.getThread(threadId);
        if (status !== "failed" || Date.now() - (this.#resumed.get(threadId) ?? 0) < 1_000) continue;
        this.#resumed.set(threadId, Date.now());
        this.report.goOns++;
        await sidecar.client.controlAgent(threadId, { control: "resume" });
      }
    } catch (error) {
      if (error instanceof AppError && error.code !== "unavailable") throw error; // it is being started again
    }
  }

  async #answer(threadId: string, requestId: string, optionId: string): Promise<void> {
    const key = `${requestId} ${optionId}`;
    if (this.#answered.has(key)) return;
    this.#answered.add(key);
    const { client } = this.#options.sidecar;
    try {
      await client.answerAsk(threadId, requestId, { optionId });
      this.report.confirmed.set(requestId, [...(this.report.confirmed.get(requestId) ?? []), optionId]);
    } catch (error) {
      const isOver = error instanceof AppError && ["already_answered", "ask_ended"].includes(error.code);
      if (!isOver) this.#answered.delete(key); // it is asked for again if it is still open
    }
  }

  /** @returns whether the victim lived. */
  async #kill(victim: Victim, threadId: string): Promise<boolean> {
    const { sidecar } = this.#options;
    const folder = folderOf(sidecar, threadId);
    let hasHit = true;
    if (victim === "sidecar") {
      await sidecar.kill9();
      await sidecar.start();
    } else if (victim === "disk") {
      await this.#fillDisk();
    } else if (victim === "tmux") {
      signal(sidecar.folders.tmuxPid(), "SIGKILL");
    } else {
      const runners = victim === "engine" ? [] : runnersOf(folder);
      const engine = victim === "runner" ? undefined : engineOf(folder);
      const pids = [...runners, ...(engine === undefined ? [] : [engine])];
      for (const pid of pids) signal(pid, "SIGKILL");
      hasHit = pids.length > 0;
    }
    if (hasHit) this.report.kills[victim] = (this.report.kills[victim] ?? 0) + 1;
    return hasHit;
  }

  /** Nothing fits any more, or just what little is being written: below the bound at which agents end. */
  async #fillDisk(): Promise<void> {
    const { disk, random } = this.#options;
    disk?.fill(random() < 0.5 ? 0 : LITTLE_BYTES);
    await this.#tendFor(300 + random() * 1_500);
    disk?.empty();
  }

  async #isDone(): Promise<boolean> {
    await this.#tend();
    const { sidecar, threadIds } = this.#options;
    for (const threadId of threadIds) {
      const { status, waiting } = await sidecar.client.getThread(threadId);
      if (status !== "idle" || waiting > 0) return false;
    }
    return true;
  }

  #lookForTwins(): void {
    const { sidecar, threadIds } = this.#options;
    const processes = listProcesses();
    for (const threadId of threadIds) {
      const runners = runnersOf(folderOf(sidecar, threadId), processes);
      if (runners.length > 1) this.report.twins.push(`${threadId}: ${runners.join(" and ")}`);
    }
  }
}

/** Everything that the stand-in has saved of conversations in a directory: what its model is given. */
export function contextOf(home: string, dir: string): string {
  const folder = join(home, ".claude/projects", dir.replace(/[^a-zA-Z0-9]/g, "-"));
  if (!existsSync(folder)) return "";
  return readdirSync(folder)
    .map((name) => readFileSync(join(folder, name), "utf8"))
    .join("");
}

export function countIn(text: string, part: string): number {
  return text.split(part).length - 1;
}

export function inboxSize(folder: string): number {
  return statSync(threadPath(folder, "inbox"), { throwIfNoEntry: false })?.size ?? 0;
}
