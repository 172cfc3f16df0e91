/**
 * Transcript events → entries, one event at a time. Pure but for its own state: the same events give the same
 * entries.
 */
import { isQuestionTool } from "../../../shared/agent/engines/engines.ts";
import type { EventOf, ThreadEvent } from "../../../shared/agent/events.ts";
import { ChangeSum, countChange, NO_CHANGE } from "../../../shared/agent/outcome.ts";
import { plainRemarkOf } from "../../../shared/agent/plain-remark.ts";
import { restOf } from "../../../shared/agent/turn-rest.ts";
import { findDiscordId } from "../../../shared/principal.ts";
import { type ActivityLine, ActivityLines } from "./activity-lines.ts";
import { AskedAgain, Asks, openRequests } from "./asked-again.ts";
import type { Ask, Entry, TurnEnd } from "./entries.ts";
import { EntryList, type NewEntry, type SkippedRange } from "./entry-list.ts";
import { OpenInitial } from "./initial.ts";
import { outcomeOf } from "./outcome.ts";
import { splitMarkdown } from "./split.ts";
import { StepLines, stepLine } from "./step-lines.ts";
import { TurnSum } from "./turn-sum.ts";

/** Longer narration is a message of its own. */
const MAX_NARRATION_LINES = 3;
const MAX_NARRATION_CHARACTERS = 300;

interface OpenTurn {
  id: string;
  /** Where it began, or what stands in its first message, though it was said before. */
  since: number;
  readonly change: ChangeSum;
  changes?: EventOf<"turn_changes">;
}

export class Story {
  readonly #entries: EntryList;
  /** What the agent said last: narration if it goes on with a call, its last words if the turn ends. */
  #spoken: EventOf<"agent_message"> | undefined;
  #turn: OpenTurn | undefined;
  #contextPercent: number | undefined;
  /** Calls that may still be asked about or end, by id. */
  readonly #calls = new Map<string, EventOf<"tool_call">>();

  /** The end of a piece, until it is told why it ended. */
  #cutOff: TurnEnd | undefined;
  readonly #askedAgain = new AskedAgain();
  readonly #asks = new Asks();
  readonly #steps = new StepLines();
  readonly #initial = new OpenInitial();
  readonly #sum = new TurnSum();

  readonly #isPrivate: boolean;

  /**
   * @param isPrivate nothing that the agent writes or does is told: its asks, its ends and its failures are
   * @param skipped the ranges that an earlier process has left out
   * @param hasMessage whether there may be a message of an ask
   */
  constructor(
    isPrivate = false,
    skipped: readonly SkippedRange[] = [],
    hasMessage: (ask: Ask) => boolean = () => true,
  ) {
    this.#isPrivate = isPrivate;
    this.#entries = new EntryList(skipped, { has: hasMessage, leaveOut: (ask) => this.#asks.forget(ask) });
  }

  get entries(): readonly Entry[] {
    return this.#entries.told;
  }

  /** The turn that goes on. */
  get turnId(): string | undefined {
    return this.#turn?.id;
  }

