/**
 * The one page of a browser. Whatever a page asks of a person or opens beside itself is answered here: dialogs, windows,
 * files, downloads.
 */
import type { BrowserContext, CDPSession, Dialog, Download, Page } from "playwright-core";
import { placeOf } from "../shared/browser/address.ts";
import { cleanLine } from "../shared/clean-text.ts";
import { withDeadline } from "../shared/lifecycle.ts";
import { Marks } from "./marks.ts";

const OPEN_MS = 30_000;
const CLOSE_MS = 10_000;
const PICTURE_MS = 6_000;
const WELL_MS = 3_000;
/** A page that asks oftener, with nobody doing anything, is closed. */
const MAX_DIALOGS = 10;
const MAX_SAID = 200;
const MAX_HOSTS = 1_000;

/** What happens on the page by itself. Texts are sentences with what the page says in them. */
export interface TabListener {
  /** It shows something else, or will soon. */
  onChange(): void;
  onNote(text: string): void;
  /** It is gone: `text` says why. Nothing more is told. */
  onGone(text: string): void;
  onDownload(download: Download): void;
}

type Pace = "awake" | "asked" | "frozen";

export class Tab {
  readonly page: Page;
  readonly marks: Marks;
  readonly #cdp: CDPSession;
  readonly #listener: TabListener;
  #dialogs = 0;
  /** The hosts that the page has asked for, since it was opened. */
  readonly #asked = new Set<string>();
  #isGone = false;
  #pace: Pace = "awake";

  static async open(context: BrowserContext, listener: TabListener): Promise<Tab> {
    // A context without a page ends Chromium.
    const page = await withDeadline(context.newPage(), OPEN_MS, "opening a page");
    const cdp = await context.newCDPSession(page);
    const tab = new Tab(page, cdp, listener);
    for (const other of context.pages()) if (other !== page) close(other);
    return tab;
  }

  private constructor(page: Page, cdp: CDPSession, listener: TabListener) {
    this.page = page;
    this.#cdp = cdp;
    this.#listener = listener;
    this.marks = new Marks(cdp);
    page.on("framenavigated", (frame) => {
      if (frame === page.mainFrame()) listener.onChange();
    });
    page.on("request", (request) => this.#noteAsked(request.url()));
    page.on("load", () => listener.onChange());
    page.on("dialog", (dialog) => this.#answer(dialog));
    page.on("download", (download) => listener.onDownload(download));
    page.on("filechooser", () => listener.onNote("The page asked for a file; none can be given here."));
    page.on("crash", () => this.#gone("The page has crashed, or took too much memory."));
    page.on("close", () => this.#gone("The page has closed itself."));
  }

  /** A person has done something: from here on the page's dialogs are counted anew. */
  noteOp(): void {
    this.#dialogs = 0;
    this.#asked.clear();
  }

  /** Chromium asks for hosts by itself, too. */
  hasAsked(host: string): boolean {
    return this.#asked.has(host);
  }

  #noteAsked(address: string): void {
    if (this.#asked.size >= MAX_HOSTS || !/^(?:https?|wss?):/.test(address)) return;
    this.#asked.add(placeOf(new URL(address)));
  }

  /** What can be seen of the page, as a PNG. @throws Error if the page does not answer */
  async capture(): Promise<Buffer> {
    const shot = this.#cdp.send("Page.captureScreenshot", { format: "png", optimizeForSpeed: true });
    const { data } = await withDeadline(shot, PICTURE_MS, "the page's picture");
    return Buffer.from(data, "base64");
  }

  /** Whether its scripts let anything else be done. */
  async isWell(): Promise<boolean> {
    try {
      await withDeadline(
        this.#cdp.send("Runtime.evaluate", { expression: "1" }),
        WELL_MS,
        "the page's answer",
      );
      return true;
    } catch {
      return false; // it is at work, or gone
    }
  }

  async stopLoading(): Promise<void> {
    await withDeadline(this.#cdp.send("Page.stopLoading"), PICTURE_MS, "stopping the page");
  }

  /** Whether its scripts run, as far as is known; a page that was told to stand still does so when it answers. */
  get isAwake(): boolean {
    return this.#pace === "awake";
  }

  /** Stops the page's scripts and timers; until the page has done so it is `asked`. */
  freeze(): void {
    if (this.#pace !== "awake") return;
    this.#pace = "asked";
    const settle = (pace: Pace) => {
      if (this.#pace === "asked") this.#pace = pace;
    };
    this.#setScripts(false).then(
      () => settle("frozen"),
      () => settle("awake"), // Chromium did not take it, so it is asked again
    );
  }

  /** Lets the page's scripts go on. @throws Error if the page does not answer; it is asked again the next time */
  async thaw(): Promise<void> {
    if (this.#pace === "awake") return;
    await withDeadline(this.#setScripts(true), PICTURE_MS, "waking the page");
    this.#pace = "awake";
  }

  /** `Page.setWebLifecycleState` answers well and stops nothing: timers and requests go on. */
  #setScripts(isOn: boolean): Promise<unknown> {
    return this.#cdp.send("Emulation.setScriptExecutionDisabled", { value: !isOn });
  }

  /** Nobody is told its end from now on. */
  retire(): void {
    this.#isGone = true;
  }

  /** Ends the page, also one whose scripts never stop. Nobody is told. */
  close(): void {
    this.#isGone = true;
    close(this.page);
  }

  #answer(dialog: Dialog): void {
    this.#dialogs += 1;
    const type = dialog.type();
    const isAccepted = type === "alert" || type === "beforeunload";
    // It is gone with its page.
    (isAccepted ? dialog.accept() : dialog.dismiss()).catch(() => undefined);
    if (type === "beforeunload" || this.#isGone) return;
    if (this.#dialogs > MAX_DIALOGS) {
      this.close();
      this.#listener.onGone(`The page has asked ${this.#dialogs} times and is closed.`);
      return;
    }
    const said = cleanLine(dialog.message().slice(0, MAX_SAID * 2)).slice(0, MAX_SAID);
    this.#listener.onNote(`The page said “${said}”; it was answered with ${isAccepted ? "OK" : "Cancel"}.`);
  }

  #gone(text: string): void {
    if (this.#isGone) return;
    this.#isGone = true;
    close(this.page);
    this.#listener.onGone(text);
  }
}

/** Ends a page, also one whose scripts never stop. */
export function close(page: Page): void {
  // A page that has crashed or ended is closed already.
  withDeadline(page.close(), CLOSE_MS, "closing a page").catch(() => undefined);
}
