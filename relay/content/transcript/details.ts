/** What stands behind a message of an agent thread: its steps with what went in, what came out and what changed. Pure. */
import { type DetailPart, detailParts, inputParts } from "../../../shared/agent/detail.ts";
import { diffLines } from "../../../shared/agent/diff.ts";
import type { EventOf, ThreadEvent } from "../../../shared/agent/events.ts";
import { plainRemarkOf } from "../../../shared/agent/plain-remark.ts";
import { writeOutHidden } from "../../../shared/clean-text.ts";
import { formatCount } from "../../../shared/format-count.ts";
import { fitLines, MAX_LIST_UNITS } from "../lists/lines.ts";
import { who } from "./ask.ts";
import { plainParts, renderParts } from "./ask-detail.ts";
import { clipEnd, inline } from "./inline.ts";
import { outcomeOf } from "./outcome.ts";

type Call = EventOf<"tool_call">;
type Result = EventOf<"tool_call_update">;

/** The name of a message in the ledger: of what kind it is, and with which event it begins. */
export interface MessageKey {
  kind: string;
  seq: number;
}

/** One thing that happened, in a line, and all that belongs to it. */
export interface DetailSection {
  title: string;
  /** Who did it, if a person did. */
  by?: string | undefined;
  parts: readonly DetailPart[];
}

/** Undefined for a message of another kind, such as the bot's answers. */
export function parseKey(key: string): MessageKey | undefined {
  const [, kind = "", seq = ""] = /^([a-z])(\d{1,15})(?:\.\d+)?$/.exec(key) ?? [];
  return kind === "" ? undefined : { kind, seq: Number(seq) };
}

/** The number with which the next message begins. */
export function nextSeq(seq: number, keys: readonly string[]): number {
  const later = keys.flatMap((key) => parseKey(key)?.seq ?? []).filter((other) => other > seq);
  return Math.min(Number.POSITIVE_INFINITY, ...later);
}

/** Whether these events end a turn before anything else is done: the words before them are a turn's last. */
export function isTurnsEnd(events: readonly ThreadEvent[]): boolean {
  const next = events.find(
    ({ type }) => type === "tool_call" || type === "turn_end" || type === "permission_request",
  );
  return next?.type === "turn_end";
}

/**
 * The calls that began in a part of a transcript.
 * @param until the event with which the next message begins.
 */
export function stepSections(events: readonly ThreadEvent[], from: number, until: number): DetailSection[] {
  const calls = events.filter(
    (event): event is Call => event.type === "tool_call" && event.seq >= from && event.seq < until,
  );
  const isOver = events.some(({ type }) => type === "turn_end");
  return calls.map((call) => callSection(call, findResult(events, call.toolCallId), isOver));
}

/** What calls changed, a section for each edit. */
export function diffSections(events: readonly ThreadEvent[]): DetailSection[] {
  return events.flatMap((event) => {
    if (event.type !== "tool_call_update" || event.status !== "completed") return [];
    return (event.content ?? []).flatMap((part) => {
      if (part.type !== "diff") return [];
      const text = diffText(part.oldText ?? "", part.newText);
      return [{ title: part.path, parts: [{ name: "", language: "diff", text }] }];
    });
  });
}

/** An ask, what was decided, and what came of it. */
export function askSections(events: readonly ThreadEvent[], seq: number): DetailSection[] {
  const request = events.find((event) => event.seq === seq);
  if (request?.type !== "permission_request" && request?.type !== "elicitation_request") return [];
  const ids = new Set([request.requestId]);
  for (const event of events) {
    const isAgain = event.type === "permission_request" || event.type === "elicitation_request";
    if (isAgain && event.replaces !== undefined && ids.has(event.replaces)) ids.add(event.requestId);
  }
  const responses = events.filter(
    (event) =>
      (event.type === "permission_response" || event.type === "elicitation_response") &&
      ids.has(event.requestId) &&
      event.reason !== "replaced",
  );
  const call = events.find(
    (event): event is Call => event.type === "tool_call" && event.toolCallId === request.toolCallId,
  );
  // The call itself tells what it was given; a plan, a question and what a directory brings stand in the request.
  const asked = request.type === "permission_request" && !request.plan && !request.trust ? call : undefined;
  const title = `Asked: ${request.type === "permission_request" ? request.title : request.message}`;
  return [
    { title, parts: asked ? [] : askParts(request, call) },
    ...responses.map((response) => decisionSection(request, response)),
    ...(asked ? [callSection(asked, findResult(events, asked.toolCallId), false)] : []),
  ];
}

/** Words, a failure or a notice: whole, as they were written. */
export function textSection(event: ThreadEvent): DetailSection | undefined {
  const part = (text: string, language = ""): DetailPart[] => [{ name: "", language, text }];
  switch (event.type) {
    case "agent_message":
      return { title: "What the agent wrote", parts: part(event.text, "md") };
    case "failure":
      return { title: `It could not go on (${event.code})`, parts: part(event.message) };
    case "user_message": {
      const texts = event.content.map((block) => (block.type === "text" ? block.text : block.uri));
      return { title: `A message from ${event.source}`, parts: part(texts.join("\n")) };
    }
    case "initial_message":
      return { title: `Before this thread: ${event.role}`, parts: part(event.text) };
    case "message_sent":
      return { title: `A message to ${event.threadId}`, parts: part(event.text) };
    default: {
      const remark = plainRemarkOf(event);
      return remark && { title: remark.title, parts: part(remark.text) };
    }
  }
}

