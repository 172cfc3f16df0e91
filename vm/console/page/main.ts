/** The console's page: signing in, the list of threads, one thread's terminal. */
import { isOpen, type Thread } from "../../../shared/api.ts";
import { type AttachMode, describeState, type ServerFrame } from "../../../shared/attach.ts";
import { ApiError, getThread, listThreads, signIn, signOut } from "./api.ts";
import { Connection, type ConnectionState } from "./connection.ts";
import { SCREEN_KEYS, withCtrl } from "./keys.ts";
import { findSecret } from "./session.ts";
import { Screen } from "./terminal.ts";

const REFRESH_MS = 2_000;

/** One thread that is being looked at. */
interface Opened {
  threadId: string;
  mode: AttachMode;
  screen: Screen | undefined;
  connection: Connection | undefined;
  status: Pick<Thread, "status" | "exitCode" | "signal"> | undefined;
  state: ConnectionState;
}

let opened: Opened | undefined;
let hasCtrl = false;
let isZoomed = false;
let isIn = false;

giveStylesTheNonce();
buildKeys();
find("#sign-in form").addEventListener("submit", (event) => {
  event.preventDefault();
  void submitToken();
});
find("#sign-out").addEventListener("click", () => {
  signOut().then(showSignIn, showSignIn); // without an answer, or with "not signed in", it is the same here
});
find("#back").addEventListener("click", () => go(""));
find("#retry").addEventListener("click", () => opened?.connection?.retryNow());
find("#zoom").addEventListener("click", () => {
  isZoomed = !isZoomed;
  find("#zoom").setAttribute("aria-pressed", String(isZoomed));
  opened?.screen?.setZoomed(isZoomed);
});
find("#view-only").addEventListener("click", () => {
  if (opened) go(opened.mode === "view" ? `/${opened.threadId}` : `/${opened.threadId}/view`);
});
find("#ended").addEventListener("toggle", () => void refresh());
window.addEventListener("hashchange", () => void follow());
document.addEventListener("visibilitychange", () => void refresh());
window.setInterval(() => {
  if (isIn) void refresh();
}, REFRESH_MS);
window.setInterval(showNotice, 250);
void refresh();

async function submitToken(): Promise<void> {
  const input = find<HTMLInputElement>("#token");
  const problem = find("#sign-in .problem");
  problem.textContent = "";
  try {
    await signIn(input.value.trim());
    input.value = "";
    await refresh();
  } catch (error) {
    const isWrong = error instanceof ApiError && error.status === 401;
    problem.textContent = isWrong ? "That is not the token." : errorText(error);
    input.select();
  }
}

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
    const [open, ended] = await Promise.all([listThreads("open"), hasEnded ? listThreads("ended") : []]);
    const isNew = !isIn;
    isIn = true;
    find("#sign-in").hidden = true;
    find("#app").hidden = false;
    showList("#open-threads", open);
    const current = open.find((thread) => thread.threadId === opened?.threadId);
    if (current) showTitle(current); // it may have been renamed
    showList("#ended-threads", ended.slice(0, 50));
    notice.textContent =
      open.length > 0 ? "" : "No thread is open. /terminal or /agent in Discord opens one.";
    if (isNew) await follow();
  } catch (error) {
    if (error instanceof ApiError && error.status === 401) {
      showSignIn();
      return;
    }
    if (!isIn) showSignIn();
    notice.textContent = `${errorText(error)} Trying again …`;
  } finally {
    notice.hidden = notice.textContent === "";
  }
}

function showList(selector: string, threads: Thread[]): void {
  const items = threads.map((thread) => {
    const button = make("button", "", [
      make("span", "name", [make("span", "", [thread.title])]),
      make("span", "id", [thread.threadId]),
      make("span", "command", [thread.command]),
      make("span", "about", [aboutText(thread)]),
    ]);
    button.type = "button";
    button.addEventListener("click", () => go(`/${thread.threadId}`));
    if (thread.threadId === opened?.threadId) button.setAttribute("aria-current", "true");
    return make("li", thread.status, [button]);
  });
  const list = find(selector);
  // Left alone while nothing has changed: a press or a selection in it goes on.
  const isSame =
    list.children.length === items.length && items.every((item, i) => list.children[i]?.isEqualNode(item));
  if (!isSame) list.replaceChildren(...items);
}

function aboutText(thread: Thread): string {
  const where = thread.dir === "." ? "" : ` in ${thread.dir}`;
  return `${describeState(thread)} · ${thread.type}${where}`;
}

function go(hash: string): void {
  location.hash = hash;
}

/** Opens what the address says: `#/<thread>` or `#/<thread>/view`. */
async function follow(): Promise<void> {
  if (!isIn) return;
  const [, threadId, view] = /^#\/([A-Za-z0-9_-]+)(\/view)?$/.exec(location.hash) ?? [];
  const mode = view === undefined ? "type" : "view";
  if (opened?.threadId === threadId && opened?.mode === mode) return;
  leave();
  if (threadId !== undefined) await open(threadId, mode);
  void refresh();
}

function leave(): void {
  opened?.connection?.close();
  opened?.screen?.dispose();
  opened = undefined;
  hasCtrl = false;
  find("#app").classList.remove("has-thread");
  document.title = "threadmux console";
}

