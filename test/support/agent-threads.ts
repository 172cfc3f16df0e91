/** Agent threads without a sidecar: a thread's folder, its inbox, its transcript, and runners as processes. */
import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { afterEach } from "vitest";
import type { Round } from "../../agent/engines/demo/script.ts";
import { boundLine } from "../../shared/agent/bound.ts";
import type { EventOf, EventType, ThreadEvent } from "../../shared/agent/events.ts";
import { parseEvent } from "../../shared/agent/events.ts";
import { foldEvents } from "../../shared/agent/fold.ts";
import type { ThreadFold } from "../../shared/agent/fold-types.ts";
import { BYPASS_ALLOWED, ENGINE_FOLDER_MARKER, STATE_FOLDER } from "../../shared/agent/markers.ts";
import { blobPath, threadPath } from "../../shared/agent/paths.ts";
import { makeFolder } from "./folders.ts";
import { findProcessesOf, signal } from "./processes.ts";
import { programFile } from "./programs.ts";
import { type UntilOptions, until } from "./wait.ts";

export interface AgentProgram {
  program: string;
  args: string[];
  env: Record<string, string>;
}

/** The scripted stand-in. */
export const DEMO: AgentProgram = {
  program: process.execPath,
  args: [programFile("agent/engines/demo")],
  env: {},
};

/** What the scripted model says, carried by a message. */
export const says = (text: string, ...rounds: Round[]): string =>
  rounds.length === 0 ? text : `${text} @@${JSON.stringify(rounds)}`;

export const bash = (command: string, fields: object = {}) => ({
  name: "Bash",
  input: { command, description: "d", ...fields },
});

export interface ThreadOptions {
  agent?: object;
  timeouts?: object;
  program?: AgentProgram;
  env?: Record<string, string>;
  /** What people call it. */
  number?: number;
  /** A directory that several threads work in; not set: one of its own. */
  dir?: string;
  /** The runner is told of a state folder, beside the thread's. */
  stateDir?: boolean;
}

export class AgentThread {
  readonly id = randomUUID().slice(0, 8);
  readonly folder: string;
  readonly dir: string;
  readonly home: string;
  readonly #remove: () => void;
  readonly #env: Record<string, string>;
  readonly runners: ChildProcess[] = [];
  pane = "";

