/** A thread's browser: starts Chromium as often as it dies, lets people act on its page, and shows what comes of it. */
import type { BrowserContext } from "playwright-core";
import { OpenedHosts } from "../shared/browser/hosts.ts";
import type { BrowserOp } from "../shared/browser/ops.ts";
import type { BrowserSpec } from "../shared/browser/spec.ts";
import type { DoorCall, DoorReply } from "../shared/browser/state.ts";
import { formatMemory } from "../shared/budget.ts";
import { AppError, errorText } from "../shared/errors.ts";
import { KeyedQueue, pause, withDeadline } from "../shared/lifecycle.ts";
import { endChromium, type startChromium } from "./chromium.ts";
import { Downloads } from "./downloads.ts";
import { Looks } from "./looks.ts";
import { perform } from "./ops.ts";
import { boundMemory } from "./processes.ts";
import { type OpenProxy, startProxy } from "./proxy.ts";
import { Refusals } from "./refusals.ts";
import type { Shown } from "./shown.ts";
import { close, Tab, type TabListener } from "./tab.ts";

/** The time between two pictures that nobody asked for. */
const PICTURE_MS = 3_000;
/** For so long after it was used last a page is looked at for changes by itself. */
const WATCHED_MS = 20_000;
/** After this time without use a page's scripts stand still. */
const AWAKE_MS = 60_000;
const MEMORY_MS = 2_000;
const TEXT_MS = 5_000;
const MAX_WAITING = 4;
/** A window that a page opens so soon after somebody did something is what they wanted to see. */
const MEANT_MS = 5_000;
/** Chromium is started anew so often within so long. */
const MAX_STARTS = 3;
const STARTS_MS = 60_000;

export interface SessionOptions {
  spec: BrowserSpec;
  /** The thread's. */
  folder: string;
  shown: Shown;
  start: typeof startChromium;
  env: Readonly<Record<string, string | undefined>>;
  now: () => number;
}

export class Session {
  readonly #options: SessionOptions;
  readonly #queue = new KeyedQueue();
  readonly #downloads: Downloads;
  readonly #refusals = new Refusals();
  readonly #looks: Looks;
  #context: BrowserContext | undefined;
  #tab: Tab | undefined;
  #isOpening = false;
  #waiting = 0;
  #usedAt = 0;

  constructor(options: SessionOptions) {
    this.#options = options;
    this.#downloads = new Downloads(options.folder);
    this.#looks = new Looks(options.shown, this.#refusals);
  }

  /** Serves until the signal fires. @throws Error if Chromium fails to start twice, or ends again and again */
  async run(signal: AbortSignal): Promise<void> {
    const { spec, shown } = this.#options;
    const proxy = await startProxy(new OpenedHosts(spec.hosts), (place, error) =>
      this.#refusals.note(place, error),
    );
    const starts: number[] = [];
    let failure: unknown;
    try {
      for (let url = shown.before?.url ?? spec.url; !signal.aborted; url = shown.state.url) {
        const now = this.#options.now();
        while (starts.length > 0 && now - (starts[0] ?? 0) > STARTS_MS) starts.shift();
        if (starts.push(now) > MAX_STARTS)
          throw failure ?? new Error("Chromium has ended again and again; it is not started any more.");
        const isAnew = starts.length > 1 || shown.before !== undefined;
        if (isAnew) this.#looks.note("The browser was started anew; its address was kept.");
        try {
          // An address that ends Chromium is not opened a third time.
          await this.#live(proxy, starts.length < MAX_STARTS ? url : undefined, signal);
          failure = undefined;
        } catch (error) {
          // A start may fail so late that none of them is within the same minute.
          if (failure !== undefined) throw error;
          failure = error;
        }
      }
    } finally {
      proxy.close();
    }
  }

  /** As {@link act}, with the page's text if it was asked for and the page gives it. */
  async answer({ op, waitMs, textFrom }: DoorCall): Promise<DoorReply> {
    const reply = await this.act(op, waitMs);
    if (textFrom === undefined || "error" in reply || reply.state.status !== "ready") return reply;
    const reading = this.#tab?.marks.readText(textFrom);
    if (!reading) return reply;
    const text = await withDeadline(reading, TEXT_MS, "the page's text").catch(() => undefined); // it is at work, or gone
    return text ? { ...reply, text } : reply;
  }

