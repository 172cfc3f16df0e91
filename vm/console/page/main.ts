/** The console's page: signing in, the list of threads, and which of them is looked at. */
import { isOpen, type Thread } from "../../../shared/api.ts";
import { type AttachMode, describeState } from "../../../shared/attach.ts";
import { formatUse } from "../../../shared/budget.ts";
import { ApiError, getThread, listChannels, listInbox, listLastWords, listThreads, signOut } from "./api.ts";
import { type ConnectionState, noticeText } from "./connection.ts";
import { Conversation } from "./conversation/conversation.ts";
import { errorText, find, giveStylesTheNonce } from "./dom.ts";
import { EndThread } from "./end-thread.ts";
import { InboxList } from "./inbox-list.ts";
import { JOBS, JobsView } from "./jobs-view.ts";
import type { Panel } from "./kinds/kind.ts";
import { CONSOLE_KINDS } from "./kinds/kinds.ts";
import { NewThread } from "./new-thread.ts";
import { learnNames, shortName } from "./people.ts";
import { findSecret } from "./session.ts";
import { onShortcut, type Shortcut } from "./shortcuts.ts";
import { submitToken } from "./sign-in.ts";
import { TerminalPane, type ThreadState } from "./terminal-pane.ts";
import { ThreadLists } from "./thread-list.ts";
import { ThreadSettings } from "./thread-settings.ts";

const REFRESH_MS = 2_000;
const NAMES_MS = 60_000;
/** From here on there is room for an agent's terminal beside its transcript. */
const WIDE = "(min-width: 1200px)";
const HAS_TERMINAL = "threadmux.terminal";
/** The address of the form that makes a thread: no thread's, which begins with a slash. */
const MAKING = "#new";

/** One thread that is being looked at. */
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

let opened: Opened | undefined;
let isIn = false;

const lists = new ThreadLists({
  current: () => opened?.threadId,
  onChoose: (threadId) => go(`/${threadId}`),
  onSearch: () => void refresh(),
});
const inbox = new InboxList((threadId) => go(`/${threadId}`));
const jobsView = new JobsView({ onChoose: (threadId) => go(`/${threadId}`), onSignedOut: showSignIn });
const newThread = new NewThread({
  onMade: (threadId) => go(`/${threadId}`),
  onCancel: () => go(""),
  onSignedOut: showSignIn,
});
const settings = new ThreadSettings({ onSaved: () => void refresh(), onSignedOut: showSignIn });
const endThread = new EndThread({ onEnded: () => void refresh(), onSignedOut: showSignIn });

giveStylesTheNonce();
find("#sign-in form").addEventListener("submit", (event) => {
  event.preventDefault();
  void submitToken(refresh);
});
find("#sign-out").addEventListener("click", () => {
  signOut().then(showSignIn, showSignIn); // without an answer, or with "not signed in", it is the same here
});
find("#back").addEventListener("click", () => go(""));
find("#view-only").addEventListener("click", () => {
  if (opened) go(opened.mode === "view" ? `/${opened.threadId}` : `/${opened.threadId}/view`);
});
find("#agent-retry").addEventListener("click", () => opened?.agent?.retryNow());
find("#tab-talk").addEventListener("click", () => showTerminal(false));
find("#tab-terminal").addEventListener("click", () => {
  const isShown = find("#app").classList.contains("has-terminal");
  showTerminal(matchMedia(WIDE).matches ? !isShown : true);
  sessionStorage.setItem(HAS_TERMINAL, String(!isShown));
});
find("#ended").addEventListener("toggle", () => void refresh());
find("#new-thread").addEventListener("click", () => go(MAKING));
find("#end").addEventListener("click", askToEnd);
find("#settings").addEventListener("click", () => {
  const thread = lists.findOpen(opened?.threadId);
  if (thread) settings.show(thread);
});
onShortcut(doShortcut);
window.addEventListener("hashchange", () => void follow());
document.addEventListener("visibilitychange", () => void refresh());
window.setInterval(() => {
  if (isIn) void refresh();
}, REFRESH_MS);
window.setInterval(() => {
  // Without an answer the names that are known go on; the list says what is wrong.
  if (isIn && document.visibilityState === "visible") learnNames().catch(() => undefined);
}, NAMES_MS);
window.setInterval(showAgentNotice, 250);
void refresh();

