/** Files that pages give: each becomes an attachment of the thread, within a bound. */
import { linkSync, mkdirSync, readdirSync, statSync } from "node:fs";
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

const LOOK_MS = 50;

export class Downloads {
  readonly #folder: string;
  readonly #scratch: string;
  /** One at a time: Chromium does not say which of the files on their way is which. */
  #isRunning = false;

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
    if (this.#isRunning || isFull) {
      await download.cancel();
      const why = isFull ? `the thread has ${MAX_ATTACHMENTS} files` : "another file is on its way";
      return `${wanted} was not downloaded: ${why}.`;
    }
    this.#isRunning = true;
    let isTooLarge = false;
    const watch = setInterval(() => {
      if (isTooLarge || this.#largest() <= MAX_ATTACHMENT_BYTES) return;
      isTooLarge = true;
      download.cancel().catch(() => undefined); // it has ended by itself
    }, LOOK_MS);
    try {
      const file = await download.path();
      const { size } = statSync(file);
      if (size <= MAX_ATTACHMENT_BYTES) return { name: this.#keep(file, wanted), bytes: size };
      isTooLarge = true;
      throw new Error("it is too large");
    } catch (error) {
      const why = isTooLarge
        ? `it has more than ${formatCount(MAX_ATTACHMENT_BYTES)} bytes`
        : errorText(error).split("\n")[0];
      return `${wanted} was not downloaded: ${why}.`;
    } finally {
      clearInterval(watch);
      this.#isRunning = false;
      await download.delete().catch(() => undefined); // a cancelled one has left nothing
    }
  }

  /** Chromium's files of what is on its way lie there under names of their own, and its other files in folders. */
  #largest(): number {
    const sizes = readdirSync(this.#scratch, { withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ name }) => statSync(join(this.#scratch, name), { throwIfNoEntry: false })?.size ?? 0);
    return Math.max(0, ...sizes);
  }

  /** The sidecar puts files there too, so a name is looked for and taken in one step. @returns the name */
  #keep(file: string, wanted: string): string {
    for (let number = 1; ; number++) {
      const name = number === 1 ? wanted : numberedName(wanted, number);
      try {
        linkSync(file, join(this.#folder, name));
        return name;
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
      }
    }
  }
}