  /** The event from which everything that may still change, or is still to be told, can be told again. */
  get openSince(): number | undefined {
    const others = [this.#entries.since, this.#turn?.since, this.#sum.since, this.#spoken?.seq];
    const since = Math.min(...others.map((seq) => seq ?? Number.POSITIVE_INFINITY));
    return since === Number.POSITIVE_INFINITY ? undefined : this.#askedAgain.reachBack(since);
  }

  /** The newest entry that is worth the thread's buttons; undefined if there is none, or if it is forgotten. */
  get carrier(): Entry | undefined {
    return this.#entries.carrier;
  }

  /** Forgets these of the first `count` entries: their messages stay as they are. */
  forget(entries: ReadonlySet<Entry>, count: number): void {
    this.#entries.forget(entries, count);
    for (const entry of entries) if (entry.kind === "ask") this.#asks.forget(entry);
  }

  /** Leaves out entries that are too many for Discord, as {@link EntryList.skipOld} says. */
  skipOld(listed: number): SkippedRange | undefined {
    return this.#entries.skipOld(listed);
  }

  /** What comes from now on stands in a new activity. @returns whether there was one that goes on. */
  breakActivity(): boolean {
    const activity = this.#entries.openActivity;
    if (activity) activity.isSealed = true;
    return activity !== undefined;
  }

  add(event: ThreadEvent): void {
    this.#tellRest(event);
    this.#sum.note(event);
    switch (event.type) {
      case "turn_start":
        this.#turn = { id: event.turnId, since: this.#adoptBefore(event), change: new ChangeSum() };
        if (event.cause === "resume")
          this.#line(event.seq, { kind: "remark", text: "↻ goes on where it was cut off" });
        if (event.cause === "task")
          this.#line(event.seq, { kind: "remark", text: "↻ a background task has news" });
        return;
      case "user_message":
        this.#hear(event);
        return;
      case "agent_message":
        if (this.#isPrivate || event.parentToolCallId !== undefined) return; // a sub-agent's words are its caller's to tell
        this.#speakAsNarration();
        this.#spoken = event;
        return;
      case "tool_call":
        this.#beginCall(event);
        return;
      case "tool_call_update":
        this.#asks.end(event);
        this.#endCall(event);
        return;
      case "step_start":
        this.#line(event.seq, stepLine(`step:${event.stepId}`, event.title, event.ts));
        return;
      case "step_update": {
        const line = this.#steps.find(`step:${event.stepId}`);
        if (line) line.title = event.title;
        return;
      }
      case "step_end":
        // A call of the model is worth a line only while it runs: its words and calls tell the rest.
        this.#steps.drop(`step:${event.stepId}`);
        return;
      case "permission_request":
      case "elicitation_request":
        this.#ask(event);
        return;
      case "permission_response":
      case "elicitation_response":
        this.#answer(event);
        return;
      case "usage_update":
        this.#contextPercent = event.size > 0 ? Math.round((100 * event.used) / event.size) : undefined;
        return;
      case "turn_changes":
        if (this.#turn) this.#turn.changes = event;
        return;
      case "turn_end":
        this.#asks.end(event);
        this.#endTurn(event);
        return;
      default:
        this.#remark(event);
    }
  }

  /** What is told outside of turns' steps and words. */
  #remark(event: ThreadEvent): void {
    if (this.#isPrivate && (event.type === "message_sent" || event.type === "initial_message")) return;
    switch (event.type) {
      case "initial_message":
        this.#addInitial(event);
        return;
      case "message_sent":
      case "file_sent":
        this.#speakAsNarration();
        this.breakActivity();
        this.#push({ kind: "remark", seq: event.seq, event: this.#isPrivate ? bare(event) : event });
        return;
      case "memory_write":
        // The ask itself shows the call.
        if (event.state === "waiting") return;
        this.#speakAsNarration();
        this.breakActivity();
        this.#push({ kind: "remark", seq: event.seq, event });
        return;
      case "undo":
      case "failure":
        this.#push({ kind: "remark", seq: event.seq, event });
        return;
      case "control":
        if (event.op === "mark") this.#push({ kind: "remark", seq: event.seq, event });
        return;
      case "message_edit":
      case "message_withdraw":
        // Changed in time: the message itself shows it.
        if (!event.applied) this.#push({ kind: "remark", seq: event.seq, event });
        return;
      default: {
        const remark = plainRemarkOf(event);
        if (remark?.severity === "info") this.#line(event.seq, { kind: "remark", text: remark.title });
        else if (remark) this.#push({ kind: "plain", seq: event.seq, remark });
      }
    }
  }

  #hear(event: EventOf<"user_message">): void {
    if (this.#isPrivate) return;
    this.#speakAsNarration();
    this.breakActivity();
    this.#initial.seal();
    // What is asked about is shown by the ask.
    if (findDiscordId(event.source) === undefined && !event.held)
      this.#push({ kind: "remark", seq: event.seq, event });
  }

  #addInitial({ seq, role, text }: EventOf<"initial_message">): void {
    if (this.#initial.add({ role, text })) return;
    this.#initial.open(this.#push({ kind: "initial", seq, messages: [{ role, text }], isSealed: false }));
  }

  #beginCall(event: EventOf<"tool_call">): void {
    this.#calls.set(event.toolCallId, event);
    this.#speakAsNarration();
    if (event.parentToolCallId !== undefined || isQuestionTool(event.name)) return;
    if (this.#turn) this.#sum.countStep();
    this.#line(event.seq, { ...stepLine(event.toolCallId, event.title, event.ts), name: event.name });
  }

  #endCall(event: EventOf<"tool_call_update">): void {
    if (event.status === "in_progress") return;
    if (event.status === "completed") this.#turn?.change.add(countChange(event));
    const state = event.status === "failed" ? "failed" : "done";
    if (!this.#steps.end(event.toolCallId, state, () => outcomeOf(event))) return;
    this.#calls.delete(event.toolCallId);
  }

  #ask(request: EventOf<"permission_request"> | EventOf<"elicitation_request">): void {
    this.#speakAsNarration();
    const { requestId, replaces, seq } = request;
    const call = this.#calls.get(request.toolCallId);
    const earlier = this.#asks.find(replaces ?? requestId);
    if (earlier) {
      this.#askedAgain.note(seq, earlier.since);
      this.#asks.forget(earlier);
      Object.assign(earlier, { request, requestId, call: call ?? earlier.call, response: undefined });
      this.#asks.add(earlier);
      return;
    }
    const activity = this.#entries.openActivity;
    if (activity) activity.isSealed = true;
    this.#asks.add(this.#push({ kind: "ask", seq, request, requestId, call, response: undefined }));
  }

  #answer(response: EventOf<"permission_response"> | EventOf<"elicitation_response">): void {
    // "replaced": it is about to be asked again, in the same message.
    if (response.reason !== "replaced") this.#asks.answer(response);
  }

  #endTurn(event: EventOf<"turn_end">): void {
    const activity = this.#entries.openActivity;
    if (activity) activity.isSealed = true;
    const isCutOff = event.stopReason === "interrupted";
    const end: TurnEnd = {
      stopReason: event.stopReason,
      ...(event.usageLimit && { rest: "provider" }),
      ...(isCutOff && !event.usageLimit && { isUnsure: true }),
      error: event.error,
      ...this.#sum.end(event),
      contextPercent: this.#contextPercent,
      change: this.#turn?.change.sum ?? NO_CHANGE,
      changes: this.#turn?.changes,
    };
    const spoken = this.#spoken;
    this.#spoken = undefined;
    this.#steps.settle();
    if (spoken && spoken.text.trim() !== "") {
      this.#push({
        kind: "words",
        seq: spoken.seq,
        pages: splitMarkdown(spoken.text).pages,
        isFinal: true,
        end,
      });
    } else {
      this.#push({ kind: "end", seq: event.seq, end });
    }
    this.#cutOff = end.isUnsure ? end : undefined;
    this.#turn = undefined;
    this.#calls.clear();
  }

  /** Why the engine ended stands behind the end of its turn. */
  #tellRest(event: ThreadEvent): void {
    const end = this.#cutOff;
    if (!end || event.type === "delivery_update") return;
    if (event.type === "engine_end") end.rest = restOf(event, openRequests(this.#entries.all));
    end.isUnsure = false;
    this.#cutOff = undefined;
  }

  #speakAsNarration(): void {
    const spoken = this.#spoken;
    this.#spoken = undefined;
    if (!spoken || spoken.text.trim() === "") return;
    const { seq, text } = spoken;
    const isShort =
      text.length <= MAX_NARRATION_CHARACTERS && text.trim().split("\n").length <= MAX_NARRATION_LINES;
    if (isShort) {
      this.#line(seq, { kind: "narration", text: text.trim() });
      return;
    }
    const activity = this.#entries.openActivity;
    if (activity) activity.isSealed = true;
    this.#push({ kind: "words", seq, pages: splitMarkdown(text).pages, isFinal: false });
  }

  #line(seq: number, line: ActivityLine): void {
    if (this.#isPrivate) return;
    const turnId = this.#turn?.id ?? "";
    const activity =
      this.#entries.openActivity ??
      this.#push({ kind: "activity", seq, turnId, lines: new ActivityLines(), isSealed: false });
    activity.lines.add(line);
    if (line.kind === "step") this.#steps.add(line, activity);
  }

  /**
   * What the agent said, and what the thread waited for, before its turn stands in the same message.
   * @returns the event from which the turn's messages are told as they were
   */
  #adoptBefore({ turnId, seq }: EventOf<"turn_start">): number {
    const open = this.#entries.openActivity;
    if (open?.turnId === "") this.#entries.adopt(open, turnId);
    return Math.min(seq, open?.since ?? seq, this.#spoken?.seq ?? seq);
  }

  #push<E extends NewEntry>(entry: E): E & { since: number; reach: number } {
    return this.#entries.push(entry, Math.min(this.#turn?.since ?? entry.seq, entry.seq));
  }
}

/** A file without what the agent writes beside it. */
function bare<E extends ThreadEvent>(event: E): E {
  return event.type === "file_sent" ? { ...event, caption: undefined } : event;
}
