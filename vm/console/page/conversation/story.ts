/**
 * Events → rows of the page, in whatever order parts of a transcript are loaded. A row is one event that people read;
 * the result of a call belongs to its call's row, a decision to its ask's, if both are loaded. Pure but for its state.
 */
import type { EventOf, ThreadEvent } from "../../../../shared/agent/events.ts";
import { plainRemarkOf } from "../../../../shared/agent/plain-remark.ts";
import { restOf, type TurnRest } from "../../../../shared/agent/turn-rest.ts";

export type Ending = EventOf<"tool_call_update" | "permission_response" | "elicitation_response">;

export interface Row {
  readonly seq: number;
  readonly event: ThreadEvent;
  /** What became of it: of a call its result, of an ask its decision. */
  ending: Ending | undefined;
  /** A result or decision that its call's or ask's row shows. */
  isHidden: boolean;
  /** The event is of another source than the one that is looked at. */
  isOut: boolean;
  /** Whether a call or an ask without an ending may still get one. */
  isOpen: boolean;
  /** On the row of a turn's end: why the turn was cut off, if nothing broke. */
  rest: TurnRest | undefined;
  /** Counted up with every change. */
  version: number;
  /** As it was drawn last. */
  heightPx: number | undefined;
}

export class Story {
  /** Calls and asks, and their endings, by what they share. */
  readonly #heads = new Map<string, Row>();
  readonly #endings = new Map<string, Row>();
  /** Calls and asks without an ending. */
  readonly #unended = new Set<Row>();
  /** The ends of turns that were cut off. */
  readonly #cutOffs = new Set<Row>();
  /** By seq, the events that may stand between such an end and the reason for it, and the reasons. */
  readonly #behind = new Map<number, EventOf<"delivery_update" | "engine_end">>();
  /** From here on all is loaded, and no turn has ended since. */
  #openSince = Number.POSITIVE_INFINITY;

  /** Rows for the events of one part; rows of other parts may change. */
  add(events: readonly ThreadEvent[]): Row[] {
    const rows: Row[] = [];
    for (const event of events) {
      if (event.type === "delivery_update" || event.type === "engine_end") this.#behind.set(event.seq, event);
      if (!isTold(event)) continue;
      const row: Row = {
        seq: event.seq,
        event,
        ending: undefined,
        isHidden: false,
        isOut: false,
        isOpen: false,
        rest: event.type === "turn_end" && event.usageLimit ? "provider" : undefined,
        version: 0,
        heightPx: undefined,
      };
      this.#join(row);
      rows.push(row);
      if (event.type === "turn_end" && event.stopReason === "interrupted" && !row.rest)
        this.#cutOffs.add(row);
    }
    for (const row of this.#cutOffs) this.#tellRest(row);
    return rows;
  }

  /** These rows are not loaded any more. */
  forget(rows: readonly Row[]): void {
    const [first, last] = [rows[0]?.seq ?? 0, rows.at(-1)?.seq ?? 0];
    for (const seq of this.#behind.keys()) if (first < seq && seq < last) this.#behind.delete(seq);
    for (const row of rows) {
      const head = headKey(row.event);
      const end = endKey(row.event);
      if (head !== undefined && this.#heads.get(head) === row) {
        this.#heads.delete(head);
        const ending = this.#endings.get(head);
        if (ending) change(ending, { isHidden: false });
      }
      if (end !== undefined && this.#endings.get(end) === row) {
        this.#endings.delete(end);
        const call = this.#heads.get(end);
        if (call) this.#setEnding(call, undefined);
      }
      this.#unended.delete(row);
      this.#cutOffs.delete(row);
    }
  }

  /** @param seq what began after it, and has no ending, is still going on. */
  setOpenSince(seq: number): void {
    this.#openSince = seq;
    for (const row of this.#unended) this.#setOpen(row);
  }

  /** Whether a call has a row that says that it runs. */
  showsRunning(toolCallId: string): boolean {
    return this.#heads.get(`call ${toolCallId}`)?.isOpen === true;
  }

  /** Why the engine ended stands behind the end of its turn. */
  #tellRest(row: Row): void {
    let seq = row.seq + 1;
    while (this.#behind.get(seq)?.type === "delivery_update") seq += 1;
    const end = this.#behind.get(seq);
    if (end?.type !== "engine_end") return;
    const open =
      end.reason !== "parked"
        ? []
        : [...this.#heads.values()].flatMap(({ event, ending }) => {
            const isOpen = event.seq < seq && (ending === undefined || ending.seq > seq);
            const isAsk = event.type === "permission_request" || event.type === "elicitation_request";
            return isOpen && isAsk ? [event] : [];
          });
    const rest = restOf(end, open);
    if (rest !== row.rest) change(row, { rest });
  }

  #join(row: Row): void {
    const { event } = row;
    const head = headKey(event);
    if (head !== undefined) {
      this.#heads.set(head, row);
      const ending = this.#endings.get(head);
      if (ending) change(ending, { isHidden: true });
      this.#setEnding(row, ending?.event as Ending | undefined);
    }
    const end = endKey(event);
    if (end === undefined) return;
    const earlier = this.#endings.get(end);
    if (earlier && earlier.seq > row.seq) return;
    this.#endings.set(end, row);
    const call = this.#heads.get(end);
    if (!call) return;
    row.isHidden = true;
    this.#setEnding(call, event as Ending);
  }

  #setEnding(row: Row, ending: Ending | undefined): void {
    if (ending) this.#unended.delete(row);
    else this.#unended.add(row);
    if (row.ending !== ending) change(row, { ending });
    this.#setOpen(row);
  }

  #setOpen(row: Row): void {
    const isOpen = row.ending === undefined && row.seq >= this.#openSince;
    if (row.isOpen !== isOpen) change(row, { isOpen });
  }
}

function change(row: Row, fields: Partial<Row>): void {
  Object.assign(row, fields);
  row.version += 1;
}

function headKey(event: ThreadEvent): string | undefined {
  if (event.type === "tool_call") return `call ${event.toolCallId}`;
  if (event.type === "permission_request" || event.type === "elicitation_request") {
    return `ask ${event.requestId}`;
  }
  return undefined;
}

function endKey(event: ThreadEvent): string | undefined {
  if (event.type === "tool_call_update") return `call ${event.toolCallId}`;
  if (event.type === "permission_response" || event.type === "elicitation_response") {
    return `ask ${event.requestId}`;
  }
  return undefined;
}

/** Whether people read it. The rest is how the work is done: deliveries, calls of the model, processes. */
export function isTold(event: ThreadEvent): boolean {
  switch (event.type) {
    case "initial_message":
    case "user_message":
    case "message_edit":
    case "message_withdraw":
    case "tool_call":
    case "permission_request":
    case "permission_response":
    case "elicitation_request":
    case "elicitation_response":
    case "plan":
    case "turn_end":
    case "undo":
    case "control":
    case "thread_spawned":
    case "thread_ended":
    case "failure":
    case "message_sent":
    case "voice_message":
    case "voice_unanswered":
    case "file_sent":
    case "memory_write":
      return true;
    case "agent_message":
    case "agent_thought":
      return event.text.trim() !== "";
    case "tool_call_update":
    case "compaction_update":
      return event.status !== "in_progress";
    case "turn_changes":
      return event.problem === undefined;
    case "step_start":
      return event.kind === "lock";
    case "turn_start":
      return event.cause !== "message";
    case "engine_end":
      return event.reason === "crashed" || event.reason === "error";
    case "current_mode_update":
    case "config_update":
      return event.by !== undefined;
    default:
      return plainRemarkOf(event) !== undefined;
  }
}
