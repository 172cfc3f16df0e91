/** What the browser shows: kept in files for the sidecar, and told in the pane a line at a time. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { BROWSER_FILES } from "../shared/browser/spec.ts";
import { type BrowserState, browserStateSchema, type Download, type Mark } from "../shared/browser/state.ts";
import { cleanLine } from "../shared/clean-text.ts";
import { writeWhole } from "../shared/whole-file.ts";

const MAX_TITLE = 300;
const MAX_URL = 2_000;
/** The most characters of a note; the rest is cut off. */
export const MAX_NOTE = 600;
const MAX_LINE = 240;
const KEPT_DOWNLOADS = 20;

export class Shown {
  readonly #folder: string;
  readonly #print: (line: string) => void;
  readonly #now: () => number;
  #state: BrowserState;
  /** What an earlier process of the thread showed last. */
  readonly before: BrowserState | undefined;

  /** @param folder the thread's */
  constructor(folder: string, url: string, print: (line: string) => void, now: () => number) {
    this.#folder = folder;
    this.#print = print;
    this.#now = now;
    this.before = readState(folder);
    this.#state = this.before ?? {
      version: 0,
      status: "starting",
      url,
      title: "",
      picture: 0,
      pictureAt: null,
      note: null,
      scrolled: { top: 0, height: 0 },
      downloads: [],
      marks: [],
    };
  }

  get state(): BrowserState {
    return this.#state;
  }

  /** Shows another state; a reader who sees the line in the pane finds it in the files. */
  set(patch: Partial<Omit<BrowserState, "version">>, picture?: Buffer): void {
    const next = { ...this.#state, ...patch };
    const state: BrowserState = {
      ...next,
      version: this.#state.version + 1,
      url: cleanLine(next.url.slice(0, MAX_URL)),
      title: cleanLine(next.title.slice(0, MAX_TITLE)),
      note: next.note === null ? null : cleanLine(next.note.slice(0, MAX_NOTE)),
      marks: next.marks.map(cleanMark),
      ...(picture && { picture: next.picture + 1, pictureAt: new Date(this.#now()).toISOString() }),
    };
    if (picture) writeWhole(join(this.#folder, BROWSER_FILES.picture), picture);
    writeWhole(join(this.#folder, BROWSER_FILES.state), JSON.stringify(state));
    this.#state = state;
    const { status, url, title, note } = state;
    const clock = new Date(this.#now()).toISOString().slice(11, 19);
    const what = [status, url, title, note ?? ""].filter((part) => part !== "").join(" · ");
    this.#print(`${clock} ${what.slice(0, MAX_LINE)}`);
  }

  addDownload(download: Omit<Download, "number">): void {
    const { downloads } = this.#state;
    const number = (downloads.at(-1)?.number ?? 0) + 1;
    this.set({ downloads: [...downloads, { number, ...download }].slice(-KEPT_DOWNLOADS) });
  }
}

function cleanMark(mark: Mark): Mark {
  return { ...mark, text: cleanLine(mark.text), ...(mark.to !== undefined && { to: cleanLine(mark.to) }) };
}

function readState(folder: string): BrowserState | undefined {
  try {
    return browserStateSchema.safeParse(JSON.parse(readFileSync(join(folder, BROWSER_FILES.state), "utf8")))
      .data;
  } catch {
    return undefined; // the thread is new
  }
}
