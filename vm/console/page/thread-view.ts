/** The thread that is being looked at: its title, its conversation, its terminal, and what its kind shows beside them. */
import { isOpen, type Thread } from "../../../shared/api.ts";
import { type AttachMode, describeState } from "../../../shared/attach.ts";
import { formatUse } from "../../../shared/budget.ts";
import { kindIn } from "../../../shared/kinds.ts";
import { ApiError, getThread } from "./api.ts";
import { type ConnectionState, noticeText } from "./connection.ts";
import { Conversation } from "./conversation/conversation.ts";
import { find } from "./dom.ts";
import type { ConsoleKind, Panel } from "./kinds/kind.ts";
import type { ConsoleKinds } from "./kinds/kinds.ts";
import { shortName } from "./people.ts";
import { TerminalPane, type ThreadState } from "./terminal-pane.ts";

const RETRY_MS = 2_000;
/** From here on there is room for an agent's terminal beside its transcript. */
const WIDE = "(min-width: 1200px)";
const HAS_TERMINAL = "threadmux.terminal";

interface Opened {
  threadId: string;
  mode: AttachMode;
  /** Undefined until the sidecar has described it. */
  thread: Thread | undefined;
  pane: TerminalPane | undefined;
  panel: Panel | undefined;
  agent: Conversation | undefined;
  agentState: ConnectionState | undefined;
}

export interface ThreadViewOptions {
  kinds: ConsoleKinds;
  /** Finds a thread in the list of the open ones. */
  findListed: (threadId: string) => Thread | undefined;
  isSignedIn: () => boolean;
  /** Shows another thread. */
  onChoose: (threadId: string) => void;
  /** Something has become of the thread that the list tells too. */
  onChange: () => void;
  onSignedOut: () => void;
}

export class ThreadView {
  readonly #options: ThreadViewOptions;
  #opened: Opened | undefined;

