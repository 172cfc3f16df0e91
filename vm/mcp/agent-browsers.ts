/** The browsers that agents open for themselves: at most one open one each, which ends when nobody uses it. */
import { createHash, randomBytes } from "node:crypto";
import { DEFAULT_COLS, DEFAULT_ROWS, isOpen } from "../../shared/api.ts";
import { parseAddress } from "../../shared/browser/address.ts";
import type { BrowserOp } from "../../shared/browser/ops.ts";
import { AppError } from "../../shared/errors.ts";
import type { ThreadId } from "../../shared/ids.ts";
import { KeyedQueue } from "../../shared/lifecycle.ts";
import type { Log } from "../../shared/log.ts";
import { job, type Principal, threadPrincipal } from "../../shared/principal.ts";
import { browserIdOf, findOpener } from "../browser/agents-own.ts";
import type { Browsers } from "../browser/browsers.ts";
import type { BrowserAnswer } from "../browser/door.ts";
import type { BrowserFolders } from "../browser/folders.ts";
import type { Store } from "../store/store.ts";
import type { LogWatch } from "../streams/log-watch.ts";
import type { Creation } from "../threads/creation.ts";
import type { Homes } from "../threads/homes.ts";

/** Chromium has so long for its first page, before the model is told to look later. */
const FIRST_PAGE_MS = 45_000;
/** One that nobody has used for so long is ended. */
const IDLE_MS = 30 * 60_000;
const SWEEP_MS = 60_000;
/** The end of a browser that nobody used, or whose agent is over. */
const SWEEPER = job("browsers");

export interface AgentBrowsersOptions {
  store: Pick<Store, "threads" | "budgets">;
  browsers: Browsers;
  browserFolders: BrowserFolders;
  creation: Creation;
  homes: Pick<Homes, "isWanted">;
  logWatch: LogWatch;
  kill: (threadId: ThreadId, by: Principal) => Promise<unknown>;
  log: Log;
  now: () => number;
}

/** One call of an agent's tool. */
export interface AgentCall {
  /** The agent's thread. */
  agentId: ThreadId;
  /** The engine's id of the call: the same is not done again. Undefined if it names none. */
  callId: string | undefined;
  signal: AbortSignal;
}

export class AgentBrowsers {
  readonly #options: AgentBrowsersOptions;
  readonly #opening = new KeyedQueue();
  #timer: NodeJS.Timeout | undefined;

  constructor(options: AgentBrowsersOptions) {
    this.#options = options;
  }

  /** Whether browsers can be opened on this machine. */
  get isThere(): boolean {
    return this.#options.browsers.isThere;
  }

  /** Ends browsers of agents that are over, now too: an earlier sidecar may have died before. And those that nobody uses. */
  start(): void {
    const sweep = () =>
      void this.#sweep().catch((error: unknown) => {
        this.#options.log.warn({ err: error }, "could not look for browsers that nobody uses; trying again");
      });
    sweep();
    this.#timer = setInterval(sweep, SWEEP_MS).unref();
  }

  close(): void {
    clearInterval(this.#timer);
  }

  /** The open browsers of these agents. */
  listOf(agentIds: readonly ThreadId[]): ThreadId[] {
    return this.#list().flatMap(({ threadId, openedBy }) => (agentIds.includes(openedBy) ? threadId : []));
  }

  /**
   * Opens an address in the agent's browser, which is started if there is none.
   * @throws AppError `invalid_request`, `unsupported`, `max_threads`, `unavailable`, as for people
   */
  open(call: AgentCall, url: string): Promise<BrowserAnswer> {
    const { agentId, callId } = call;
    return this.#opening.run(agentId, async () => {
      const { href } = parseAddress(url);
      const [known] = this.listOf([agentId]);
      if (known !== undefined) return this.act(call, { do: "open", url: href });
      const { store, homes, creation } = this.#options;
      const threadId = browserIdOf(agentId, callId ?? randomBytes(16).toString("hex"));
      await creation.create({
        ...{ threadId, type: "browser", dir: ".", command: href, createdBy: threadPrincipal(agentId) },
        ...{ cols: DEFAULT_COLS, rows: DEFAULT_ROWS },
        budget: store.budgets.find(agentId)?.budget,
        ...(homes.isWanted(agentId) && { home: "discord" as const }),
      });
      await this.#untilShown(threadId, call.signal);
      return this.act({ ...call, callId: undefined }, { do: "look" });
    });
  }

  /**
   * Does something in the agent's browser.
   * @param textFrom the answer has the page's text from this character on
   * @throws AppError `not_found` if it has none, and as for people
   */
  act({ agentId, callId }: AgentCall, op: BrowserOp, textFrom = 0): Promise<BrowserAnswer> {
    const inputId = callId === undefined ? undefined : `call-${hashOf(`${agentId} ${callId}`).slice(0, 32)}`;
    return this.#options.browsers.actAndRead(this.#get(agentId), op, { inputId, textFrom });
  }

  /** The newest picture, a PNG. @throws AppError `not_found` if it has none */
  getPicture(agentId: ThreadId): Promise<Buffer> {
    return this.#options.browsers.getPicture(this.#get(agentId));
  }

  /** @throws AppError `not_found` if it has none */
  async end(agentId: ThreadId): Promise<void> {
    await this.#options.kill(this.#get(agentId), threadPrincipal(agentId));
  }

  #get(agentId: ThreadId): ThreadId {
    const [threadId] = this.listOf([agentId]);
    if (threadId !== undefined) return threadId;
    throw new AppError("not_found", "You have no open browser; browser_open opens one.");
  }

  #list(): { threadId: ThreadId; openedBy: ThreadId }[] {
    const { store, browserFolders } = this.#options;
    return store.threads.list("open").flatMap((thread) => {
      const { threadId, isMade } = thread;
      const openedBy = findOpener(thread);
      const isOne = isMade && openedBy !== undefined && browserFolders.has(threadId);
      return isOne ? [{ threadId, openedBy }] : [];
    });
  }

  /** Until the first page is there, or has failed to come. */
  async #untilShown(threadId: ThreadId, signal: AbortSignal): Promise<void> {
    const { browserFolders, logWatch, now } = this.#options;
    const changes = logWatch.listen([threadId]);
    const until = now() + FIRST_PAGE_MS;
    try {
      for (;;) {
        const state = browserFolders.findState(threadId);
        if (state && (state.picture > 0 || state.status === "failed")) return;
        const restMs = until - now();
        if (restMs <= 0 || signal.aborted || logWatch.isClosed)
          throw new AppError("unavailable", "The browser is still starting; look at it with browser_look.");
        await changes.wait(restMs, signal);
      }
    } finally {
      changes.end();
    }
  }

  async #sweep(): Promise<void> {
    const { store, browserFolders, kill, now, log } = this.#options;
    for (const { threadId, openedBy } of this.#list()) {
      const isOver = !isOpen(store.threads.find(openedBy)?.status ?? "killed");
      const usedAt = browserFolders.changedAt(threadId);
      if (!isOver && (usedAt === undefined || now() - usedAt < IDLE_MS)) continue;
      log.info({ threadId, isOver }, "ending an agent's browser that nobody uses");
      await kill(threadId, SWEEPER).catch((error: unknown) => {
        log.warn({ threadId, err: error }, "could not end an agent's browser; trying again");
      });
    }
  }
}

function hashOf(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