/** Which model was called, how often, and what it read and wrote. */
export function modelLine(events: readonly ThreadEvent[]): string {
  const chats = events.flatMap((event) =>
    event.type === "step_end" && event.usage ? [{ model: event.model, usage: event.usage }] : [],
  );
  if (chats.length === 0) return "";
  const models = [...new Set(chats.flatMap(({ model }) => model ?? []))].map((model) => inline(model, 60));
  const sum = (of: "inputTokens" | "outputTokens") =>
    formatCount(chats.reduce((total, { usage }) => total + usage[of], 0));
  const calls = `${chats.length} ${chats.length === 1 ? "call" : "calls"} of the model`;
  const parts = [...models, calls, `${sum("inputTokens")} tokens in, ${sum("outputTokens")} out`];
  return `-# ${clipEnd(parts.join(" · "), 300)}`;
}

/** The units that each part may take, from most to least; at last the titles alone. */
const ROOMS = [1_800, 600, 300, 120];
/** If there are more sections, only their titles are tried. */
const MAX_SHOWN = 20;
/** Nothing beyond this is looked at for a message. */
const MAX_LOOKED_AT = 4_000;

/**
 * As one message.
 * @param below a line of ours that must stand there.
 */
export function renderSections(
  head: string,
  sections: readonly DetailSection[],
  below = "",
): { text: string; isClipped: boolean } {
  const foot = below === "" ? "" : `\n${below}`;
  const isTitleCut = sections.some(({ title }) => title.length > MAX_TITLE);
  for (const room of sections.length > MAX_SHOWN ? [] : ROOMS) {
    const blocks = sections.map((section) => ({
      line: titleLine(section),
      ...renderParts(section.parts.map(beginning), room),
    }));
    const lines = [head, ...blocks.flatMap(({ line, text }) => (text === "" ? [line] : [line, text]))];
    const whole = lines.join("\n") + foot;
    if (whole.length > MAX_LIST_UNITS) continue;
    return { text: whole, isClipped: isTitleCut || blocks.some(({ isClipped }) => isClipped) };
  }
  return { text: fitLines(`${head}${foot}`, sections.map(titleLine)), isClipped: true };
}

function beginning(part: DetailPart): DetailPart {
  if (part.text.length <= MAX_LOOKED_AT) return part;
  return { ...part, text: part.text.slice(0, MAX_LOOKED_AT), wholeBytes: Buffer.byteLength(part.text) };
}

const MAX_TITLE = 140;

function titleLine({ title, by }: DetailSection): string {
  return `**${inline(title, MAX_TITLE)}**${by === undefined ? "" : ` by ${who(by)}`}`;
}

/**
 * As plain text, for a file.
 * @param max units; what begins behind them is left out, and said so.
 */
export function plainSections(sections: readonly DetailSection[], max: number): string {
  let text = "";
  for (const [index, { title, by, parts }] of sections.entries()) {
    if (text.length > max) return `${text}## … and ${sections.length - index} more\n`;
    const body = plainParts(parts.filter(({ text, name }) => text !== "" || name !== ""));
    const name = writeOutHidden(title.replace(/\s+/g, " "));
    text += `## ${name}${by === undefined ? "" : ` by ${by}`}\n\n${body === "" ? "" : `${body}\n\n`}`;
  }
  return text;
}

function callSection(call: Call, result: Result | undefined, isOver: boolean): DetailSection {
  const mark = result ? (result.status === "failed" ? "✗" : "✓") : isOver ? "✗" : "◌";
  const outcome = result ? outcomeOf(result) : isOver ? "no result" : "runs";
  const parts = [...(result?.content ?? [])].map((part): DetailPart => {
    if (part.type === "diff") {
      return { name: part.path, language: "diff", text: diffText(part.oldText ?? "", part.newText) };
    }
    const { content } = part;
    return { name: "Output", language: "", text: content.type === "text" ? content.text : content.uri };
  });
  const isChangeShown = parts.some(({ language }) => language === "diff");
  return {
    title: `${mark} ${call.parentToolCallId === undefined ? "" : "↳ "}${call.title}${outcome === "" ? "" : ` · ${outcome}`}`,
    parts: [...inputParts(call, isChangeShown), ...parts],
  };
}

function findResult(events: readonly ThreadEvent[], toolCallId: string): Result | undefined {
  return events.find(
    (event): event is Result =>
      event.type === "tool_call_update" && event.toolCallId === toolCallId && event.status !== "in_progress",
  );
}

export function diffText(before: string, after: string): string {
  return diffLines(before, after)
    .map(({ sign, text }) => (sign === "…" ? `@@ ${text} @@` : `${sign}${text}`))
    .join("\n");
}

function askParts(
  request: EventOf<"permission_request"> | EventOf<"elicitation_request">,
  call: Call | undefined,
): DetailPart[] {
  if (request.type === "permission_request") return detailParts(request, call);
  return request.questions.map(({ question, options }) => ({
    name: question,
    language: "",
    text: options
      .map(({ label, description = "" }, i) => `${i + 1}. ${label} ${description}`.trimEnd())
      .join("\n"),
  }));
}

function decisionSection(request: ThreadEvent, response: ThreadEvent): DetailSection {
  if (response.type === "elicitation_response") {
    const answers = Object.values(response.content ?? {}).join(" · ");
    const title = answers === "" ? `Closed: ${response.action}` : `Answered: ${answers}`;
    return { title, by: response.by, parts: [] };
  }
  if (response.type !== "permission_response") return { title: "", parts: [] };
  const options = request.type === "permission_request" ? request.options : [];
  const name = options.find(({ optionId }) => optionId === response.optionId)?.name;
  const because = response.message === undefined ? "" : `: ${response.message}`;
  const title = name ?? `Closed: ${response.reason ?? "it is not asked any more"}`;
  return { title: `${title}${because}`, by: response.by, parts: [] };
}