function showSignIn(): void {
  isIn = false;
  leave();
  find("#app").hidden = true;
  find("#sign-in").hidden = false;
  find<HTMLInputElement>("#token").focus();
}

/** The list anew; also how the page finds out whether it is signed in. */
async function refresh(): Promise<void> {
  if (document.visibilityState === "hidden") return;
  const notice = find("#list-notice");
  try {
    if (!isIn && findSecret() === undefined) {
      if (find("#sign-in").hidden) showSignIn();
      return;
    }
    const hasEnded = find<HTMLDetailsElement>("#ended").open;
    const [open, ended, items, words, channels] = await Promise.all([
      listThreads("open"),
      hasEnded ? listThreads("ended") : [],
      listInbox(),
      lists.isSearching ? listLastWords() : [],
      listChannels(),
    ]);
    const isNew = !isIn;
    if (isNew) await learnNames();
    isIn = true;
    find("#sign-in").hidden = true;
    find("#app").hidden = false;
    lists.show(open, ended, { words, channels });
    inbox.show(items);
    await jobsView.refresh();
    const current = lists.findOpen(opened?.threadId);
    find("#end").hidden = !current;
    find("#settings").hidden = !current;
    if (current) showTitle(current); // it may have been renamed
    if (current) opened?.pane?.setHeldSmall(current.heldSmallUntil);
    if (isNew) await follow();
  } catch (error) {
    if (error instanceof ApiError && error.status === 401) {
      showSignIn();
      return;
    }
    if (!isIn) showSignIn();
    notice.textContent = `${errorText(error)} Trying again …`;
    notice.hidden = false;
  }
}

function askToEnd(): void {
  const thread = lists.findOpen(opened?.threadId);
  if (thread) endThread.ask(thread, lists.countChildren(thread));
}

/** @returns whether it was anything here */
function doShortcut(shortcut: Shortcut, target: Element): boolean {
  const help = find<HTMLDialogElement>("#keys-dialog");
  if (!isIn || (document.querySelector("dialog[open]") && shortcut !== "help")) return false;
  switch (shortcut) {
    case "search":
      lists.startSearch();
      return true;
    case "new":
      go(MAKING);
      return true;
    case "next":
    case "previous":
      lists.go(opened?.threadId, shortcut === "next" ? 1 : -1);
      return true;
    case "leave":
      if (lists.leaveSearch(target)) return true;
      if (location.hash !== MAKING && location.hash !== JOBS) return false;
      go("");
      return true;
    case "help":
      if (help.open) help.close();
      else help.showModal();
      return true;
  }
}

function go(hash: string): void {
  location.hash = hash;
}

/** Opens what the address says: `#/<thread>`, `#/<thread>/view` or the form for a new one. */
async function follow(): Promise<void> {
  if (!isIn) return;
  const isMaking = location.hash === MAKING;
  find("#app").classList.toggle("is-making", isMaking);
  jobsView.follow();
  if (isMaking) newThread.open();
  const [, threadId, view] = /^#\/([A-Za-z0-9_-]+)(\/view)?$/.exec(location.hash) ?? [];
  const mode = view === undefined ? "type" : "view";
  if (opened?.threadId === threadId && opened?.mode === mode) return;
  leave();
  if (threadId !== undefined) await open(threadId, mode);
  void refresh();
}

function leave(): void {
  opened?.pane?.close();
  opened?.panel?.close();
  opened?.agent?.close();
  opened = undefined;
  find("#app").classList.remove("has-thread", "is-agent", "has-terminal", "has-panel");
  document.title = "threadmux console";
}

async function open(threadId: string, mode: AttachMode): Promise<void> {
  const mine: Opened = {
    threadId,
    mode,
    thread: undefined,
    pane: undefined,
    panel: undefined,
    agent: undefined,
    agentState: undefined,
  };
  opened = mine;
  find("#app").classList.add("has-thread");
  find("#thread-title").textContent = shortName(lists.findOpen(threadId) ?? { threadId, number: null });
  find("#thread-id").textContent = "";
  find("#thread-state").textContent = "";
  find("#view-only").setAttribute("aria-pressed", String(mode === "view"));
  document.title = "threadmux console";
  const problem = await describe(mine);
  if (opened !== mine) return;
  if (mine.thread) openPanel(mine, mine.thread);
  if (hasConversation(mine)) openConversation(mine);
  else if (!mine.thread || CONSOLE_KINDS[mine.thread.type].hasPane) openTerminal(mine, problem);
}