  /** Never rejects. What is found out after `waitMs` is told by the state. */
  async act(op: BrowserOp, waitMs: number): Promise<DoorReply> {
    const { shown } = this.#options;
    let isAnswered = false;
    const acting = op.do === "stop" ? this.#stop() : this.#enqueue(op);
    acting.catch((error: unknown) => {
      if (!isAnswered) return;
      this.#tell(`What was asked for last was not done: ${errorText(error)}`);
    });
    try {
      await Promise.race([acting, pause(waitMs)]);
      return { state: shown.state };
    } catch (error) {
      const code = error instanceof AppError ? error.code : "unavailable";
      const isKnown = code === "invalid_request" || code === "not_found";
      return { error: errorText(error), code: isKnown ? code : "unavailable" };
    } finally {
      isAnswered = true;
    }
  }

  /** One Chromium, until it ends. @param url undefined: none is opened. @throws Error if it gives no page */
  async #live(proxy: OpenProxy, url: string | undefined, signal: AbortSignal): Promise<void> {
    const { spec, folder, env, shown, start } = this.#options;
    shown.set({ status: "starting" });
    const context = await start({ spec, folder, proxyPort: proxy.port, env });
    const ended = new Promise<void>((resolve) => {
      context.on("close", () => resolve());
      signal.addEventListener("abort", () => resolve(), { once: true });
    });
    context.on("page", (page) => {
      // Playwright tells a page before it tells whoever opened it.
      setImmediate(() => {
        if (this.#isOpening || page === this.#tab?.page) return;
        const opened = page.url();
        close(page);
        this.#takeWindow(opened);
      });
    });
    const memory = setInterval(() => this.#boundMemory(), MEMORY_MS);
    const looks = setInterval(() => this.#lookByItself(), PICTURE_MS);
    try {
      this.#context = context;
      await this.#replaceTab(context);
      if (url === undefined)
        shown.set({
          status: "failed",
          note: this.#looks.sayEnd("This address has ended the browser twice; open another one."),
        });
      else this.#enqueue({ do: "open", url }).catch(() => undefined); // the state says what came of it
      await ended;
    } finally {
      clearInterval(memory);
      clearInterval(looks);
      this.#context = undefined;
      this.#tab = undefined;
      await endChromium(context);
    }
  }

  /** @throws Error if Chromium gives no page; then it is ended, and another one is started in its place */
  async #replaceTab(context: BrowserContext): Promise<Tab> {
    this.#isOpening = true;
    try {
      this.#looks.forget();
      // It tells no end of its own: another one takes its place already.
      this.#tab?.retire();
      this.#tab = undefined;
      this.#tab = await Tab.open(context, this.#listener());
      return this.#tab;
    } catch (error) {
      await endChromium(context);
      throw error;
    } finally {
      this.#isOpening = false;
    }
  }

  #listener(): TabListener {
    const { shown } = this.#options;
    return {
      onChange: () => this.#looks.noteChange(),
      onNote: (text) => this.#looks.note(text),
      onGone: (text) => this.#takeGone(text),
      onDownload: (download) => {
        this.#downloads
          .take(download)
          .then((kept) => {
            if (typeof kept === "string") this.#tell(kept);
            else shown.addDownload(kept);
          })
          .catch((error: unknown) => this.#tell(`A download failed: ${errorText(error)}`));
      },
    };
  }

  /** The page ended by itself; another one takes its place, empty, and what was shown stays. */
  #takeGone(text: string): void {
    const context = this.#context;
    this.#tab = undefined;
    this.#options.shown.set({ status: "failed", note: this.#looks.sayEnd(text), marks: [] });
    if (!context) return;
    // If there is none, Chromium is started anew, and that is told.
    void this.#queue.run("tab", () => this.#replaceTab(context)).catch(() => undefined);
  }

