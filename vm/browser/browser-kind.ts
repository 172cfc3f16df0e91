/** A browser: a Chromium with one page, which people see as a picture and use by numbers. */

import { isOpen, type ThreadStatus } from "../../shared/api.ts";
import { hostOf, parseAddress, portOf } from "../../shared/browser/address.ts";
import { OpenedHosts } from "../../shared/browser/hosts.ts";
import { HostError, resolveHost } from "../../shared/browser/resolve.ts";
import { browserShownSchema } from "../../shared/browser/state.ts";
import { AppError } from "../../shared/errors.ts";
import type { ThreadId } from "../../shared/ids.ts";
import type { Log } from "../../shared/log.ts";
import type { Store } from "../store/store.ts";
import type { NewThread, StoredThread } from "../store/threads.ts";
import { type Ending, endingOf, type RunEnd, threadEnded, whyOver } from "../threads/ending.ts";
import {
  type CreateRequest,
  type Input,
  type Kind,
  type KindDescription,
  NO_AGENT,
} from "../threads/kinds/kind.ts";
import type { Program, Programs } from "../threads/programs.ts";
import type { ThreadFiles } from "../threads/thread-files.ts";
import type { Pane } from "../tmux/pane.ts";
import { findOpener } from "./agents-own.ts";
import { findChromium, whyNoChromium } from "./find-chromium.ts";
import type { BrowserFolders } from "./folders.ts";
import { opOfKey, opOfText } from "./input-ops.ts";
import { callOnce } from "./once.ts";
import type { BrowserSettings } from "./settings.ts";

/** For a thread without a budget. */
const USUAL_MEMORY_BYTES = 1024 ** 3;
/** The browser ends a page before the kernel ends any process of it. */
const BUDGET_SHARE = 0.85;
/** A browser that was killed is started anew, so often within so long. */
const MAX_STARTS = 5;
const STARTS_MS = 10 * 60_000;
/** What a message causes is seen in the picture; its sender hears soon whether it went in. */
const INPUT_WAIT_MS = 2_000;

export interface BrowserKindOptions {
  store: Store;
  files: ThreadFiles;
  folders: BrowserFolders;
  programs: Programs;
  /** The program that runs Chromium, with its arguments. */
  browser: readonly string[];
  settings: BrowserSettings;
  /** The environment of the threads' programs. */
  threadEnv: Record<string, string>;
  /** As root Chromium has no sandbox of its own. */
  isRoot: boolean;
  log: Log;
  now: () => number;
}

export class BrowserKind implements Kind {
  readonly #options: BrowserKindOptions;
  readonly #opened: OpenedHosts;

  constructor(options: BrowserKindOptions) {
    this.#options = options;
    this.#opened = new OpenedHosts(options.settings.hosts);
  }

  /**
   * @throws AppError `invalid_request`, also if the address can't be reached from here, or may not be; `unsupported` if
   * there is no Chromium
   */
  async checkCreation({ agent, plain, initialMessages, command }: CreateRequest): Promise<void> {
    if (agent !== undefined) throw new AppError("invalid_request", "agent: is not for a browser.");
    if (plain !== undefined) throw new AppError("invalid_request", "plain: is not for a browser.");
    if (initialMessages !== undefined)
      throw new AppError("invalid_request", "initialMessages: a browser takes none, only an agent does.");
    const url = parseAddress(command);
    this.#getProgram();
    await this.checkHost(url);
  }

  checkRoom(): void {
    const { store, settings } = this.#options;
    const open = store.threads.countOpen("browser");
    if (open < settings.maxBrowsers) return;
    throw new AppError(
      "max_threads",
      `${open} of ${settings.maxBrowsers} browsers are open; end one before you start another.`,
    );
  }

  store(thread: NewThread): void {
    this.#options.store.threads.insert(thread);
  }

