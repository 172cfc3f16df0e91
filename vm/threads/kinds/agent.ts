/** An agent: one run of its program a message, all of them one conversation; keys go to the run that is under way. */
import { randomUUID } from "node:crypto";
import { MAX_COMMAND_BYTES, type Thread, type ThreadStatus } from "../../../shared/api.ts";
import { AppError } from "../../../shared/errors.ts";
import type { Log } from "../../../shared/log.ts";
import type { Store } from "../../store/store.ts";
import type { StoredThread } from "../../store/threads.ts";
import type { Turn } from "../../store/turns.ts";
import type { Pane } from "../../tmux/server.ts";
import { type Ending, type RunEnd, threadEnded, whyOver } from "../ending.ts";
import type { Program, Programs } from "../programs.ts";
import type { ThreadFiles } from "../thread-files.ts";
import type { Typing } from "../typing.ts";
import { type AgentConfig, findProgram, turnArgv } from "./agent-program.ts";
import { AgentTurns } from "./agent-turns.ts";
import type { Input, Kind, ThreadToStore } from "./kind.ts";

export interface AgentKindOptions {
  store: Store;
  files: ThreadFiles;
  programs: Programs;
  typing: Typing;
  agent: AgentConfig;
  /** The environment of the threads' programs; the agent's program is looked up on its PATH. */
  threadEnv: Record<string, string>;
  log: Log;
  now: () => number;
}

export class AgentKind implements Kind {
  readonly #options: AgentKindOptions;
  readonly #turns: AgentTurns;

  constructor(options: AgentKindOptions) {
    this.#options = options;
    this.#turns = new AgentTurns(options);
  }

  /** @throws AppError `unavailable` if the agent's program is not on the machine. */
  checkCreation(): void {
    if (this.#findProgram() !== undefined) return;
    const program = JSON.stringify(this.#options.agent.program);
    throw new AppError(
      "unavailable",
      `The agent program ${program} is not installed on the VM. Install it, or set AGENT_PROGRAM to one that is.`,
    );
  }

  store(thread: ThreadToStore): void {
    this.#options.store.threads.insert({ ...thread, agentSession: randomUUID() });
    this.#turns.add(thread.threadId, thread.command);
  }

  async open(thread: StoredThread): Promise<void> {
    const { threadId } = thread;
    const turn = this.#turns.findWaiting(threadId);
    if (!turn) throw new Error(`thread ${threadId} has no message to start`);
    const program = this.#program(thread, turn);
    this.#turns.take(threadId, turn);
    const running = await this.#options.programs.open(thread, turn.seq, program);
    this.#turns.started(threadId, turn, { ...running, isMade: true });
  }

  async hasTaken({ threadId }: StoredThread, inputId: string): Promise<boolean> {
    return this.#options.store.inputs.find(threadId, inputId) === "sent";
  }

  async takeInput(thread: StoredThread, input: Input): Promise<void> {
    const { typing, log } = this.#options;
    const { threadId, status } = thread;
    if ("key" in input) {
      if (status !== "running" || this.findEnd(thread)) throw threadEnded(threadId, this.whyNoInput("idle"));
      await typing.pressKey(thread, input.key);
      return;
    }
    checkMessage(input.text);
    this.#turns.add(threadId, input.text, input.inputId);
    // The message is stored: from here on it will go in, now or when tmux is back.
    await this.#startWaiting(thread).catch((error: unknown) =>
      log.warn({ threadId, err: error }, "a message waits for tmux"),
    );
  }

  whyNoInput(status: ThreadStatus): string {
    return status === "idle" ? "no turn of its agent runs; keys go to a running turn" : whyOver(status);
  }

  findEnd({ threadId }: StoredThread): RunEnd | undefined {
    const turn = this.#turns.findRunning(threadId);
    return turn && this.#options.files.findRunEnd(threadId, turn.seq);
  }

  /** It did start if the pane has another process than before, or its wrapper has left an end. */
  async settleStart(thread: StoredThread, pane: Pane): Promise<boolean> {
    const { store, files } = this.#options;
    const { threadId, status, panePid } = thread;
    const turn = this.#turns.findStarting(threadId);
    if (!turn || status !== "running") return false;
    if (pane.pid !== panePid || files.findRunEnd(threadId, turn.seq)) {
      this.#turns.started(threadId, turn, { panePid: pane.pid, tty: pane.tty });
      return true;
    }
    this.#turns.putBack(threadId, turn);
    const now = store.threads.find(threadId);
    if (now) await this.#startWaiting(now);
    return true;
  }

  async takeEnd({ threadId }: StoredThread, ending: Ending): Promise<void> {
    this.#turns.end(threadId, ending);
    const now = this.#options.store.threads.find(threadId);
    if (now) await this.#startWaiting(now);
  }

  isOutOfStep({ threadId, status }: StoredThread, hasSession: boolean): boolean {
    if (!hasSession) return true;
    return status === "idle"
      ? this.#turns.countWaiting(threadId) > 0
      : this.#turns.findStarting(threadId) !== undefined;
  }

  async reconcile(thread: StoredThread, pane: Pane | undefined): Promise<void> {
    const { store, programs, log, now } = this.#options;
    const { threadId } = thread;
    if (pane) {
      if (!(await this.settleStart(thread, pane))) await this.#startWaiting(thread);
      return;
    }
    const survivors = await programs.endOrphans(thread);
    log.warn({ threadId, survivors }, "a thread is lost: its session is gone");
    store.threads.update(threadId, { status: "lost", endedAt: now() });
  }

  describe({ threadId }: StoredThread): Pick<Thread, "waiting"> {
    return { waiting: this.#turns.countWaiting(threadId) };
  }

  forget(): void {
    // Nothing of an agent is kept in memory.
  }

  /** Starts an idle agent's next message, if one waits. If tmux does not answer, {@link settleStart} goes on. */
  async #startWaiting(thread: StoredThread): Promise<void> {
    const { threadId, status } = thread;
    const turn = status === "idle" ? this.#turns.findWaiting(threadId) : undefined;
    if (!turn) return;
    const program = this.#program(thread, turn); // on a full disk this fails, and the message waits on
    this.#turns.take(threadId, turn);
    const running = await this.#options.programs.openNext(thread, turn.seq, program);
    this.#turns.started(threadId, turn, running);
  }

  #program({ threadId, agentSession }: StoredThread, turn: Turn): Program {
    if (agentSession === null) throw new Error(`thread ${threadId} is no agent`);
    const { agent, files } = this.#options;
    const argv = turnArgv(agent, {
      file: this.#findProgram() ?? agent.program,
      session: agentSession,
      isFirst: !this.#turns.hasConversation(threadId),
    });
    return { argv, input: files.writeProgram(threadId, turn.text) };
  }

  #findProgram(): string | undefined {
    const { agent, threadEnv } = this.#options;
    return findProgram(agent.program, threadEnv["PATH"] ?? "");
  }
}

function checkMessage(text: string): void {
  if (text.trim() === "") throw new AppError("invalid_request", "text: must not be empty for an agent.");
  if (text.includes("\0")) throw new AppError("invalid_request", "text: must not hold a NUL for an agent.");
  if (Buffer.byteLength(text) > MAX_COMMAND_BYTES) {
    const limit = MAX_COMMAND_BYTES.toLocaleString("en");
    throw new AppError("too_large", `text: an agent's message may have at most ${limit} bytes.`);
  }
}
