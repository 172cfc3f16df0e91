/** The kinds of threads: what differs between them is asked here. */
import { AppError } from "../../../shared/errors.ts";
import type { KindFacts, OwnKind } from "../../../shared/kinds.ts";
import type { Log } from "../../../shared/log.ts";
import type { Store } from "../../store/store.ts";
import type { ThreadFiles } from "../thread-files.ts";
import type { Kind } from "./kind.ts";

/** There may be more than those that come with threadmux; `kindIn` finds a thread's. */
export type Kinds = Readonly<Record<OwnKind, Kind>>;

/** A kind that comes from elsewhere, with what a program that does not know it has to be told of it. */
export interface GuestKind {
  readonly facts: KindFacts;
  make(parts: { store: Store; files: ThreadFiles; log: Log; now: () => number }): Kind;
}

/** Finds the kind of a thread that is to be made. @throws AppError `invalid_request` */
export function findKind(kinds: Readonly<Record<string, Kind>>, type: string): Kind {
  const kind = Object.hasOwn(kinds, type) ? kinds[type] : undefined;
  if (kind === undefined)
    throw new AppError("invalid_request", `type: must be one of ${Object.keys(kinds).join(", ")}.`);
  return kind;
}
