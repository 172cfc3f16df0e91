/** What a transcript shows in its Discord thread, entry by entry, in the order in which people read them. */
import type { EventOf } from "../../../shared/agent/events.ts";
import type { Change } from "../../../shared/agent/outcome.ts";
import type { PlainRemark } from "../../../shared/agent/plain-remark.ts";
import type { TurnRest } from "../../../shared/agent/turn-rest.ts";
import type { ActivityLines } from "./activity-lines.ts";

interface EntryBase {
  /** The sequence number of the event that began it: its message's name is made from it. */
  readonly seq: number;
  /** The event from which it can be told again: where its turn began, or `seq` outside of a turn. */
  readonly since: number;
  /** The event from which it, and all entries behind it, can be told again. */
  reach: number;
}

/** What the agent does, a line a step: one message, edited in place until it is sealed. */
export interface Activity extends EntryBase {
  kind: "activity";
  /** The turn that *Stop* ends. */
  turnId: string;
  readonly lines: ActivityLines;
  isSealed: boolean;
}

/** Words of the agent that stand alone. */
export interface Words extends EntryBase {
  kind: "words";
  /** The text as messages: split when it comes, and never again. */
  pages: readonly string[];
  /** The last words of a turn notify; words in between do not. */
  isFinal: boolean;
  /** What stands below the last words: how the turn went. */
  end?: TurnEnd;
}

export interface TurnEnd {
  stopReason: EventOf<"turn_end">["stopReason"];
  /** Why the turn was `interrupted`, if nothing broke. */
  rest?: TurnRest | undefined;
  /** The next events may tell why. */
  isUnsure?: boolean;
  error: string | undefined;
  steps: number;
  durationMs: number | undefined;
  tokens: number | undefined;
  costUsd: number | undefined;
  contextPercent: number | undefined;
  /** What its edits did; `NO_CHANGE` if it edited nothing. */
  change: Change;
  /** What it changed in the work tree; undefined if it changed nothing. */
  changes: EventOf<"turn_changes"> | undefined;
}

/** The end of a turn without last words. */
export interface End extends EntryBase {
  kind: "end";
  end: TurnEnd;
}

export interface Ask extends EntryBase {
  kind: "ask";
  request: EventOf<"permission_request"> | EventOf<"elicitation_request">;
  /** The call that is asked about. */
  call: EventOf<"tool_call"> | undefined;
  /** The newest request's id: the ask may be asked again after a restart, in the same message. */
  requestId: string;
  response: EventOf<"permission_response"> | EventOf<"elicitation_response"> | undefined;
  /** Who decided: an answer that is given once more to an engine that came back names nobody. */
  decidedBy?: NonNullable<Ask["response"]>["by"];
  /** It is answered, and asked again in the same message if the engine dies before it has heard that. */
  mayComeBack?: boolean;
}

/** What was said before the thread began: one message, to which nothing is added once the thread's own begin. */
export interface Initial extends EntryBase {
  kind: "initial";
  messages: Pick<EventOf<"initial_message">, "role" | "text">[];
  isSealed: boolean;
}

export interface Remark extends EntryBase {
  kind: "remark";
  event:
    | EventOf<"failure">
    | EventOf<"undo">
    | (EventOf<"control"> & { op: "mark" })
    | EventOf<"file_sent">
    | EventOf<"memory_write">
    | EventOf<"message_sent">
    | EventOf<"user_message">
    | EventOf<"message_edit">
    | EventOf<"message_withdraw">;
}

/** A line with words below it. */
export interface Plain extends EntryBase {
  kind: "plain";
  remark: PlainRemark;
}

/** Messages that are left out, as more waited than Discord takes in reasonable time. */
export interface Skipped extends EntryBase {
  kind: "skipped";
  /** The `seq` of the last entry that is left out. */
  readonly to: number;
  /** The number of Discord messages that they would have been. */
  messages: number;
}

export type Entry = Activity | Words | End | Ask | Initial | Remark | Plain | Skipped;