async function open(threadId: string, mode: AttachMode): Promise<void> {
  const mine: Opened = {
    threadId,
    mode,
    screen: undefined,
    connection: undefined,
    status: undefined,
    state: { kind: "connecting" },
  };
  opened = mine;
  find("#app").classList.add("has-thread");
  find("#thread-title").textContent = threadId;
  find("#thread-id").textContent = "";
  find("#view-only").setAttribute("aria-pressed", String(mode === "view"));
  document.title = `${threadId} · threadmux`;
  showNotice();
  try {
    const thread = await getThread(threadId);
    mine.status = thread;
    if (opened === mine) showTitle(thread);
    if (!isOpen(thread.status)) {
      mine.state = { kind: "over", text: `The thread is over: ${describeState(thread)}.` };
    }
  } catch (error) {
    // Anything else may pass: the connection tries again.
    if (error instanceof ApiError && error.status === 404) mine.state = { kind: "over", text: error.message };
  }
  if (opened !== mine) return;
  if (mine.state.kind !== "over") connect(mine);
  showNotice();
}

function showTitle({ threadId, title }: Thread): void {
  find("#thread-title").textContent = title;
  find("#thread-id").textContent = threadId;
  document.title = `${title} · threadmux`;
}

function connect(mine: Opened): void {
  const { threadId, mode } = mine;
  const screen = new Screen({
    container: find("#screen"),
    onText: (text) => {
      mine.connection?.send(hasCtrl ? withCtrl(text) : text);
      setCtrl(false);
    },
    onBinary: (latin1) => mine.connection?.sendBinary(latin1),
  });
  screen.setZoomed(isZoomed);
  mine.screen = screen;
  mine.connection = new Connection({
    threadId,
    mode,
    onState: (state) => {
      mine.state = state;
      if (state.kind === "signed out") return showSignIn();
      showNotice();
    },
    onFrame: (frame) => receive(mine, frame),
    onFresh: () => screen.reset(),
    onBytes: (bytes, onDrawn) => screen.write(bytes, onDrawn),
  });
  if (mode === "type") screen.focus();
}

function receive(mine: Opened, frame: ServerFrame): void {
  switch (frame.type) {
    case "size":
      mine.screen?.resize(frame.cols, frame.rows);
      return;
    case "status":
    case "end":
      mine.status = frame;
      showNotice();
      void refresh();
      return;
    case "error":
      return; // shown with the close that follows
  }
}

/** What the person should know: how the thread stands, and how the connection does. */
function showNotice(): void {
  if (!opened) return;
  const { status, state, mode, screen } = opened;
  const stateLine = find("#thread-state");
  stateLine.textContent = status ? describeState(status) : "";
  stateLine.className = status?.status ?? "";
  const isOver = state.kind === "over";
  const canType = mode === "type" && state.kind === "open" && status?.status === "running";
  screen?.setTyping(canType);
  for (const button of document.querySelectorAll<HTMLButtonElement>("#keys button"))
    button.disabled = !canType;
  const notice = find("#notice");
  const text = noticeText(opened);
  if (find("#notice span").textContent !== text) find("#notice span").textContent = text;
  notice.hidden = text === "";
  notice.classList.toggle("final", state.kind !== "waiting");
  find("#retry").hidden = state.kind !== "waiting";
  find("#zoom").hidden = !screen;
  find("#view-only").hidden = isOver;
  find("#screen").classList.toggle("is-over", isOver || state.kind === "waiting");
}

function noticeText({ status, state, mode, screen }: Opened): string {
  switch (state.kind) {
    case "connecting":
      return screen ? "Connecting …" : "";
    case "waiting": {
      const seconds = Math.max(1, Math.ceil((state.retryAt - Date.now()) / 1_000));
      return `${state.reason} Trying again in ${seconds} s …`;
    }
    case "over":
      return screen ? `${state.text} This is what it showed last.` : `${state.text} Its terminal is gone.`;
    case "open":
      if (status?.status === "exited") {
        return `The process has ${describeState(status)}. This is its last screen.`;
      }
      if (status?.status === "idle")
        return "The agent waits for a message: write it in the thread in Discord.";
      return mode === "view" ? "You are looking on; what you type goes nowhere." : "";
    case "signed out":
      return "";
  }
}

function buildKeys(): void {
  const buttons = SCREEN_KEYS.map(({ label, name, bytes }) => {
    const button = make("button", "", [label]);
    button.type = "button";
    button.setAttribute("aria-label", name);
    // The terminal keeps the focus, and the phone's keyboard stays.
    button.addEventListener("pointerdown", (event) => event.preventDefault());
    button.addEventListener("click", () => {
      if (label === "Ctrl") setCtrl(!hasCtrl);
      else opened?.screen?.input(bytes);
    });
    if (label === "Ctrl") button.id = "ctrl";
    return button;
  });
  find("#keys").replaceChildren(...buttons);
}

function setCtrl(isOn: boolean): void {
  hasCtrl = isOn;
  find("#ctrl").setAttribute("aria-pressed", String(isOn));
}

/** xterm.js puts its rules into `<style>` elements; the page's policy lets only those in that have the nonce. */
function giveStylesTheNonce(): void {
  const nonce = find<HTMLMetaElement>('meta[name="style-nonce"]').content;
  const createElement = document.createElement.bind(document);
  document.createElement = (name: string, options?: ElementCreationOptions) => {
    const element = createElement(name, options);
    if (element instanceof HTMLStyleElement) element.nonce = nonce;
    return element;
  };
}

function find<T extends HTMLElement = HTMLElement>(selector: string): T {
  const element = document.querySelector<T>(selector);
  if (!element) throw new Error(`no ${selector} in the page`);
  return element;
}

function make<K extends keyof HTMLElementTagNameMap>(
  name: K,
  className: string,
  children: (Node | string)[],
): HTMLElementTagNameMap[K] {
  const element = document.createElement(name);
  if (className !== "") element.className = className;
  element.append(...children);
  return element;
}

function errorText(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
