/** The small text that brings a document back after its process died. Pure. */
import { deflateRawSync, inflateRawSync } from "node:zlib";
import type { Candidate, LogEvent } from "./checkpoints.ts";
import type { FramesSnapshot } from "./frames.ts";
import type { PagerSnapshot } from "./pager.ts";
import type { ScreenSnapshot } from "./snapshot.ts";

/** Read the log from `offset` on, into `Document.restore`. */
export interface Mark {
  readonly offset: number;
  /** The first page that is not delivered for good. */
  readonly page: number;
  /** Opaque ASCII. */
  readonly state: string;
  /** How many full-screen programs there were until then. */
  readonly alternates: number;
}

interface MarkState {
  readonly version: 1;
  readonly screen: ScreenSnapshot;
  readonly pager: PagerSnapshot;
  /** Missing while nothing is held, and in marks of versions that held nothing. */
  readonly frames?: FramesSnapshot | undefined;
  readonly events: readonly LogEvent[];
}

/** The state as a mark, or undefined when `state` would be longer than `maxBytes`. */
export function encodeMark(
  candidate: Candidate,
  pending: readonly LogEvent[],
  maxBytes: number,
): Mark | undefined {
  const { screen, pager, frames, events } = candidate;
  const content: MarkState = { version: 1, screen, pager, frames, events: [...events, ...pending] };
  const state = deflateRawSync(JSON.stringify(content), { level: 9 }).toString("base64");
  if (state.length > maxBytes) return undefined;
  const { alternates } = screen;
  return { offset: candidate.offset, page: pager.gap?.index ?? pager.index, state, alternates };
}

/** @throws Error when `state` is not a mark of this version. */
export function decodeMark(mark: Pick<Mark, "state">): MarkState {
  const content = JSON.parse(
    inflateRawSync(Buffer.from(mark.state, "base64"), { maxOutputLength: 4_000_000 }).toString(),
  );
  if (content?.version !== 1) throw new Error("the mark is of another version");
  return content as MarkState;
}
