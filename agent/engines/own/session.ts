/** A session with one process of this engine: lines for it, and its lines as events, which it makes itself. */
import { createHash } from "node:crypto";
import { type EventBody, type EventType, toEvent } from "../../../shared/agent/events.ts";
import type { ThreadFold } from "../../../shared/agent/fold-types.ts";
import type { Line } from "../../../shared/agent/jsonl.ts";
import { without } from "../../../shared/own-value.ts";
import type {
  Answer,
  ContentPart,
  DeliveryMarks,
  EngineControl,
  EngineSession,
  EngineState,
  HeldCall,
  OpenRequest,
  SessionRequest,
  TranslateContext,
} from "../../engine.ts";
import { SentLines } from "../../folder/sent-lines.ts";
import { keepPicture } from "./pictures.ts";
import { type FromOwn, fromOwn, nameOfOrdered, type ToOwn, type Verdict } from "./protocol.ts";

/** The events that the process may tell. All others in a transcript are the runner's, or a person's. */
const ITS_OWN: readonly EventType[] = [
  "engine_start",
  "delivery_update",
  "turn_start",
  "turn_end",
  "step_start",
  "step_end",
  "agent_message",
  "agent_thought",
  "tool_call",
  "tool_call_update",
  "permission_request",
  "permission_response",
  "elicitation_request",
  "elicitation_response",
  "compaction_update",
  "usage_update",
  "spend_update",
  "current_mode_update",
  "config_update",
  "background_update",
  "notice",
];
const PLACE = { seq: 1, id: "r0.0", ts: "2000-01-01T00:00:00.000Z" };
const MAX_RECEIVED = 5;
const NOT_FROM_A_PERSON = "[This message was not written by a person of this thread.]";

export class OwnSession implements EngineSession {
  /** It takes no delivery, answer or control twice. */
  readonly hasReadAll = true;
  readonly #folder: string;
  readonly #textAt: SessionRequest["textAt"];
  readonly #sent: SentLines | undefined;
  #state: EngineState;

  constructor({ launch: { generation }, folder, isOurs, textAt }: SessionRequest) {
    this.#textAt = textAt;
    this.#state = { generation, isOpen: false, requests: {}, received: [], isBusy: false, live: {} };
    this.#folder = folder;
    this.#sent = isOurs ? SentLines.begin(folder, generation) : SentLines.find(folder, generation);
  }

  get state(): EngineState {
    return this.#state;
  }

  start(): string[] {
    return this.#state.isOpen ? [] : [lineOf({ op: "open" })];
  }

  deliver(deliveryId: string, content: readonly ContentPart[], { isForeign }: DeliveryMarks): string {
    const parts = content.map((part) =>
      part.type === "text" ? part : { type: part.type, mimeType: part.mimeType, uri: part.uri ?? "" },
    );
    const mark = { type: "text" as const, text: NOT_FROM_A_PERSON };
    return lineOf({ op: "deliver", deliveryId, parts: isForeign ? [mark, ...parts] : parts });
  }

  answer({ requestId }: OpenRequest, answer: Answer): string {
    const verdict = verdictOf(requestId, answer);
    this.#sent?.note({ kind: "answer", id: requestId, body: bodyOf(verdict) });
    return lineOf({ op: "answer", verdict });
  }

