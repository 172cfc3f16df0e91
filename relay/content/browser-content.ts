/**
 * The content of a browser's thread: one message with the page's picture, which is edited, and the downloaded files.
 */
import * as z from "zod";
import { MAX_SENT_FILE_BYTES } from "../../shared/agent/attachments.ts";
import { isOpen, type OutputReply, type ThreadStatus } from "../../shared/api.ts";
import { VIEW } from "../../shared/browser/spec.ts";
import type { BrowserShown, Download } from "../../shared/browser/state.ts";
import { browserButtons, DONE_BUTTON } from "./buttons.ts";
import type { Content, Notice, Page } from "./content.ts";
import { formatBytes } from "./text.ts";
import { inlineCode } from "./texts.ts";
import { inline } from "./transcript/inline.ts";

export const browserMarkSchema = z.object({
  kind: z.literal("browser"),
  offset: z.int(),
  /** The number of the newest download that was announced. */
  download: z.int(),
  /** The thread is over, and its message says so. */
  isOver: z.boolean(),
});
export type BrowserMark = z.infer<typeof browserMarkSchema>;

/** The name of the picture's file. Attachments have no slash in their names, so none has this name. */
export const PICTURE = "/picture";

const KEY = "browser";
const DOWNLOAD = "download.";
const MAX_TITLE = 200;
const MAX_URL = 300;
const MAX_NOTE = 700;

export class BrowserContent implements Content<OutputReply> {
  readonly eventCount = 0;
  #offset: number;
  #download: number;
  #isOver: boolean;
  #shown: BrowserShown | undefined;
  #status: ThreadStatus = "running";

  /** @param mark undefined: from the beginning */
  constructor(mark: BrowserMark | undefined) {
    this.#offset = mark?.offset ?? 0;
    this.#download = mark?.download ?? 0;
    this.#isOver = mark?.isOver ?? false;
  }

  get offset(): number {
    return this.#offset;
  }

  /** The browser's log is for the console and the command line. A new line in it means that the state has changed. */
  accept({ offset, browser, status }: OutputReply): Promise<void> {
    this.#offset = offset;
    this.#shown = browser ?? this.#shown;
    this.#status = status;
    return Promise.resolve();
  }

  pages(): readonly Page[] {
    if (this.#isOver || !this.#shown) return [];
    const shown = this.#shown;
    const isRunning = this.#status === "running";
    const isThere = shown.picture > 0;
    return [
      {
        key: KEY,
        text: browserText(shown, this.#status),
        buttons: isRunning ? browserButtons(shown) : isOpen(this.#status) ? DONE_BUTTON : [],
        isSilent: true,
        ...(isThere && { file: PICTURE, renewsFile: true }),
        isSealed: !isOpen(this.#status),
        presence: "wanted",
        isAside: false,
        notBefore: 0,
      },
    ];
  }

  confirm(keys: readonly string[]): void {
    if (keys.includes(KEY)) this.#isOver = true;
  }

  notices(): readonly Notice[] {
    const downloads = this.#shown?.downloads ?? [];
    return downloads.filter(({ number }) => number > this.#download).map(downloadNotice);
  }

  told({ key }: Notice): void {
    this.#download = Math.max(this.#download, Number(key.slice(DOWNLOAD.length)));
  }

  mark(): BrowserMark {
    return { kind: "browser", offset: this.#offset, download: this.#download, isOver: this.#isOver };
  }

  isNeeded(key: string, mark: BrowserMark): boolean {
    if (key === KEY) return !mark.isOver;
    return key.startsWith(DOWNLOAD) && Number(key.slice(DOWNLOAD.length)) > mark.download;
  }

  /** Does nothing: the picture stays in its message, even if others come below it. */
  breakPage(): void {}
  begin(): void {}
  settle(): void {}
  setEndSilent(): void {}

  roll(): "edit" {
    return "edit";
  }
}

/** Makes the text above the picture. The page's title and address are text from outside. */
function browserText(shown: BrowserShown, status: ThreadStatus): string {
  const { title, url, note, picture, scrolled } = shown;
  const name = title === "" ? "" : `**${inline(title, MAX_TITLE)}** · `;
  const lines = [`🌐 ${name}${inlineCode(url, MAX_URL)}`];
  if (note !== null) lines.push(`${shown.status === "failed" ? "⚠️" : "ℹ️"} ${inline(note, MAX_NOTE)}`);
  const state =
    status !== "running"
      ? "the browser has ended"
      : { starting: "starting…", loading: "loading…", ready: "", failed: "" }[shown.status];
  const place = placeOf(scrolled);
  const facts = [state, picture > 0 ? `picture ${picture}` : "", place];
  return [...lines, `-# ${facts.filter((fact) => fact !== "").join(" · ") || "…"}`].join("\n");
}

/** Tells how far down the page the picture is; empty if the picture shows the whole page. */
function placeOf({ top, height }: BrowserShown["scrolled"]): string {
  if (height <= VIEW.height * 1.02) return "";
  return `${Math.round((100 * top) / Math.max(1, height - VIEW.height))} % down`;
}

function downloadNotice({ number, name, bytes }: Download): Notice {
  const isSmall = bytes <= MAX_SENT_FILE_BYTES;
  const where = isSmall ? "" : "; it is too large for Discord, and stays among the thread's attachments";
  return {
    key: `${DOWNLOAD}${number}`,
    text: `📎 ${inline(name, MAX_TITLE)} (${formatBytes(bytes)})${where}`,
    buttons: [],
    isSilent: true,
    ...(isSmall && { file: name }),
  };
}
