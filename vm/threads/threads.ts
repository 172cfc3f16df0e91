/** Threads as they are: found, listed, described; their screen, their log as a file, the relay's mark. */
import { stripVTControlCharacters } from "node:util";
import { isOpen, type OutputReply, type ResizeRequest, type Thread } from "../../shared/api.ts";
import { AppError } from "../../shared/errors.ts";
import { viewSchema } from "../../shared/follow/spec.ts";
import type { ThreadId } from "../../shared/ids.ts";
import { kindIn } from "../../shared/kinds.ts";
import type { Delivery } from "../../shared/ledger-api.ts";
import type { KeyedQueue } from "../../shared/lifecycle.ts";
import { printPrincipal } from "../../shared/principal.ts";
import type { ScreenReply } from "../../shared/screen-api.ts";
import { findLinkRow, type TerminalLink } from "../../shared/terminal-link.ts";
import { cleanTitle, titleOf } from "../../shared/title.ts";
import type { Store } from "../store/store.ts";
import type { StoredThread } from "../store/threads.ts";
import { sizeOfLog, sizeOfReadableLog } from "../streams/log-file.ts";
import { ifRefused } from "../tmux/control-client.ts";
import type { TmuxServer } from "../tmux/server.ts";
import type { Budgets } from "./budgets.ts";
import { threadEnded } from "./ending.ts";
import { HELD_MS, isLarge, refuseWhileHeld, smallSizeOf } from "./held-size.ts";
import type { SaidFace } from "./kinds/kind.ts";
import type { Kinds } from "./kinds/kinds.ts";
import { sessionName } from "./names.ts";
import type { ThreadFiles } from "./thread-files.ts";
import { whileItRuns } from "./tmux-replies.ts";
import type { UserSpace } from "./user-space.ts";

export interface ThreadsOptions {
  store: Store;
  tmux: TmuxServer;
  files: ThreadFiles;
  kinds: Kinds;
  budgets: Budgets;
  userSpace: UserSpace;
  /**
   * One queue a thread: creation, input, the end of a process, kill and reconciliation never overlap. The
   * database is written before tmux is asked if a crash in between must be noticed.
   */
  queue: KeyedQueue;
  now: () => number;
}

/** A log's file, from byte `start` (which is `firstOffset`) to `end`. */
export interface LogFile {
  file: string;
  start: number;
  end: number;
  firstOffset: number;
  /** Whether the file's bytes from `position` on are the ones that they were. */
  isStillThere: (position: number) => boolean;
}

export class Threads {
  readonly #options: ThreadsOptions;

  constructor(options: ThreadsOptions) {
    this.#options = options;
  }