/** @returns why there is no such thread; anything else may pass, and the connection tries again. */
async function describe(mine: Opened): Promise<string | undefined> {
  for (;;) {
    try {
      mine.thread = await getThread(mine.threadId);
      if (opened === mine) showTitle(mine.thread);
      return undefined;
    } catch (error) {
      if (error instanceof ApiError && error.status === 404) return error.message;
      if (opened !== mine || !isIn) return undefined;
      await new Promise((resolve) => window.setTimeout(resolve, REFRESH_MS));
    }
  }
}

function openPanel(mine: Opened, { type, status }: Thread): void {
  const { threadId, mode } = mine;
  const canAct = mode === "type" && isOpen(status);
  const onChoose = (id: string) => go(`/${id}`);
  mine.panel = CONSOLE_KINDS[type].openPanel?.({
    ...{ threadId, status, canAct, onChoose },
    onSignedOut: showSignIn,
  });
  find("#app").classList.toggle("has-panel", mine.panel !== undefined);
}

function openTerminal(mine: Opened, problem: string | undefined): void {
  const pane = newPane(mine);
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
function hasConversation({ thread }: Opened): boolean {
  return thread !== undefined && CONSOLE_KINDS[thread.type].hasConversation;
}

function newPane(mine: Opened): TerminalPane {
  const isBeside = hasConversation(mine);
  return new TerminalPane({
    threadId: mine.threadId,
    mode: isBeside ? "view" : mine.mode,
    isBeside,
    onStatus: (state) => {
      if (!isBeside) showState(state);
      void refresh();
    },
    onSignedOut: showSignIn,
  });
}

function openConversation(mine: Opened): void {
  find("#app").classList.add("is-agent");
  mine.agent = new Conversation({
    threadId: mine.threadId,
    onState: (state) => {
      mine.agentState = state;
      if (state.kind === "signed out") return showSignIn();
      showAgentNotice();
    },
    onNews: ({ status }) => showState({ status, exitCode: null, signal: null }),
  });
  const isWanted = sessionStorage.getItem(HAS_TERMINAL) !== "false";
  showTerminal(matchMedia(WIDE).matches && isWanted);
  if (matchMedia("(pointer: fine)").matches) mine.agent.focus();
}

/** An agent's terminal, beside its conversation or in its place. */
function showTerminal(isShown: boolean): void {
  if (!opened?.agent) return;
  find("#app").classList.toggle("has-terminal", isShown);
  find("#tab-terminal").setAttribute("aria-pressed", String(isShown));
  find("#tab-talk").setAttribute("aria-pressed", String(!isShown));
  if (isShown === (opened.pane !== undefined)) return;
  opened.pane?.close();
  opened.pane = undefined;
  if (!isShown) return;
  opened.pane = newPane(opened);
  const { thread } = opened;
  if (thread && isOpen(thread.status)) opened.pane.connect();
  else opened.pane.setOver("The thread is over.");
}

function showTitle(thread: Thread): void {
  const { title, number } = thread;
  const name = number === null ? title : `#${number} ${title}`;
  find("#thread-title").textContent = name;
  find("#thread-budget").textContent = formatUse(thread.budget);
  find("#thread-id").textContent = CONSOLE_KINDS[thread.type].hasConversation ? "" : shortName(thread);
  const asks = thread.status === "waiting" ? "❗ " : "";
  document.title = `${asks}${name} · threadmux`;
  showState(thread);
}

function showState(state: ThreadState): void {
  const line = find("#thread-state");
  line.textContent = describeState(state);
  line.className = state.status;
}

/** Whether the news come. */
function showAgentNotice(): void {
  const state = opened?.agentState;
  const notice = find("#agent-notice");
  const text = state ? noticeText(state) : "";
  if (find("#agent-notice span").textContent !== text) find("#agent-notice span").textContent = text;
  notice.hidden = text === "";
  find("#agent-retry").hidden = state?.kind !== "waiting";
}
