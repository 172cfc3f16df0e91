/** The console as a whole: signing in, the list of threads, and which of them is looked at. */
import { ApiError, listChannels, listInbox, listLastWords, listThreads, signOut } from "./api.ts";
import { errorText, find, giveStylesTheNonce } from "./dom.ts";
import { EndThread } from "./end-thread.ts";
import { InboxList } from "./inbox-list.ts";
import { JOBS, JobsView } from "./jobs-view.ts";
import type { ConsoleKinds } from "./kinds/kinds.ts";
import { NewThread } from "./new-thread.ts";
import { learnNames } from "./people.ts";
import { findSecret } from "./session.ts";
import { onShortcut, type Shortcut } from "./shortcuts.ts";
import { submitToken } from "./sign-in.ts";
import { ThreadLists } from "./thread-list.ts";
import { ThreadSettings } from "./thread-settings.ts";
import { ThreadView } from "./thread-view.ts";

const REFRESH_MS = 2_000;
const NAMES_MS = 60_000;
/** The address of the form that makes a thread: no thread's, which begins with a slash. */
const MAKING = "#new";

/** Begins at once, and goes on as long as the page is open. @param kinds what the page does for each kind of thread */
export function startConsole(kinds: ConsoleKinds): void {
  new Console(kinds).start();
}

class Console {
  readonly #lists: ThreadLists;
  readonly #inbox: InboxList;
  readonly #jobsView: JobsView;
  readonly #newThread: NewThread;
  readonly #settings: ThreadSettings;
  readonly #endThread: EndThread;
  readonly #view: ThreadView;
  #isIn = false;

  constructor(kinds: ConsoleKinds) {
    const onChoose = (threadId: string) => go(`/${threadId}`);
    const onSignedOut = () => this.#showSignIn();
    const onChange = () => void this.#refresh();
    this.#lists = new ThreadLists({
      kinds,
      current: () => this.#view.threadId,
      onChoose,
      onSearch: onChange,
    });
    this.#inbox = new InboxList(onChoose);
    this.#jobsView = new JobsView({ onChoose, onSignedOut });
    this.#newThread = new NewThread({ kinds, onMade: onChoose, onCancel: () => go(""), onSignedOut });
    this.#settings = new ThreadSettings({ kinds, onSaved: onChange, onSignedOut });
    this.#endThread = new EndThread({ kinds, onEnded: onChange, onSignedOut });
    this.#view = new ThreadView({
      ...{ kinds, onChoose, onChange, onSignedOut },
      findListed: (threadId) => this.#lists.findOpen(threadId),
      isSignedIn: () => this.#isIn,
    });
  }

  start(): void {
    giveStylesTheNonce();
    find("#sign-in form").addEventListener("submit", (event) => {
      event.preventDefault();
      void submitToken(() => this.#refresh());
    });
    find("#sign-out").addEventListener("click", () => {
      const isOut = () => this.#showSignIn();
      signOut().then(isOut, isOut); // without an answer, or with "not signed in", it is the same here
    });
    find("#back").addEventListener("click", () => go(""));
    find("#view-only").addEventListener("click", () => {
      const { threadId, mode } = this.#view;
      if (threadId !== undefined) go(mode === "view" ? `/${threadId}` : `/${threadId}/view`);
    });
    find("#ended").addEventListener("toggle", () => void this.#refresh());
    find("#new-thread").addEventListener("click", () => go(MAKING));
    find("#end").addEventListener("click", () => this.#askToEnd());
    find("#settings").addEventListener("click", () => {
      const thread = this.#lists.findOpen(this.#view.threadId);
      if (thread) this.#settings.show(thread);
    });
    onShortcut((shortcut, target) => this.#doShortcut(shortcut, target));
    window.addEventListener("hashchange", () => void this.#follow());
    document.addEventListener("visibilitychange", () => void this.#refresh());
    window.setInterval(() => {
      if (this.#isIn) void this.#refresh();
    }, REFRESH_MS);
    window.setInterval(() => {
      // Without an answer the names that are known go on; the list says what is wrong.
      if (this.#isIn && document.visibilityState === "visible") learnNames().catch(() => undefined);
    }, NAMES_MS);
    void this.#refresh();
  }

  #showSignIn(): void {
    this.#isIn = false;
    this.#view.leave();
    find("#app").hidden = true;
    find("#sign-in").hidden = false;
    find<HTMLInputElement>("#token").focus();
  }

  /** The list anew; also how the page finds out whether it is signed in. */
  async #refresh(): Promise<void> {
    if (document.visibilityState === "hidden") return;
    const notice = find("#list-notice");
    try {
      if (!this.#isIn && findSecret() === undefined) {
        if (find("#sign-in").hidden) this.#showSignIn();
        return;
      }
      const hasEnded = find<HTMLDetailsElement>("#ended").open;
      const [open, ended, items, words, channels] = await Promise.all([
        listThreads("open"),
        hasEnded ? listThreads("ended") : [],
        listInbox(),
        this.#lists.isSearching ? listLastWords() : [],
        listChannels(),
      ]);
      const isNew = !this.#isIn;
      if (isNew) await learnNames();
      this.#isIn = true;
      find("#sign-in").hidden = true;
      find("#app").hidden = false;
      this.#lists.show(open, ended, { words, channels });
      this.#inbox.show(items);
      await this.#jobsView.refresh();
      const current = this.#lists.findOpen(this.#view.threadId);
      find("#end").hidden = !current;
      find("#settings").hidden = !current;
      if (current) this.#view.note(current);
      if (isNew) await this.#follow();
    } catch (error) {
      if (error instanceof ApiError && error.status === 401) {
        this.#showSignIn();
        return;
      }
      if (!this.#isIn) this.#showSignIn();
      notice.textContent = `${errorText(error)} Trying again …`;
      notice.hidden = false;
    }
  }

  #askToEnd(): void {
    const thread = this.#lists.findOpen(this.#view.threadId);
    if (thread) this.#endThread.ask(thread, this.#lists.countChildren(thread));
  }

  /** @returns whether it was anything here */
  #doShortcut(shortcut: Shortcut, target: Element): boolean {
    const help = find<HTMLDialogElement>("#keys-dialog");
    if (!this.#isIn || (document.querySelector("dialog[open]") && shortcut !== "help")) return false;
    switch (shortcut) {
      case "search":
        this.#lists.startSearch();
        return true;
      case "new":
        go(MAKING);
        return true;
      case "next":
      case "previous":
        this.#lists.go(this.#view.threadId, shortcut === "next" ? 1 : -1);
        return true;
      case "leave":
        if (this.#lists.leaveSearch(target)) return true;
        if (location.hash !== MAKING && location.hash !== JOBS) return false;
        go("");
        return true;
      case "help":
        if (help.open) help.close();
        else help.showModal();
        return true;
    }
  }

  /** Opens what the address says: `#/<thread>`, `#/<thread>/view` or the form for a new one. */
  async #follow(): Promise<void> {
    if (!this.#isIn) return;
    const isMaking = location.hash === MAKING;
    find("#app").classList.toggle("is-making", isMaking);
    this.#jobsView.follow();
    if (isMaking) this.#newThread.open();
    const [, threadId, onlyView] = /^#\/([A-Za-z0-9_-]+)(\/view)?$/.exec(location.hash) ?? [];
    const mode = onlyView === undefined ? "type" : "view";
    if (this.#view.threadId === threadId && this.#view.mode === mode) return;
    this.#view.leave();
    if (threadId !== undefined) await this.#view.open(threadId, mode);
    void this.#refresh();
  }
}

function go(hash: string): void {
  location.hash = hash;
}
