/** Takes pictures of the page, and shows each with what the page says of itself. */
import { createHash } from "node:crypto";
import { errorText } from "../shared/errors.ts";
import { withDeadline } from "../shared/lifecycle.ts";
import type { Pictures } from "./ops.ts";
import { drawMarks } from "./picture.ts";
import type { Refusals } from "./refusals.ts";
import type { Shown } from "./shown.ts";
import type { Tab } from "./tab.ts";

const ANSWER_MS = 10_000;
const KEPT_PICTURES = 8;

export class Looks implements Pictures {
  readonly #shown: Shown;
  readonly #refusals: Refusals;
  /** How many numbers each of the last pictures has. */
  readonly #counts = new Map<number, number>();
  #hash = "";
  /** A sentence that the next picture is shown with. */
  note: string | undefined;

  constructor(shown: Shown, refusals: Refusals) {
    this.#shown = shown;
    this.#refusals = refusals;
  }

  /** Says something at once. A picture that is on its way would hide it, so the next one says it too. */
  tell(text: string): void {
    this.note = text;
    this.#shown.set({ note: text });
  }

  get newest(): number {
    return this.#shown.state.picture;
  }

  countOf(picture: number): number | undefined {
    return this.#counts.get(picture);
  }

  /** The page is another one: no number counts any more. */
  forget(): void {
    this.#counts.clear();
  }

  /** The next picture is shown, even if it looks like the last one. */
  noteChange(): void {
    this.#hash = "";
  }

  /**
   * Takes a picture and shows it.
   * @param isThere whether the page is still the browser's
   * @param failure why what was asked for did not come
   * @param isByItself nothing is shown if nothing has changed
   */
  async take(
    tab: Tab,
    isThere: () => boolean,
    failure: string | undefined,
    isByItself = false,
  ): Promise<void> {
    const shown = this.#shown;
    const next = shown.state.picture + 1;
    try {
      const found = await tab.marks.find(next);
      const url = tab.page.url();
      // In the place of a page that has ended there is an empty one, which says nothing.
      const isShown = url.startsWith("http");
      if (isByItself && !isShown && this.note === undefined) return;
      const page = await tab.capture();
      const title = await withDeadline(tab.page.title(), ANSWER_MS, "the page's title");
      if (failure === undefined) this.note ??= this.#refusals.take(tab);
      const hash = createHash("sha256").update(page).update(url).update(title).digest("hex");
      if (isByItself && hash === this.#hash && this.note === undefined) return;
      this.#hash = hash;
      this.#counts.set(next, found.marks.length);
      this.#counts.delete(next - KEPT_PICTURES);
      const told = [failure, this.note].filter((part) => part !== undefined).join(" ");
      shown.set(
        {
          status: failure === undefined && isShown ? "ready" : "failed",
          ...(isShown && failure === undefined && { url }),
          title: isShown ? title : "",
          note: told || (isShown ? null : shown.state.note),
          scrolled: { top: found.top, height: found.height },
          marks: found.marks.map(({ kind, text }, index) => ({ number: index + 1, kind, text })),
        },
        drawMarks(page, found.marks),
      );
      this.note = undefined;
    } catch (error) {
      if (!isThere()) return; // it ended in between
      const note =
        failure ?? `The page does not answer: its scripts are at work, or stuck (${errorText(error)}).`;
      if (!isByItself || shown.state.note !== note) shown.set({ status: "failed", note });
    }
  }
}
