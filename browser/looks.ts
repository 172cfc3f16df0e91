/** Takes pictures of the page, and shows each with what the page says of itself. */
import { createHash } from "node:crypto";
import { targetOf } from "../shared/browser/mark-words.ts";
import type { Mark } from "../shared/browser/state.ts";
import { errorText } from "../shared/errors.ts";
import { withDeadline } from "../shared/lifecycle.ts";
import type { PlacedMark } from "./marks.ts";
import type { Pictures } from "./ops.ts";
import { drawMarks } from "./picture.ts";
import type { Refusals } from "./refusals.ts";
import { MAX_NOTE, type Shown } from "./shown.ts";
import type { Tab } from "./tab.ts";

const ANSWER_MS = 10_000;
const KEPT_PICTURES = 8;
/** The most sentences that one picture is shown with, the newest. */
const MAX_SENTENCES = 5;

export class Looks implements Pictures {
  readonly #shown: Shown;
  readonly #refusals: Refusals;
  /** What the numbers of each of the last pictures stand on. */
  readonly #marks = new Map<number, readonly Mark[]>();
  #hash = "";
  /** Sentences that the next picture is shown with. */
  #waiting: readonly string[] = [];
  /** Sentences that are shown now. */
  #said: readonly string[] = [];

  constructor(shown: Shown, refusals: Refusals) {
    this.#shown = shown;
    this.#refusals = refusals;
  }

  /** The next picture is shown with this sentence. */
  note(sentence: string): void {
    this.#waiting = added(this.#waiting, sentence);
  }

  /**
   * Says something at once, beside what is said already.
   * @param isPictureDue a picture would hide it, so it is shown with it once more
   */
  tell(sentence: string, isPictureDue: boolean): void {
    if (isPictureDue) this.note(sentence);
    this.#said = added(this.#said, sentence);
    this.#shown.set({ note: joined(this.#said) });
  }

  get hasWaiting(): boolean {
    return this.#waiting.length > 0;
  }

  /** The sentences that wait, to be shown before there is a picture; they go on waiting. Null if there are none. */
  sayWaiting(): string | null {
    this.#said = this.#waiting;
    return joined(this.#said) || null;
  }

  /** The sentences that wait, behind one that says that the page is gone: nothing of them waits any more. */
  sayEnd(sentence: string): string {
    this.#said = [sentence, ...this.#waiting];
    this.#waiting = [];
    return joined(this.#said);
  }

  /** No picture is due for a long time: what is shown already is not told again with that one. */
  settle(): void {
    this.#waiting = this.#waiting.filter((sentence) => !this.#said.includes(sentence));
  }

  get newest(): number {
    return this.#shown.state.picture;
  }

  marksOf(picture: number): readonly Mark[] | undefined {
    return this.#marks.get(picture);
  }

  /** The page is another one: no number counts any more. */
  forget(): void {
    this.#marks.clear();
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
      if (isByItself && !isShown && !this.hasWaiting) return;
      const page = await tab.capture();
      const title = await withDeadline(tab.page.title(), ANSWER_MS, "the page's title");
      const refused = failure === undefined ? this.#refusals.take(tab) : undefined;
      if (refused !== undefined) this.note(refused);
      const hash = createHash("sha256").update(page).update(url).update(title).digest("hex");
      if (isByItself && hash === this.#hash && !this.hasWaiting) return;
      this.#hash = hash;
      const told = [...(failure === undefined ? [] : [failure]), ...this.#waiting];
      if (isShown || told.length > 0) this.#said = told;
      shown.set(
        {
          status: failure === undefined && isShown ? "ready" : "failed",
          ...(isShown && failure === undefined && { url }),
          title: isShown ? title : "",
          note: joined(told) || (isShown ? null : shown.state.note),
          scrolled: { top: found.top, height: found.height },
          marks: found.marks.map((mark, index) => shownMark(mark, index + 1, url)),
        },
        drawMarks(page, found.marks),
      );
      this.#marks.set(next, shown.state.marks);
      this.#marks.delete(next - KEPT_PICTURES);
      this.#waiting = [];
    } catch (error) {
      if (!isThere()) return; // it ended in between
      const why =
        failure ?? `The page does not answer: its scripts are at work, or stuck (${errorText(error)}).`;
      this.#said = [why, ...this.#waiting];
      const note = joined(this.#said);
      if (!isByItself || shown.state.note !== note) shown.set({ status: "failed", note });
    }
  }
}

function shownMark({ kind, text, to }: PlacedMark, number: number, url: string): Mark {
  const target = to === undefined ? undefined : targetOf(to, url);
  return { number, kind, text, ...(target !== undefined && { to: target }) };
}

/** The same sentence twice stands at its newer place. */
function added(sentences: readonly string[], sentence: string): string[] {
  return [...sentences.filter((other) => other !== sentence), sentence].slice(-MAX_SENTENCES);
}

/** As many as there is room for: the first one, and the newest of the others. */
function joined([first, ...others]: readonly string[]): string {
  const all = [first, ...others].join(" ").trim();
  return first === undefined || all.length <= MAX_NOTE || others.length < 2
    ? all
    : joined([first, ...others.slice(1)]);
}
