/** The states from which a document could go on, of which the newest delivered one becomes the mark. Pure. */
import type { FramesSnapshot } from "./frames.ts";
import type { PagerSnapshot } from "./pager.ts";
import type { Gap } from "./pages.ts";
import type { ScreenSnapshot } from "./snapshot.ts";

/**
 * What happened at an offset of the log besides its bytes. `lost`: the sidecar gave back the bytes up to `to` before
 * they were read.
 */
export type LogEvent =
  | { readonly offset: number; readonly kind: "resize"; readonly cols: number; readonly rows: number }
  | { readonly offset: number; readonly kind: "break" | "break-screen" }
  | { readonly offset: number; readonly kind: "lost"; readonly to: number };

/** A document's state at an offset. */
export interface Candidate {
  readonly offset: number;
  readonly screen: ScreenSnapshot;
  pager: PagerSnapshot;
  /** Undefined while nothing is held. */
  readonly frames?: FramesSnapshot | undefined;
  /** What happened since, in order. */
  readonly events: LogEvent[];
}

const MAX_CANDIDATES = 16;

/** Keeps few candidates: the newest of each page, and none of the later pages where too many wait. */
export class Checkpoints {
  #candidates: Candidate[];

  constructor(first: Candidate | undefined) {
    this.#candidates = first === undefined ? [] : [first];
  }

  /** Adds the state of now; undefined when there is none here (within an escape sequence). */
  add(candidate: Candidate | undefined): void {
    if (candidate === undefined) return;
    if (this.#candidates.at(-1)?.pager.index === candidate.pager.index) this.#candidates.pop();
    this.#candidates.push(candidate);
    // Pages are delivered in order: the early states are the next ones needed.
    if (this.#candidates.length > MAX_CANDIDATES) this.#candidates.splice(-2, 1);
  }

  /** Something happened that the log does not tell. */
  record(event: LogEvent): void {
    for (const candidate of this.#candidates) candidate.events.push(event);
  }

  /** The newest state before which every page is delivered. Older ones are not needed any more. */
  newest(confirmed: number): Candidate | undefined {
    const index = this.#candidates.findLastIndex(
      ({ pager }) => (pager.gap?.index ?? pager.index) <= confirmed,
    );
    if (index < 0) return undefined;
    this.#candidates = this.#candidates.slice(index);
    return this.#candidates[0];
  }

  /**
   * `count` pages from `from` on became one gap of this size. A state at the gap's end goes on with the gap as it is
   * now, also when the gap has grown since: so the mark follows a flood, however long it is.
   */
  collapse(from: number, count: number, size: Gap): void {
    const kept: Candidate[] = [];
    let within: Candidate | undefined;
    for (const candidate of this.#candidates) {
      const { pager } = candidate;
      if (pager.index <= from) kept.push(candidate);
      else if (pager.index === from + count) {
        candidate.pager = { ...pager, index: from + 1, gap: { index: from, size } };
        within = candidate;
      } else if (pager.index > from + count) {
        candidate.pager = { ...pager, index: pager.index - count + 1 };
        if (within !== undefined) kept.push(within);
        within = undefined;
        kept.push(candidate);
      } else if (pager.gap?.index === from) within = candidate;
    }
    if (within !== undefined) kept.push(within);
    this.#candidates = kept;
  }
}