  #takeWindow(url: string): void {
    const isMeant = this.#options.now() - this.#usedAt < MEANT_MS;
    if (isMeant && /^https?:/.test(url)) this.#enqueue({ do: "open", url }).catch(() => undefined);
    else this.#looks.note("The page has opened a window by itself; it was closed.");
  }

  /** A page that stands still gets no picture before its next use. */
  #tell(sentence: string): void {
    this.#looks.tell(sentence, this.#tab?.isAwake ?? true);
  }

  async #stop(): Promise<void> {
    await this.#tab?.stopLoading();
  }

  #enqueue(op: BrowserOp): Promise<void> {
    if (this.#waiting >= MAX_WAITING)
      return Promise.reject(
        new AppError("unavailable", "The browser is busy; wait for its picture, or stop it."),
      );
    this.#waiting += 1;
    return this.#queue
      .run("op", () => this.#perform(op))
      .finally(() => {
        this.#waiting -= 1;
      });
  }

  async #perform(asked: BrowserOp): Promise<void> {
    const { shown, now } = this.#options;
    this.#usedAt = now();
    const tab = await this.#usable(asked);
    tab.noteOp();
    // In the place of a page that has ended there is an empty one.
    const isEmpty = !tab.page.url().startsWith("http");
    const op: BrowserOp = asked.do === "reload" && isEmpty ? { do: "open", url: shown.state.url } : asked;
    if (op.do === "open")
      shown.set({ status: "loading", url: op.url, title: "", note: this.#looks.sayWaiting() });
    else if (op.do === "reload" || op.do === "back" || op.do === "forward") shown.set({ status: "loading" });
    this.#refusals.clear();
    let failure: string | undefined;
    try {
      await perform(tab, op, this.#looks);
      failure = this.#refusals.findReason([tab.page.url()]);
    } catch (error) {
      if (error instanceof AppError) {
        if (shown.state.status === "loading") await this.#look(undefined);
        throw error;
      }
      const places = [tab.page.url(), ...(op.do === "open" ? [op.url] : [])];
      failure = (op.do === "open" ? this.#refusals.findReason(places) : undefined) ?? errorText(error);
    }
    this.#usedAt = now();
    if (tab !== this.#tab) return; // it has ended meanwhile, and that is told
    await this.#look(failure);
  }

  /** The page; one that does not answer any more is replaced by whoever wants to leave it. */
  async #usable(op: BrowserOp): Promise<Tab> {
    await this.#queue.run("tab", async () => undefined); // one is on its way
    const tab = this.#tab;
    if (!tab) throw new AppError("unavailable", "The browser is starting; try again.");
    await tab.thaw().catch(() => undefined); // it does not answer, which its picture says
    const leaves = op.do === "open" || op.do === "reload" || op.do === "back";
    const context = this.#context;
    if (!leaves || !context || (await tab.isWell())) return tab;
    return this.#queue.run("tab", () => this.#replaceTab(context));
  }

  #lookByItself(): void {
    const tab = this.#tab;
    if (!tab || this.#waiting > 0 || !tab.isAwake) return;
    const idleMs = this.#options.now() - this.#usedAt;
    if (idleMs > AWAKE_MS) {
      tab.freeze();
      this.#looks.settle();
    } else if (idleMs < WATCHED_MS || this.#looks.hasWaiting)
      void this.#queue.run("op", () => this.#look(undefined, true));
  }

  /** @param failure why what was asked for did not come */
  async #look(failure: string | undefined, isByItself = false): Promise<void> {
    const tab = this.#tab;
    if (tab) await this.#looks.take(tab, () => tab === this.#tab, failure, isByItself);
  }

  #boundMemory(): void {
    const { maxMemoryBytes } = this.#options.spec;
    const { bytes, hasEnded } = boundMemory(maxMemoryBytes);
    if (hasEnded)
      this.#looks.note(
        `The browser took ${formatMemory(bytes)}, more than its ${formatMemory(maxMemoryBytes)}: its largest page was ended.`,
      );
  }
}
