/** A thread's browser: starts Chromium as often as it dies, lets people act on its page, and shows what comes of it. */
import { createHash } from "node:crypto";
import type { BrowserContext } from "playwright-core";
import { placeOf } from "../shared/browser/address.ts";
import { OpenedHosts } from "../shared/browser/hosts.ts";
import type { BrowserOp } from "../shared/browser/ops.ts";
import type { HostError } from "../shared/browser/resolve.ts";
import type { BrowserSpec } from "../shared/browser/spec.ts";
import type { DoorReply } from "../shared/browser/state.ts";
import { formatMemory } from "../shared/budget.ts";
import { AppError, errorText } from "../shared/errors.ts";
import { KeyedQueue, pause, withDeadline } from "../shared/lifecycle.ts";
import { startChromium } from "./chromium.ts";
import { Downloads } from "./downloads.ts";
import { boundMemory } from "./memory.ts";
import { perform } from "./ops.ts";
import { drawMarks } from "./picture.ts";
import { type OpenProxy, startProxy } from "./proxy.ts";
import type { Shown } from "./shown.ts";
import { close, Tab, type TabListener } from "./tab.ts";

/** The time between two pictures that nobody asked for. */
const PICTURE_MS = 3_000;
/** For so long after it was used last a page is looked at for changes by itself. */
const WATCHED_MS = 20_000;
/** After this time without use a page's scripts stand still. */
const AWAKE_MS = 60_000;
const MEMORY_MS = 2_000;
const ANSWER_MS = 10_000;
const MAX_WAITING = 4;
/** A window that a page opens so soon after somebody did something is what they wanted to see. */
const MEANT_MS = 5_000;
/** Chromium is started anew so often within so long. */
const MAX_STARTS = 3;
const STARTS_MS = 60_000;
const KEPT_PICTURES = 8;
const KEPT_REFUSALS = 50;

export interface SessionOptions {
  spec: BrowserSpec;
  /** The thread's. */
  folder: string;
  shown: Shown;
  env: Readonly<Record<string, string | undefined>>;
  now: () => number;
}

export class Session {
  readonly #options: SessionOptions;
  readonly #queue = new KeyedQueue();
  readonly #downloads: Downloads;
  /** How many numbers each of the last pictures has. */
  readonly #counts = new Map<number, number>();
  #tab: Tab | undefined;
  /** By host, since the last op: why it was not reached. */
  readonly #refused = new Map<string, HostError>();
  #waiting = 0;
  #usedAt = 0;
  #note: string | undefined;
  #hash = "";

  constructor(options: SessionOptions) {
    this.#options = options;
    this.#downloads = new Downloads(options.folder);
  }

  /** Serves until the signal fires. @throws Error if Chromium does not start, or ends again and again */
  async run(signal: AbortSignal): Promise<void> {
    const { spec, shown } = this.#options;
    const proxy = await startProxy(new OpenedHosts(spec.hosts), (host, error) =>
      this.#noteRefused(host, error),
    );
    const starts: number[] = [];
    try {
      for (let url = shown.before?.url ?? spec.url; !signal.aborted; url = shown.state.url) {
        const now = this.#options.now();
        while (starts.length > 0 && now - (starts[0] ?? 0) > STARTS_MS) starts.shift();
        if (starts.push(now) > MAX_STARTS)
          throw new Error("Chromium has ended again and again; it is not started any more.");
        const isAnew = starts.length > 1 || shown.before !== undefined;
        if (isAnew) this.#note = "The browser was started anew; its address was kept.";
        // An address that ends Chromium is not opened a third time.
        await this.#live(proxy, starts.length < MAX_STARTS ? url : undefined, signal);
      }
    } finally {
      proxy.close();
    }
  }

  /** Never rejects. */
  async act(op: BrowserOp, waitMs: number): Promise<DoorReply> {
    const { shown } = this.#options;
    try {
      const acting = op.do === "stop" ? this.#stop() : this.#enqueue(op);
      // What comes of it later is told by the state.
      acting.catch(() => undefined);
      await Promise.race([acting, pause(waitMs)]);
      return { state: shown.state };
    } catch (error) {
      const code = error instanceof AppError ? error.code : "unavailable";
      const isKnown = code === "invalid_request" || code === "not_found";
      return { error: errorText(error), code: isKnown ? code : "unavailable" };
    }
  }