  control(control: EngineControl): string {
    switch (control.op) {
      case "rules":
        return this.#ordered(`rules-${control.seq}`, {
          op: "rules",
          seq: control.seq,
          ask: [...control.ask],
        });
      case "cost":
        return lineOf({ op: "cost", id: control.id });
      case "end":
        return lineOf({ op: "end" });
      default:
        return this.#ordered(nameOfOrdered(control), { op: "control", control });
    }
  }

  hear(line: Line, context: TranslateContext): EventBody[] | "forged" {
    const said = fromOwn.parse(JSON.parse(line.text));
    const events = said.events.map(bodyOfEvent).map((event) => trulyRefused(event, context.fold));
    if (this.#isForged(said, events, context)) return "forged";
    for (const picture of said.pictures ?? []) keepPicture(this.#folder, picture);
    this.#state = heard(this.#state, said, events, line);
    return events;
  }

  callOf({ requestId, byte, bytes }: OpenRequest): HeldCall | undefined {
    const { requests = [] } = fromOwn.parse(JSON.parse(this.#textAt(byte, bytes)));
    return requests.find((one) => one.requestId === requestId)?.what;
  }

  unready(): string[] {
    return [];
  }

  close(): void {
    this.#sent?.close();
  }

  #ordered(id: string, line: ToOwn): string {
    this.#sent?.note({ kind: "request", id, body: "" });
    return lineOf(line);
  }

  /** A command of the agent's can write into the program's input as the runner can. */
  #isForged(
    { closed = [], did }: FromOwn,
    events: readonly EventBody[],
    { fold }: TranslateContext,
  ): boolean {
    if (events.some((event) => isForeign(event, did, fold.deliveryIds))) return true;
    const sent = this.#sent;
    if (!sent) return false;
    const isAnswered = closed.some(
      ({ requestId: id, verdict }) =>
        verdict !== undefined && !sent.takes({ kind: "answer", id, body: bodyOf(verdict) }),
    );
    return isAnswered || (did !== undefined && !sent.takes({ kind: "request", id: did, body: "" }));
  }
}

/** Corrects the reason of a refusal: the program says `locked` also if a gate refused its call. */
function trulyRefused(event: EventBody, { lockedOut = [] }: ThreadFold): EventBody {
  if (event.type !== "tool_call_update" || event.reason !== "locked") return event;
  const { toolCallId } = event;
  // A call has a lock for each file that it writes.
  const isLocked = lockedOut.some((id) => id === toolCallId || id.startsWith(`${toolCallId}.`));
  return isLocked ? event : { ...event, reason: "denied" };
}

/** Whether only a person, or the runner, could have said that. @param did what the line says that it was told */
function isForeign(event: EventBody, did: string | undefined, deliveryIds: readonly string[]): boolean {
  switch (event.type) {
    case "delivery_update":
      return !deliveryIds.includes(event.deliveryId);
    case "permission_response":
      return event.outcome !== "cancelled";
    case "elicitation_response":
      return event.action !== "cancel";
    case "current_mode_update":
      return did?.startsWith("mode-") !== true || !did.endsWith(`-${event.modeId}`);
    case "config_update":
      return did?.startsWith("model-") !== true;
    default:
      return false;
  }
}

/** The state after a line. Pure. */
function heard(state: EngineState, said: FromOwn, events: readonly EventBody[], line: Line): EngineState {
  const { requests = [], closed = [], received, live } = said;
  const place = { isBeforeCall: false, byte: line.byte, bytes: line.bytes };
  let open = state.requests;
  for (const { what: _, ...request } of requests)
    open = { ...open, [request.requestId]: { ...place, ...request } as OpenRequest };
  for (const { requestId } of closed) open = without(open, requestId);
  const chat = events.reduce<EngineState["chat"]>((found, event) => {
    if (event.type === "step_start" && event.kind === "chat") return { stepId: event.stepId };
    return event.type === "step_end" ? null : found;
  }, state.chat);
  const begins = events.some(({ type }) => type === "turn_start");
  return {
    ...state,
    requests: open,
    ...(chat !== undefined && { chat }),
    ...(said.isOpen && { isOpen: true }),
    ...(said.isBusy !== undefined && { isBusy: said.isBusy }),
    ...(received !== undefined && { received: [...state.received, received].slice(-MAX_RECEIVED) }),
    ...(said.costFor !== undefined && { costFor: said.costFor }),
    ...((said.takesUpNothing || begins) && { takesUpNothing: !begins }),
    live: (live ?? (events.length > 0 ? {} : state.live)) as EngineState["live"],
  };
}

/** @throws Error if it is none, or one that the process may not tell of */
function bodyOfEvent(told: { type: string }): EventBody {
  const event = toEvent({ ...told, ...PLACE });
  if (!event || !ITS_OWN.includes(event.type)) throw new Error(`no event of this engine: ${told.type}`);
  const { seq: _, id: __, ts: ___, blobs: ____, ...body } = event;
  return body as EventBody;
}

function verdictOf(requestId: string, answer: Answer): Verdict {
  if ("refusal" in answer) return { requestId, goesOn: false, text: answer.refusal };
  if ("reply" in answer) {
    if (answer.reply === "go_on")
      return { requestId, goesOn: true, ...(answer.news !== undefined && { text: answer.news }) };
    return { requestId, goesOn: false, ...(answer.reply === "stop" && { text: answer.reason }) };
  }
  const { response } = answer;
  if (response.kind === "elicitation") {
    const { action, content = {} } = response;
    return action === "accept"
      ? { requestId, goesOn: true, text: answersText(content) }
      : { requestId, goesOn: false, text: "The person declined to answer." };
  }
  const { optionId, message } = response;
  const goesOn = optionId !== "no";
  const text = message === undefined ? undefined : `The person denied this call and says: ${message}`;
  return { requestId, goesOn, optionId, ...(!goesOn && text !== undefined && { text }) };
}

/** For the model. */
function answersText(content: Readonly<Record<string, string>>): string {
  const lines = Object.entries(content).map(([question, answer]) => `${question}\n${answer}`);
  return ["The person answers:", ...lines].join("\n\n");
}

function bodyOf(verdict: Verdict): string {
  const { requestId, goesOn, text = "", optionId = "" } = verdict;
  return createHash("sha256")
    .update(JSON.stringify([requestId, goesOn, text, optionId]))
    .digest("hex");
}

function lineOf(line: ToOwn): string {
  return JSON.stringify(line);
}