  /** @throws AppError `unavailable` */
  async open(thread: StoredThread): Promise<void> {
    const { store, folders, settings, isRoot } = this.#options;
    const { threadId, command } = thread;
    const url = parseAddress(command);
    const budget = store.budgets.find(threadId)?.budget.memory;
    folders.make(threadId, {
      url: url.href,
      program: this.#getProgram(),
      hosts: [...settings.hosts],
      isSandboxed: settings.isSandboxed && !isRoot,
      maxMemoryBytes: budget === undefined ? USUAL_MEMORY_BYTES : Math.floor(budget * BUDGET_SHARE),
    });
    const running = await this.#options.programs.open(
      thread,
      this.#takeRun(threadId),
      this.#program(threadId),
    );
    store.threads.update(threadId, { ...running, isMade: true });
  }

  /** @throws AppError `invalid_request` */
  async checkHost(url: URL): Promise<void> {
    try {
      await resolveHost(hostOf(url), portOf(url), this.#opened);
    } catch (error) {
      if (!(error instanceof HostError)) throw error;
      throw new AppError("invalid_request", `url: ${error.message}.`, { cause: error });
    }
  }

  async hasTaken({ threadId }: StoredThread, inputId: string): Promise<boolean> {
    return this.#options.store.inputs.find(threadId, inputId) === "sent";
  }

  /**
   * An input with an id is done once, also if sidecar or browser end in the middle; if nobody can tell whether it was
   * done, its sender hears that.
   */
  async takeInput(thread: StoredThread, input: Input): Promise<{ isHidden: boolean }> {
    const { threadId, status } = thread;
    if (status !== "running") throw threadEnded(threadId, this.whyNoInput(status));
    const op = "key" in input ? opOfKey(input.key) : opOfText(input.text, input.enter);
    if (op.do === "open") await this.checkHost(parseAddress(op.url));
    const inputId = "inputId" in input ? input.inputId : undefined;
    await callOnce(this.#options, threadId, { op, waitMs: INPUT_WAIT_MS }, inputId);
    return { isHidden: false };
  }

  async asksForPaste(): Promise<boolean> {
    return false;
  }

  whyNoInput(status: ThreadStatus): string {
    return whyOver(status);
  }

  findEnd({ threadId }: StoredThread): RunEnd | undefined {
    const { files, folders } = this.#options;
    return files.findRunEnd(threadId, folders.startsOf(threadId).run);
  }

  /** A browser that was killed is started anew at its address; one that says why it can't go on has ended. */
  async takeEnd(thread: StoredThread, ending: Ending): Promise<void> {
    const { store, programs, folders } = this.#options;
    const { threadId } = thread;
    await programs.endOrphans(thread);
    if (ending.signal !== null && this.#mayStart(threadId)) {
      const running = await programs.openNext(thread, this.#takeRun(threadId), this.#program(threadId));
      store.threads.update(threadId, running);
      return;
    }
    folders.removeProfile(threadId);
    store.threads.update(threadId, { status: "exited", ...ending });
  }

  isOutOfStep({ status }: StoredThread, hasSession: boolean): boolean {
    return !hasSession && status === "running";
  }

  /** Without its session the browser is started in a new one, at its address. */
  async reconcile(thread: StoredThread, pane: Pane | undefined): Promise<void> {
    const { store, programs, folders, log, now } = this.#options;
    const { threadId, status } = thread;
    if (pane || status !== "running") return;
    await programs.endOrphans(thread);
    if (folders.has(threadId) && this.#mayStart(threadId)) {
      log.warn({ threadId }, "a browser's session is gone; starting it anew");
      const running = await programs.open(thread, this.#takeRun(threadId), this.#program(threadId));
      store.threads.update(threadId, running);
      return;
    }
    folders.removeProfile(threadId);
    const end = this.findEnd(thread);
    if (end) store.threads.update(threadId, { status: "exited", ...endingOf(end, undefined, now()) });
    else store.threads.update(threadId, { status: "lost", endedAt: now() });
  }

  /** At the sidecar's start: removes what is left of threads that are gone, and the profiles of those that are over. */
  recover(): void {
    const { store, folders } = this.#options;
    for (const threadId of folders.list()) {
      const thread = store.threads.find(threadId);
      if (!thread) folders.remove(threadId);
      else if (!isOpen(thread.status)) folders.removeProfile(threadId);
    }
  }

  describe(thread: StoredThread): KindDescription {
    const state = this.#options.folders.findState(thread.threadId);
    const parentId = findOpener(thread);
    return {
      ...NO_AGENT,
      browser: state ? browserShownSchema.parse(state) : null,
      ...(parentId !== undefined && { parentId }),
    };
  }

  diskBytes(threadId: ThreadId): Promise<number> {
    return this.#options.folders.diskBytes(threadId);
  }

  async takeKill({ threadId }: StoredThread): Promise<void> {
    this.#options.folders.removeProfile(threadId);
  }

  remove(threadId: ThreadId): void {
    this.#options.folders.remove(threadId);
  }

  #program(threadId: ThreadId): Program {
    const { browser, folders } = this.#options;
    return { argv: [...browser, folders.of(threadId)], input: "" };
  }

  #mayStart(threadId: ThreadId): boolean {
    const { folders, now } = this.#options;
    return folders.startsOf(threadId).at.filter((at) => now() - at < STARTS_MS).length < MAX_STARTS;
  }

  /** @returns the number of the run that is about to begin */
  #takeRun(threadId: ThreadId): number {
    const { folders, now } = this.#options;
    const { run, at } = folders.startsOf(threadId);
    folders.setStarts(threadId, { run: run + 1, at: [...at, now()].slice(-MAX_STARTS) });
    return run + 1;
  }

  /** Whether there is a Chromium. */
  get isThere(): boolean {
    return this.#findProgram() !== undefined;
  }

  #findProgram(): string | undefined {
    const { settings, threadEnv } = this.#options;
    return findChromium(settings.program, threadEnv["PATH"] ?? "");
  }

  /** @throws AppError `unsupported` */
  #getProgram(): string {
    const { settings } = this.#options;
    const program = this.#findProgram();
    if (program !== undefined) return program;
    const why = whyNoChromium(settings.program);
    throw new AppError(
      "unsupported",
      `No page can be opened: ${why}. Install it (apt-get install chromium), or name it by BROWSER_PROGRAM.`,
    );
  }
}