  constructor({
    agent = {},
    timeouts = {},
    program = DEMO,
    env = {},
    number,
    dir,
    stateDir,
  }: ThreadOptions = {}) {
    const root = makeFolder();
    this.#remove = root.remove;
    this.folder = join(root.path, "thread");
    this.dir = dir ?? join(root.path, "work");
    this.home = join(root.path, "home");
    for (const path of [this.folder, this.dir, this.home]) mkdirSync(path, { recursive: true });
    const config = {
      v: 1,
      threadId: this.id,
      ...(number !== undefined && { number }),
      createdBy: "discord:7",
      createdAt: new Date().toISOString(),
      dir: this.dir,
      agent,
      launch: { program: program.program, args: program.args },
      timeouts,
    };
    writeFileSync(threadPath(this.folder, "config"), JSON.stringify(config));
    this.#env = {
      PATH: process.env["PATH"] ?? "",
      LANG: "C.UTF-8",
      HOME: this.home,
      THREADMUX_TEST: process.env["THREADMUX_TEST"] ?? "",
      THREADMUX_RUNNER: this.id,
      // Whoever chooses the mode that asks for nothing means it.
      [BYPASS_ALLOWED]: "1",
      ...(stateDir && { [STATE_FOLDER]: join(root.path, "state") }),
      ...program.env,
      ...env,
    };
  }

  /** Starts a runner, as the sidecar does when there is something to do. */
  start(): ChildProcess {
    const child = spawn(process.execPath, [programFile("agent"), this.folder], {
      env: this.#env,
      stdio: ["ignore", "pipe", "pipe"],
    });
    child.stdout.on("data", (chunk: Buffer) => (this.pane += chunk.toString()));
    child.stderr.on("data", (chunk: Buffer) => (this.pane += chunk.toString()));
    this.runners.push(child);
    return child;
  }

  get runner(): ChildProcess | undefined {
    return this.runners.findLast(isRunning);
  }

  /** Waits until the newest runner has ended by itself. @returns its exit code */
  async ended(): Promise<number | null> {
    await until("the runner to end", () => !this.runner);
    return this.runners.at(-1)?.exitCode ?? null;
  }

  append(line: object): void {
    const whole = { ts: new Date().toISOString(), ...line };
    appendFileSync(threadPath(this.folder, "inbox"), `${JSON.stringify(whole)}\n`);
  }

  /** @returns the message's id */
  write(text: string, fields: object = {}): string {
    const messageId = randomUUID();
    this.append({
      op: "message",
      messageId,
      source: "discord:7",
      content: [{ type: "text", text }],
      ...fields,
    });
    return messageId;
  }

  /** A message of any length, with a picture if one is given, as the sidecar would put it into the inbox. */
  writeWhole(text: string, picture?: { name: string; bytes: Buffer }): string {
    const messageId = randomUUID();
    const content: object[] = [{ type: "text", text }];
    if (picture) {
      mkdirSync(join(this.folder, "attachments"), { recursive: true });
      writeFileSync(join(this.folder, "attachments", picture.name), picture.bytes);
      content.push({ type: "image", mimeType: "image/png", uri: `attachments/${picture.name}` });
    }
    const line = { op: "message", messageId, source: "discord:7", content };
    const { value, blobs } = boundLine(line, Number.POSITIVE_INFINITY);
    for (const { sha256, body } of blobs) {
      const path = blobPath(this.folder, sha256);
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, body);
    }
    this.append(value);
    return messageId;
  }

  answer(requestId: string, optionId: string, message?: string): void {
    this.append({ op: "permission", requestId, optionId, by: "discord:7", ...(message && { message }) });
  }

  control(control: string, fields: object = {}): void {
    this.append({ op: control, by: "discord:7", ...fields });
  }

  events(): ThreadEvent[] {
    const path = threadPath(this.folder, "transcript");
    if (!existsSync(path)) return [];
    const text = readFileSync(path, "utf8");
    return text
      .slice(0, text.lastIndexOf("\n") + 1)
      .split("\n")
      .flatMap((line) => (line === "" ? [] : (parseEvent(line) ?? [])));
  }

  of<T extends EventType>(type: T): EventOf<T>[] {
    return this.events().filter((event) => event.type === type) as EventOf<T>[];
  }

  fold(): ThreadFold {
    return foldEvents(this.events());
  }

  /** Waits for the `count`th event of this type. */
  async event<T extends EventType>(type: T, count = 1, options?: UntilOptions): Promise<EventOf<T>> {
    const found = await until(`${type} ${count} in ${this.folder}`, () => this.of(type)[count - 1], options);
    return found as EventOf<T>;
  }

  /**
   * As {@link event}, while runners are started as the sidecar does: one that rests ends by itself, perhaps just before
   * it would have read what was written last.
   */
  async eventOfRunners<T extends EventType>(type: T, count = 1): Promise<EventOf<T>> {
    const found = await until(`${type} ${count} in ${this.folder}`, () => {
      if (!this.runner) this.start();
      return this.of(type)[count - 1];
    });
    return found as EventOf<T>;
  }

  /** Processes of the engine, and what it started. */
  engineProcesses(): { pid: number; command: string }[] {
    const marker = `${ENGINE_FOLDER_MARKER}=${this.folder}`;
    return findProcessesOf(marker).filter(({ environment }) => environment.includes(marker));
  }

  /** The engine itself: what reads from the FIFO. */
  enginePid(): number | undefined {
    return this.engineProcesses().find(({ pid }) => readsFifo(pid, this.folder))?.pid;
  }

  /** What the engine has saved of its conversations. */
  saved(): string {
    return this.#conversations()
      .map((path) => readFileSync(path, "utf8"))
      .join("");
  }

  /** Takes the lines off that the engine saved from the first one with `text` on. */
  forget(text: string): void {
    for (const path of this.#conversations()) {
      const lines = readFileSync(path, "utf8").split("\n");
      const at = lines.findIndex((line) => line.includes(text));
      if (at >= 0) writeFileSync(path, [...lines.slice(0, at), ""].join("\n"));
    }
  }

  #conversations(): string[] {
    const projects = join(this.home, ".claude", "projects");
    if (!existsSync(projects)) return [];
    const names = readdirSync(projects, { recursive: true, encoding: "utf8" });
    return names.filter((name) => name.endsWith(".jsonl")).map((name) => join(projects, name));
  }

  killRunner(): void {
    if (this.runner?.pid) signal(this.runner.pid, "SIGKILL");
  }

  async runnerDied(): Promise<void> {
    await until("the runner to be dead", () => !this.runner);
  }

  /** Ends everything; always to be called. */
  async close(): Promise<void> {
    this.killRunner();
    await this.runnerDied();
    for (const { pid } of this.engineProcesses()) signal(pid, "SIGKILL");
    await until("the engine to be gone", () => this.engineProcesses().length === 0);
    this.#remove();
  }
}

function isRunning(child: ChildProcess): boolean {
  return child.exitCode === null && child.signalCode === null;
}

function readsFifo(pid: number, folder: string): boolean {
  try {
    return readlinkSync(`/proc/${pid}/fd/0`).startsWith(join(folder, "stdin."));
  } catch {
    return false; // gone meanwhile
  }
}

/** Opens threads that are closed when their test ends. */
export function openThreads(): (options?: ThreadOptions) => AgentThread {
  const threads: AgentThread[] = [];
  afterEach(async () => {
    for (const thread of threads.splice(0)) await thread.close();
  });
  return (options = {}) => {
    const thread = new AgentThread(options);
    threads.push(thread);
    return thread;
  };
}
