/** A terminal: one shell command line, which runs once; what is sent is typed. */
import type { ThreadStatus } from "../../../shared/api.ts";
import { AppError } from "../../../shared/errors.ts";
import type { ThreadId } from "../../../shared/ids.ts";
import { Slots } from "../../../shared/lifecycle.ts";
import type { Log } from "../../../shared/log.ts";
import type { Store } from "../../store/store.ts";
import type { NewThread, StoredThread } from "../../store/threads.ts";
import type { Pane } from "../../tmux/pane.ts";
import { type Ending, endingOf, type RunEnd, threadEnded, whyOver } from "../ending.ts";
import type { Programs } from "../programs.ts";
import type { ThreadFiles } from "../thread-files.ts";
import type { Typing } from "../typing.ts";
import { type CreateRequest, type Input, type Kind, type KindDescription, NO_AGENT } from "./kind.ts";
import { shellArgv } from "./shell-command.ts";

export interface TerminalKindOptions {
  store: Store;
  files: ThreadFiles;
  programs: Programs;
  typing: Typing;
  maxThreads: number;
  /** The program that follows logs, with its arguments. */
  follower: readonly string[];
  /** How much of a log a pause may hold on the disk. */
  maxHeldBytes: number;
  /** The environment of the threads' programs; its SHELL runs the command. */
  threadEnv: Record<string, string>;
  log: Log;
  now: () => number;
}

const ONLY_RUN = 1;
/** tmux makes one session after the other: whoever came last of thirty would wait longer than it waits for tmux. */
const MAX_OPENING = 4;

export class TerminalKind implements Kind {
  readonly #options: TerminalKindOptions;
  readonly #openings = new Slots(MAX_OPENING);

  constructor(options: TerminalKindOptions) {
    this.#options = options;
  }

  /**
   * Any command line can be tried: the shell says what is wrong with it.
   * @throws AppError `invalid_request`
   */
  checkCreation({ agent, plain, initialMessages }: CreateRequest): void {
    if (agent !== undefined) throw new AppError("invalid_request", "agent: is not for a terminal.");
    if (plain !== undefined) throw new AppError("invalid_request", "plain: is not for a terminal.");
    if (initialMessages !== undefined)
      throw new AppError("invalid_request", "initialMessages: a terminal takes none, only an agent does.");
  }

  checkRoom(): void {
    const { store, maxThreads } = this.#options;
    const open = store.threads.countOpen("terminal");
    if (open < maxThreads) return;
    throw new AppError(
      "max_threads",
      `${open} of ${maxThreads} terminals are open; end one before you start another.`,
    );
  }

  store(thread: NewThread): void {
    this.#options.store.threads.insert(thread);
  }

  async open(thread: StoredThread): Promise<void> {
    const { store, programs, files } = this.#options;
    const { threadId } = thread;
    const argv = this.#argvOf(thread);
    files.writeWaiting(threadId);
    const running = await this.#openings.run(() => programs.open(thread, ONLY_RUN, { argv, input: "" }));
    store.threads.update(threadId, { ...running, isMade: true });
  }

  #argvOf({ threadId, command, follows }: StoredThread): string[] {
    const { files, threadEnv, follower, maxHeldBytes } = this.#options;
    if (follows) return [...follower, files.writeFollow(threadId, follows, maxHeldBytes)];
    return shellArgv(threadEnv["SHELL"] ?? "/bin/sh", files.writeProgram(threadId, command));
  }

  hasTaken(thread: StoredThread, inputId: string): Promise<boolean> {
    return this.#options.typing.hasTyped(thread, inputId);
  }

  async takeInput(thread: StoredThread, input: Input): Promise<{ isHidden: boolean }> {
    const { typing } = this.#options;
    const { threadId, status } = thread;
    if (status !== "running") throw threadEnded(threadId, this.whyNoInput(status));
    if (this.findEnd(thread)) throw threadEnded(threadId, this.whyNoInput("exited")); // about to be noticed
    if (thread.follows && !("key" in input)) throw takesNoText();
    if (!("key" in input)) return typing.type(thread, input);
    await typing.pressKey(thread, input.key);
    return { isHidden: false };
  }

  asksForPaste(thread: StoredThread): Promise<boolean> {
    return this.#options.typing.asksForPaste(thread);
  }

  whyNoInput(status: ThreadStatus): string {
    return whyOver(status);
  }

  findEnd({ threadId }: StoredThread): RunEnd | undefined {
    return this.#options.files.findRunEnd(threadId, ONLY_RUN);
  }

  async takeEnd({ threadId }: StoredThread, ending: Ending): Promise<void> {
    this.#options.files.removeHeld(threadId);
    this.#options.store.threads.update(threadId, { status: "exited", ...ending });
  }

  isOutOfStep({ status }: StoredThread, hasSession: boolean): boolean {
    return !hasSession && status === "running";
  }

  /** Without its session the terminal is lost, unless its command had ended before. */
  async reconcile(thread: StoredThread, pane: Pane | undefined): Promise<void> {
    const { store, programs, log, now } = this.#options;
    const { threadId, status } = thread;
    if (pane || status !== "running") return;
    const survivors = await programs.endOrphans(thread);
    const end = this.findEnd(thread);
    const what = end ? "a thread's session is gone" : "a thread is lost: its session is gone";
    log.warn({ threadId, survivors }, what);
    if (end) store.threads.update(threadId, { status: "exited", ...endingOf(end, undefined, now()) });
    else store.threads.update(threadId, { status: "lost", endedAt: now() });
    this.remove(threadId);
  }

  describe(): KindDescription {
    return NO_AGENT;
  }

  /** The lines that a pause holds; the log is counted elsewhere. */
  async diskBytes(threadId: ThreadId): Promise<number> {
    return this.#options.files.heldBytes(threadId);
  }

  async takeKill({ threadId }: StoredThread): Promise<void> {
    this.remove(threadId);
  }

  remove(threadId: ThreadId): void {
    this.#options.typing.forget(threadId);
    this.#options.files.removeHeld(threadId);
  }
}

function takesNoText(): AppError {
  return new AppError(
    "unsupported",
    "This thread follows logs and takes no text: *Grep* shows only lines that hold one.",
  );
}