  /** One Chromium, until it ends. @param url undefined: none is opened */
  async #live(proxy: OpenProxy, url: string | undefined, signal: AbortSignal): Promise<void> {
    const { spec, folder, env, shown } = this.#options;
    shown.set({ status: "starting" });
    const context = await startChromium({ spec, folder, proxyPort: proxy.port, env });
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
      await this.#replaceTab(context);
      this.#context = context;
      if (url === undefined)
        shown.set({ status: "failed", note: "This address has ended the browser twice; open another one." });
      else this.#enqueue({ do: "open", url }).catch(() => undefined); // the state says what came of it
      await ended;
    } finally {
      clearInterval(memory);
      clearInterval(looks);
      this.#context = undefined;
      this.#tab = undefined;
      await withDeadline(context.close(), ANSWER_MS, "closing Chromium").catch(() => undefined); // it has died
    }
  }

  #context: BrowserContext | undefined;
  #isOpening = false;

  async #replaceTab(context: BrowserContext): Promise<Tab> {
    this.#isOpening = true;
    try {
      this.#counts.clear();
      // It tells no end of its own: another one takes its place already.
      this.#tab?.retire();
      this.#tab = await Tab.open(context, this.#listener());
      return this.#tab;
    } finally {
      this.#isOpening = false;
    }
  }

  #listener(): TabListener {
    return {
      onChange: () => {
        this.#hash = "";
      },
      onNote: (text) => {
        this.#note = text;
      },
      onGone: (text) => this.#takeGone(text),
      onDownload: (download) => {
        this.#downloads
          .take(download)
          .then((kept) => {
            if (typeof kept === "string") this.#options.shown.set({ note: kept });
            else this.#options.shown.addDownload(kept);
          })
          .catch((error: unknown) =>
            this.#options.shown.set({ note: `A download failed: ${errorText(error)}` }),
          );
      },
    };
  }

  /** The page ended by itself; another one takes its place, empty, and what was shown stays. */
  #takeGone(text: string): void {
    const { shown } = this.#options;
    const context = this.#context;
    this.#tab = undefined;
    shown.set({ status: "failed", note: this.#note ?? text, marks: [] });
    this.#note = undefined;
    if (!context) return;
    // A Chromium that takes no new page has ended, or is about to.
    void this.#queue.run("tab", () => this.#replaceTab(context)).catch(() => undefined);
  }

  #takeWindow(url: string): void {
    const isMeant = this.#options.now() - this.#usedAt < MEANT_MS;
    if (isMeant && /^https?:/.test(url)) this.#enqueue({ do: "open", url }).catch(() => undefined);
    else this.#note = "The page has opened a window by itself; it was closed.";
  }

  #noteRefused(host: string, error: HostError): void {
    this.#refused.set(host, error);
    const [oldest] = this.#refused.keys();
    if (this.#refused.size > KEPT_REFUSALS && oldest !== undefined) this.#refused.delete(oldest);
  }

  /** Hosts that the page has asked for and may not reach; Chromium tells of a request later than the proxy does. */
  #tellRefused(tab: Tab): void {
    for (const [host, { isClosed, message }] of this.#refused) {
      if (!isClosed || !tab.hasAsked(host)) continue;
      this.#refused.delete(host);
      this.#note ??= `Refused: ${message}.`;
    }
  }

  /** Why the page itself did not come, in the proxy's words; undefined if it did. */
  #whyRefused(tab: Tab, asked: string): string | undefined {
    for (const address of [tab.page.url(), asked]) {
      const message = address.startsWith("http")
        ? this.#refused.get(placeOf(new URL(address)))?.message
        : undefined;
      if (message !== undefined) return `The page did not come: ${message}.`;
    }
    return undefined;
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
    if (op.do === "open") shown.set({ status: "loading", url: op.url, title: "", note: this.#note ?? null });
    else if (op.do === "reload" || op.do === "back" || op.do === "forward") shown.set({ status: "loading" });
    const pictures = {
      newest: shown.state.picture,
      countOf: (picture: number) => this.#counts.get(picture),
    };
    this.#refused.clear();
    let failure: string | undefined;
    try {
      await perform(tab, op, pictures);
      failure = this.#whyRefused(tab, "");
    } catch (error) {
      if (error instanceof AppError) {
        if (shown.state.status === "loading") await this.#look(undefined);
        throw error;
      }
      failure = (op.do === "open" ? this.#whyRefused(tab, op.url) : undefined) ?? errorText(error);
    }
    if (failure !== undefined) this.#note = undefined;
    this.#usedAt = now();
    if (tab !== this.#tab) return; // it has ended meanwhile, and that is told
    await this.#look(failure);
  }

  /** The page; one that does not answer any more is replaced by whoever wants to leave it. */
  async #usable(op: BrowserOp): Promise<Tab> {
    await this.#queue.run("tab", async () => undefined); // one is on its way
    const tab = this.#tab;
    if (!tab) throw new AppError("unavailable", "The browser is starting; try again.");
    if (this.#isFrozen) await this.#setFrozen(tab, false);
    const leaves = op.do === "open" || op.do === "reload" || op.do === "back";
    const context = this.#context;
    if (!leaves || !context || (await tab.isWell())) return tab;
    return this.#queue.run("tab", () => this.#replaceTab(context));
  }

  #isFrozen = false;

  async #setFrozen(tab: Tab, isFrozen: boolean): Promise<void> {
    this.#isFrozen = isFrozen;
    await tab.setFrozen(isFrozen).catch(() => undefined); // it does not answer, which its picture says
  }

  #lookByItself(): void {
    const tab = this.#tab;
    if (!tab || this.#waiting > 0 || this.#isFrozen) return;
    const idleMs = this.#options.now() - this.#usedAt;
    if (idleMs > AWAKE_MS) void this.#setFrozen(tab, true);
    else if (idleMs < WATCHED_MS || this.#note !== undefined)
      void this.#queue.run("op", () => this.#look(undefined, true));
  }

  /**
   * Takes a picture and shows it with what the page says of itself.
   * @param failure why what was asked for did not come
   * @param isByItself nothing is shown if nothing has changed
   */
  async #look(failure: string | undefined, isByItself = false): Promise<void> {
    const { shown } = this.#options;
    const tab = this.#tab;
    if (!tab) return;
    const next = shown.state.picture + 1;
    try {
      const found = await tab.marks.find(next);
      const page = await tab.capture();
      const title = await withDeadline(tab.page.title(), ANSWER_MS, "the page's title");
      const url = tab.page.url();
      if (failure === undefined) this.#tellRefused(tab);
      const hash = createHash("sha256").update(page).update(url).update(title).digest("hex");
      if (isByItself && hash === this.#hash && this.#note === undefined) return;
      this.#hash = hash;
      this.#counts.set(next, found.marks.length);
      this.#counts.delete(next - KEPT_PICTURES);
      const isShown = url.startsWith("http");
      shown.set(
        {
          status: failure === undefined ? "ready" : "failed",
          ...(isShown && failure === undefined && { url }),
          title: isShown ? title : "",
          note: [failure, this.#note].filter((part) => part !== undefined).join(" ") || null,
          scrolled: { top: found.top, height: found.height },
          marks: found.marks.map(({ kind, text }, index) => ({ number: index + 1, kind, text })),
        },
        drawMarks(page, found.marks),
      );
      this.#note = undefined;
    } catch (error) {
      if (tab !== this.#tab) return; // it ended in between
      const note =
        failure ?? `The page does not answer: its scripts are at work, or stuck (${errorText(error)}).`;
      if (!isByItself || shown.state.note !== note) shown.set({ status: "failed", note });
    }
  }

  #boundMemory(): void {
    const { maxMemoryBytes } = this.#options.spec;
    const { bytes, hasEnded } = boundMemory(maxMemoryBytes);
    if (hasEnded)
      this.#note = `The browser took ${formatMemory(bytes)}, more than its ${formatMemory(maxMemoryBytes)}: its largest page was ended.`;
  }
}
