/** A sidecar whose threads have one engine, and what the tests of the surface do with it. */
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Round } from "../../agent/engines/demo/script.ts";
import type { EventOf, EventType } from "../../shared/agent/events.ts";
import { ENGINE_FOLDER_MARKER } from "../../shared/agent/markers.ts";
import type { CreateRequest, Thread } from "../../shared/api.ts";
import type { SidecarClient } from "../../shared/client.ts";
import type { VmConfig } from "../../vm/config.ts";
import { script, transcriptOf, untilStatus, wordsOf } from "./agents.ts";
import type { EngineUnderTest } from "./engine-under-test.ts";
import { listProcesses, signal } from "./processes.ts";
import { makeSidecarFolders, startSidecar, type TestSidecar } from "./sidecar.ts";
import { until, untilValue } from "./wait.ts";

type AskReply = Awaited<ReturnType<SidecarClient["listAsks"]>>[number];

export interface OpenOptions {
  agent?: CreateRequest["agent"];
  /** Not set: a directory of the thread's own. */
  dir?: string;
}

export class EngineWorld {
  readonly engine: EngineUnderTest;
  readonly sidecar: TestSidecar;

  private constructor(engine: EngineUnderTest, sidecar: TestSidecar) {
    this.engine = engine;
    this.sidecar = sidecar;
  }

  static async start(engine: EngineUnderTest, more: Partial<VmConfig> = {}): Promise<EngineWorld> {
    const folders = makeSidecarFolders();
    const settings = { ...engine.settings(folders), ...more };
    return new EngineWorld(engine, await startSidecar(settings, { folders }));
  }

  dirOf(threadId: string): string {
    return join(this.sidecar.reposDir, threadId);
  }

  file(threadId: string, name: string): string {
    return join(this.dirOf(threadId), name);
  }

  /** A file's text; an empty one if there is no such file. */
  read(threadId: string, name: string): string {
    const path = this.file(threadId, name);
    return existsSync(path) ? readFileSync(path, "utf8") : "";
  }

  has(threadId: string, name: string): boolean {
    return existsSync(this.file(threadId, name));
  }

  /** The thread's directory becomes a work tree with one commit. */
  makeRepository(threadId: string, files: Record<string, string>): void {
    const dir = this.dirOf(threadId);
    mkdirSync(dir, { recursive: true });
    const git = (...args: string[]) =>
      execFileSync("git", ["-c", "user.name=t", "-c", "user.email=t@t", ...args], { cwd: dir });
    git("init", "-q");
    for (const [name, text] of Object.entries(files)) writeFileSync(join(dir, name), text);
    git("add", "-A");
    git("commit", "-qm", "first");
  }

  async open(
    threadId: string,
    text: string,
    rounds: Round[],
    { agent, dir }: OpenOptions = {},
  ): Promise<void> {
    mkdirSync(this.dirOf(dir ?? threadId), { recursive: true });
    const request = {
      threadId,
      type: "agent",
      dir: dir ?? threadId,
      command: script(text, ...rounds),
    } as const;
    await this.sidecar.client.createThread({ ...request, ...(agent && { agent }) });
  }

  async say(threadId: string, text: string, ...rounds: Round[]): Promise<void> {
    await this.sidecar.client.sendInput(threadId, { text: script(text, ...rounds) });
  }

  /** Waits for the thread to have said so many things, and to be at rest. @returns all that it has said */
  async words(threadId: string, count: number): Promise<string[]> {
    const words = await untilValue(
      `${count} words of ${threadId}`,
      () => wordsOf(this.sidecar, threadId),
      ({ length }) => length >= count,
    );
    await this.status(threadId, "idle");
    return words;
  }

  status(threadId: string, status: Thread["status"]): Promise<Thread> {
    return untilStatus(this.sidecar, threadId, status);
  }

  async of<T extends EventType>(threadId: string, type: T): Promise<EventOf<T>[]> {
    const events = await transcriptOf(this.sidecar, threadId);
    return events.filter((event) => event.type === type) as EventOf<T>[];
  }

  /** Waits for the event number `count` of this type. */
  async event<T extends EventType>(threadId: string, type: T, count = 1): Promise<EventOf<T>> {
    const found = await until(
      `${type} ${count} of ${threadId}`,
      async () => (await this.of(threadId, type))[count - 1],
    );
    return found as EventOf<T>;
  }

  /** Waits for an ask, and gives the newest one. */
  ask(threadId: string, isWanted: (ask: AskReply) => boolean = () => true): Promise<AskReply> {
    return until(`an ask of ${threadId}`, async () =>
      (await this.sidecar.client.listAsks(threadId)).findLast(isWanted),
    ) as Promise<AskReply>;
  }

  allow(threadId: string, { requestId }: AskReply, optionId = "once"): Promise<void> {
    return this.sidecar.client.answerAsk(threadId, requestId, { optionId });
  }

  /** Kills the engine and all that it has started. */
  killEngine(threadId: string): void {
    const marker = `${ENGINE_FOLDER_MARKER}=${this.sidecar.stateDir}/threads/${threadId}`;
    for (const { pid, environment } of listProcesses())
      if (environment.includes(marker)) signal(pid, "SIGKILL");
  }

  async close(): Promise<void> {
    await this.sidecar.close();
  }
}