  constructor(options: ThreadViewOptions) {
    this.#options = options;
    find("#agent-retry").addEventListener("click", () => this.#opened?.agent?.retryNow());
    find("#tab-talk").addEventListener("click", () => this.#showTerminal(false));
    find("#tab-terminal").addEventListener("click", () => {
      const isShown = find("#app").classList.contains("has-terminal");
      this.#showTerminal(matchMedia(WIDE).matches ? !isShown : true);
      sessionStorage.setItem(HAS_TERMINAL, String(!isShown));
    });
    window.setInterval(() => this.#showAgentNotice(), 250);
  }

  get threadId(): string | undefined {
    return this.#opened?.threadId;
  }

  get mode(): AttachMode | undefined {
    return this.#opened?.mode;
  }

  leave(): void {
    this.#opened?.pane?.close();
    this.#opened?.panel?.close();
    this.#opened?.agent?.close();
    this.#opened = undefined;
    find("#app").classList.remove("has-thread", "is-agent", "has-terminal", "has-panel");
    document.title = "threadmux console";
  }

  async open(threadId: string, mode: AttachMode): Promise<void> {
    const mine: Opened = {
      threadId,
      mode,
      thread: undefined,
      pane: undefined,
      panel: undefined,
      agent: undefined,
      agentState: undefined,
    };
    this.#opened = mine;
    find("#app").classList.add("has-thread");
    find("#thread-title").textContent = shortName(
      this.#options.findListed(threadId) ?? { threadId, number: null },
    );
    find("#thread-id").textContent = "";
    find("#thread-state").textContent = "";
    find("#view-only").setAttribute("aria-pressed", String(mode === "view"));
    document.title = "threadmux console";
    const problem = await this.#describe(mine);
    if (this.#opened !== mine) return;
    if (mine.thread) this.#openPanel(mine, mine.thread);
    if (this.#hasConversation(mine)) this.#openConversation(mine);
    else if (!mine.thread || this.#kindOf(mine.thread).hasPane) this.#openTerminal(mine, problem);
  }

  /** @returns why there is no such thread; anything else may pass, and the connection tries again. */
  async #describe(mine: Opened): Promise<string | undefined> {
    for (;;) {
      try {
        mine.thread = await getThread(mine.threadId);
        if (this.#opened === mine) this.#showTitle(mine.thread);
        return undefined;
      } catch (error) {
        if (error instanceof ApiError && error.status === 404) return error.message;
        if (this.#opened !== mine || !this.#options.isSignedIn()) return undefined;
        await new Promise((resolve) => window.setTimeout(resolve, RETRY_MS));
      }
    }
  }

  #openPanel(mine: Opened, { type, status }: Thread): void {
    const { threadId, mode } = mine;
    const canAct = mode === "type" && isOpen(status);
    const { onChoose, onSignedOut } = this.#options;
    const { openPanel } = kindIn(this.#options.kinds, type);
    mine.panel = openPanel?.({ threadId, status, canAct, onChoose, onSignedOut });
    find("#app").classList.toggle("has-panel", mine.panel !== undefined);
  }

  #openTerminal(mine: Opened, problem: string | undefined): void {
    const pane = this.#newPane(mine);
    mine.pane = pane;
    if (mine.thread) {
      pane.setStatus(mine.thread);
      pane.setHeldSmall(mine.thread.heldSmallUntil);
      if (!isOpen(mine.thread.status)) problem = `The thread is over: ${describeState(mine.thread)}.`;
    }
    if (problem === undefined) pane.connect();
    else pane.setOver(problem);
  }

  /** A thread is over for the page, as a terminal is, until the sidecar has described it. */
  #hasConversation({ thread }: Opened): boolean {
    return thread !== undefined && this.#kindOf(thread).hasConversation;
  }

  #newPane(mine: Opened): TerminalPane {
    const isBeside = this.#hasConversation(mine);
    return new TerminalPane({
      threadId: mine.threadId,
      mode: isBeside ? "view" : mine.mode,
      isBeside,
      onStatus: (state) => {
        if (!isBeside) this.#showState(state);
        this.#options.onChange();
      },
      onSignedOut: this.#options.onSignedOut,
    });
  }

  #openConversation(mine: Opened): void {
    find("#app").classList.add("is-agent");
    mine.agent = new Conversation({
      threadId: mine.threadId,
      onState: (state) => {
        mine.agentState = state;
        if (state.kind === "signed out") return this.#options.onSignedOut();
        this.#showAgentNotice();
      },
      onNews: ({ status }) => this.#showState({ status, exitCode: null, signal: null }),
    });
    const isWanted = sessionStorage.getItem(HAS_TERMINAL) !== "false";
    this.#showTerminal(matchMedia(WIDE).matches && isWanted);
    if (matchMedia("(pointer: fine)").matches) mine.agent.focus();
  }

  /** An agent's terminal, beside its conversation or in its place. */
  #showTerminal(isShown: boolean): void {
    if (!this.#opened?.agent) return;
    find("#app").classList.toggle("has-terminal", isShown);
    find("#tab-terminal").setAttribute("aria-pressed", String(isShown));
    find("#tab-talk").setAttribute("aria-pressed", String(!isShown));
    if (isShown === (this.#opened.pane !== undefined)) return;
    this.#opened.pane?.close();
    this.#opened.pane = undefined;
    if (!isShown) return;
    this.#opened.pane = this.#newPane(this.#opened);
    const { thread } = this.#opened;
    if (thread && isOpen(thread.status)) this.#opened.pane.connect();
    else this.#opened.pane.setOver("The thread is over.");
  }

  #showTitle(thread: Thread): void {
    const { title, number } = thread;
    const name = number === null ? title : `#${number} ${title}`;
    find("#thread-title").textContent = name;
    find("#thread-budget").textContent = formatUse(thread.budget);
    find("#thread-id").textContent = this.#kindOf(thread).hasConversation ? "" : shortName(thread);
    const asks = thread.status === "waiting" ? "❗ " : "";
    document.title = `${asks}${name} · threadmux`;
    this.#showState(thread);
  }

  #showState(state: ThreadState): void {
    const line = find("#thread-state");
    line.textContent = describeState(state);
    line.className = state.status;
  }

  /** Whether the news come. */
  #showAgentNotice(): void {
    const state = this.#opened?.agentState;
    const notice = find("#agent-notice");
    const text = state ? noticeText(state) : "";
    if (find("#agent-notice span").textContent !== text) find("#agent-notice span").textContent = text;
    notice.hidden = text === "";
    find("#agent-retry").hidden = state?.kind !== "waiting";
  }

  /** The list was read anew: the thread may have been renamed. */
  note(thread: Thread): void {
    this.#showTitle(thread);
    this.#opened?.pane?.setHeldSmall(thread.heldSmallUntil);
  }

  #kindOf({ type }: Thread): ConsoleKind {
    return kindIn(this.#options.kinds, type);
  }
}
