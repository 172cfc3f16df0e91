/** Files that pages give: each becomes an attachment of the thread, within a bound. */
import { existsSync, mkdirSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import type { Download } from "playwright-core";
import {
  MAX_ATTACHMENT_BYTES,
  MAX_ATTACHMENTS,
  numberedName,
  safeFileName,
} from "../shared/agent/attachments.ts";
import { BROWSER_FILES } from "../shared/browser/spec.ts";
import type { Download as Kept } from "../shared/browser/state.ts";
import { errorText } from "../shared/errors.ts";
import { formatCount } from "../shared/format-count.ts";

const LOOK_MS = 100;
/** So many at once. */
const MAX_RUNNING = 2;

export class Downloads {
  readonly #folder: string;
  readonly #scratch: string;
  #running = 0;

  /** @param folder the thread's */
  constructor(folder: string) {
    this.#folder = join(folder, BROWSER_FILES.attachments);
    this.#scratch = join(folder, BROWSER_FILES.scratch);
    mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
  }

  /** @returns the kept file, or why it was not kept */
  async take(download: Download): Promise<Omit<Kept, "number"> | string> {
    const wanted = safeFileName(download.suggestedFilename());
    const isFull = readdirSync(this.#folder).length >= MAX_ATTACHMENTS;
    if (this.#running >= MAX_RUNNING || isFull) {
      await download.cancel();
      const why = isFull ? `the thread has ${MAX_ATTACHMENTS} files` : "others are on their way";
      return `${wanted} was not downloaded: ${why}.`;
    }
    this.#running += 1;
    let isTooLarge = false;
    const watch = setInterval(() => {
      if (isTooLarge || this.#largest() <= MAX_ATTACHMENT_BYTES) return;
      isTooLarge = true;
      download.cancel().catch(() => undefined); // it has ended by itself
    }, LOOK_MS);
    try {
      const name = this.#freeName(wanted);
      const file = join(this.#folder, name);
      await download.saveAs(file);
      const { size } = statSync(file);
      if (size <= MAX_ATTACHMENT_BYTES) return { name, bytes: size };
      isTooLarge = true;
      throw new Error("it is too large");
    } catch (error) {
      const why = isTooLarge
        ? `it has more than ${formatCount(MAX_ATTACHMENT_BYTES)} bytes`
        : errorText(error).split("\n")[0];
      return `${wanted} was not downloaded: ${why}.`;
    } finally {
      clearInterval(watch);
      this.#running -= 1;
      await download.delete().catch(() => undefined); // a cancelled one has left nothing
    }
  }

  /** Chromium's files of what is on its way have names of their own. */
  #largest(): number {
    const sizes = readdirSync(this.#scratch, { withFileTypes: true, recursive: true })
      .filter((entry) => entry.isFile())
      .map(({ parentPath, name }) => statSync(join(parentPath, name), { throwIfNoEntry: false })?.size ?? 0);
    return Math.max(0, ...sizes);
  }

  #freeName(wanted: string): string {
    for (let number = 1; ; number++) {
      const name = number === 1 ? wanted : numberedName(wanted, number);
      if (!existsSync(join(this.#folder, name))) return name;
    }
  }
}