  list(which: "open" | "ended" | "all"): Thread[] {
    const threads = this.#options.store.threads.list(which);
    return threads.filter((thread) => thread.isMade).map((thread) => this.#describe(thread));
  }

  /** @throws AppError `not_found` */
  get(threadId: ThreadId): Thread {
    return this.#describe(this.getStored(threadId));
  }

  /** What {@link get} says of these, without a look at the log, the deliveries and the Discord threads. @throws AppError `not_found` */
  statusOf(threadId: ThreadId): Pick<OutputReply, "status" | "processRunning" | "browser"> {
    const thread = this.getStored(threadId);
    const { status, processRunning, browser } = {
      ...ownStatus(thread),
      ...kindIn(this.#options.kinds, thread.type).describe(thread),
    };
    return { status, processRunning, ...(browser && { browser }) };
  }

  /** @throws AppError `not_found` */
  getStored(threadId: ThreadId): StoredThread {
    const thread = this.#options.store.threads.find(threadId);
    if (!thread) throw new AppError("not_found", `There is no thread ${JSON.stringify(threadId)}.`);
    return thread;
  }

  /** Undefined: nothing is said in it. @throws AppError `not_found` */
  saidFaceOf(threadId: ThreadId): SaidFace | undefined {
    return kindIn(this.#options.kinds, this.getStored(threadId).type).said;
  }

  /** Removes a thread that is over, or that never became one, with everything that is kept of it. */
  remove(threadId: ThreadId): void {
    const { store, files, userSpace } = this.#options;
    userSpace.leave(threadId, store.threads.find(threadId)?.path, store.threads.list("all"));
    for (const kind of Object.values(this.#options.kinds)) kind.remove(threadId);
    store.threads.delete(threadId);
    files.remove(threadId);
  }

  /**
   * What the terminal shows now.
   * @throws AppError `not_found`, `thread_ended` if its session is gone, `unavailable`
   */
  async getScreen(threadId: ThreadId, format: "text" | "ansi"): Promise<ScreenReply> {
    const { tmux, kinds } = this.#options;
    const thread = this.#getOpen(threadId);
    const { paneId, cols, rows } = thread;
    const screen = await whileItRuns(threadId, tmux.screens.capture(paneId, format));
    const asks = await kindIn(kinds, thread.type).asksForPaste(thread);
    const links = this.#linksOn(thread, screen.screen);
    return {
      ...screen,
      cols,
      rows,
      ...(asks && { bracketedPaste: true }),
      ...(links.length > 0 && { links }),
    };
  }

  #linksOn({ threadId }: StoredThread, screen: string): TerminalLink[] {
    const rows = stripVTControlCharacters(screen)
      .split("\n")
      .map((row) => row.trimEnd());
    return this.#options.files.findLinks(threadId).filter((link) => findLinkRow(rows, link) >= 0);
  }

  /** @throws AppError `not_found`, `thread_ended`, `rate_limited` while it is held small, `unavailable` */
  async resize(threadId: ThreadId, size: ResizeRequest): Promise<void> {
    const { queue, tmux, store, now } = this.#options;
    this.getStored(threadId);
    await queue.run(threadId, async () => {
      refuseWhileHeld(this.#getOpen(threadId), size, now());
      await whileItRuns(threadId, tmux.resize(sessionName(threadId), size));
      store.threads.update(threadId, size);
    });
  }

  /**
   * Makes a large terminal small, and lets it be large again only after a while. A thread that is no longer open, or
   * not large, stays as it is.
   * @throws AppError `unavailable`
   */
  async holdSmall(threadId: ThreadId): Promise<void> {
    const { queue, tmux, store, now } = this.#options;
    await queue.run(threadId, async () => {
      const thread = store.threads.find(threadId);
      if (!thread || !isOpen(thread.status) || !isLarge(thread)) return;
      const size = smallSizeOf(thread);
      await tmux.resizePatiently(sessionName(threadId), size).catch(ifRefused); // it has just ended
      store.threads.update(threadId, { ...size, heldSmallUntil: now() + HELD_MS });
    });
  }

  /** @throws AppError `not_found` */
  setTitle(threadId: ThreadId, title: string): void {
    this.getStored(threadId);
    this.#options.store.threads.update(threadId, { title: cleanTitle(title) });
  }

  /** @throws AppError `not_found` */
  setDelivery(threadId: ThreadId, mark: Delivery): void {
    this.getStored(threadId);
    this.#options.store.deliveries.set(threadId, mark);
  }

  /** @throws AppError `not_found` */
  getLog(threadId: ThreadId): LogFile {
    const { files, store } = this.#options;
    const { firstOffset, logBase } = this.getStored(threadId);
    const file = files.logs.path(threadId);
    const start = firstOffset - logBase;
    const isStillThere = (position: number) => {
      const now = store.threads.find(threadId);
      return now?.logBase === logBase && now.firstOffset - logBase <= position;
    };
    return { file, start, end: Math.max(start, sizeOfReadableLog(file).end), firstOffset, isStillThere };
  }

  #getOpen(threadId: ThreadId): StoredThread {
    const thread = this.getStored(threadId);
    const { type, status } = thread;
    if (!isOpen(status)) throw threadEnded(threadId, kindIn(this.#options.kinds, type).whyNoInput(status));
    return thread;
  }

  #describe(thread: StoredThread): Thread {
    const { files, kinds, store, budgets } = this.#options;
    const { threadId, type, dir, command, createdBy, exitCode, signal, cols, rows } = thread;
    const { end, diskBytes } = sizeOfLog(files.logs.path(threadId));
    const described = kindIn(kinds, type).describe(thread);
    const parentId = described.parentId ?? described.origin?.threadId;
    return {
      threadId,
      name: thread.name,
      type,
      ...(thread.facts && { facts: thread.facts }),
      dir,
      command,
      title: thread.title === "" ? titleOf(dir, command) : thread.title,
      ...ownStatus(thread),
      createdBy: printPrincipal(createdBy),
      createdAt: new Date(thread.createdAt).toISOString(),
      endedAt: thread.endedAt === null ? null : new Date(thread.endedAt).toISOString(),
      exitCode,
      signal,
      offset: thread.logBase + end,
      logBytes: diskBytes,
      cols,
      rows,
      budget: isOpen(thread.status) ? budgets.useOf(thread) : null,
      follows: thread.follows && { service: thread.follows.service, ...viewSchema.parse(thread.follows) },
      heldSmallUntil: thread.heldSmallUntil === null ? null : new Date(thread.heldSmallUntil).toISOString(),
      ...described,
      delivery: store.deliveries.find(threadId) ?? null,
      home: store.homes.find(threadId) ?? null,
      parentId: parentId ?? null,
    };
  }
}

/** The status of a thread whose kind says nothing else. */
function ownStatus({ status }: StoredThread): Pick<Thread, "status" | "processRunning"> {
  return { status, processRunning: status === "running" };
}
