/** An ask as a message: what the agent wants, where, and the buttons that decide it. Pure. */
import type { EventOf } from "../../../shared/agent/events.ts";
import type { Button } from "../buttons.ts";
import type { Ask } from "./entries.ts";
import { clipEnd, codeBlock, inline } from "./inline.ts";

const MAX_DETAIL_UNITS = 1_300;
const MAX_LABEL_UNITS = 80;
const MAX_ID_UNITS = 100;
/** Five buttons fit a row. */
const MAX_CHOICES = 4;

type Permission = EventOf<"permission_request">;
type Question = EventOf<"elicitation_request">;

/** @param mention who is asked; undefined if nobody of Discord started the thread. */
export function askText(ask: Ask, mention: string | undefined): string {
  const { request } = ask;
  const head = request.type === "permission_request" ? permissionHead(request) : `❓ **The agent asks**`;
  const whom = mention === undefined || ask.response ? "" : `<@${mention}> `;
  const body = request.type === "permission_request" ? permissionBody(request, ask) : questionBody(request);
  return [`${whom}${head}`, body, decision(ask)].filter((part) => part !== "").join("\n");
}

export function askButtons(ask: Ask): Button[] {
  if (ask.response) return [];
  const buttons =
    ask.request.type === "permission_request"
      ? permissionButtons(ask.request, ask.requestId)
      : questionButtons(ask.request, ask.requestId);
  return buttons.filter(({ id }) => id.length <= MAX_ID_UNITS);
}

function permissionHead(request: Permission): string {
  if (request.plan !== undefined) return "📋 **The agent has a plan**";
  return `🔐 **May the agent do this?** ${inline(request.title, 150)}`;
}

function permissionBody(request: Permission, { call }: Ask): string {
  if (request.plan !== undefined) return codeBlock(request.plan, MAX_DETAIL_UNITS, "md");
  // What a directory brings is a list: nothing in it may be skipped over.
  if (request.trust) return codeBlock(request.description ?? "", MAX_DETAIL_UNITS);
  const description =
    request.description === undefined || request.title.includes(request.description)
      ? ""
      : `-# ${inline(request.description, 200)}`;
  const detail = inputDetail(call ? call.rawInput : parsed(request.input));
  return [detail, description].filter((part) => part !== "").join("\n");
}

function parsed(input: string): unknown {
  try {
    return JSON.parse(input);
  } catch {
    return input; // it was cut
  }
}

/** The part of a call's input that decides: the command, the change, the text; all of it for other tools. */
function inputDetail(rawInput: unknown): string {
  const input = isRecord(rawInput) ? rawInput : {};
  const { command, old_string: before, new_string: after, content, url } = input;
  if (typeof command === "string") return codeBlock(command, MAX_DETAIL_UNITS, "sh");
  if (typeof before === "string" && typeof after === "string") {
    return codeBlock(
      [...prefixed("- ", before), ...prefixed("+ ", after)].join("\n"),
      MAX_DETAIL_UNITS,
      "diff",
    );
  }
  if (typeof content === "string") return codeBlock(content, MAX_DETAIL_UNITS);
  if (typeof url === "string") return codeBlock(url, MAX_DETAIL_UNITS);
  const text = typeof rawInput === "string" ? rawInput : (JSON.stringify(rawInput, null, 1) ?? "");
  return text === "{}" || text === "" ? "" : codeBlock(text, MAX_DETAIL_UNITS);
}

function prefixed(prefix: string, text: string): string[] {
  return text.split("\n").map((line) => prefix + line);
}

function questionBody({ questions }: Question): string {
  const blocks = questions.map(({ question, options, multiSelect }) => {
    const choices = options.map(({ label, description }) => {
      return `- **${inline(label, 80)}**${description === undefined ? "" : ` ${inline(description, 120)}`}`;
    });
    return [`**${inline(question, 300)}**${multiSelect ? " (several)" : ""}`, ...choices].join("\n");
  });
  return clipEnd(blocks.join("\n"), MAX_DETAIL_UNITS);
}

function permissionButtons(request: Permission, requestId: string): Button[] {
  const styles = {
    allow_once: "success",
    allow_always: "secondary",
    reject_once: "danger",
    reject_always: "danger",
  } as const;
  return request.options.slice(0, MAX_CHOICES + 1).map(({ optionId, name, kind }) => ({
    id: `ask:${requestId}:${optionId}`,
    label: clipEnd(name, MAX_LABEL_UNITS),
    style: styles[kind],
  }));
}

/** One question with few choices is a press; anything else is a form. */
function questionButtons({ questions }: Question, requestId: string): Button[] {
  const [first] = questions;
  const form: Button = { id: `form:${requestId}`, label: "Answer…", style: "primary" };
  const decline: Button = { id: `decline:${requestId}`, label: "Don't answer", style: "danger" };
  const isSimple =
    questions.length === 1 && first && !first.multiSelect && first.options.length <= MAX_CHOICES - 1;
  if (!isSimple) return [form, decline];
  const choices = first.options.map(({ label }, i): Button => {
    return {
      id: `answer:${requestId}:${i}`,
      label: clipEnd(label || `${i + 1}`, MAX_LABEL_UNITS),
      style: "secondary",
    };
  });
  return [...choices, { ...form, label: "Other…", style: "secondary" }, decline];
}

/** What was decided, by whom. */
function decision({ request, response }: Ask): string {
  if (!response) return "";
  const by = response.by === undefined ? "" : ` by ${who(response.by)}`;
  if (response.type === "elicitation_response") {
    if (response.action === "cancel") return withdrawn(response.reason);
    if (response.action === "decline") return `-# ✗ Not answered${by}`;
    const answers = Object.values(response.content ?? {}).map((answer) => inline(answer, 100));
    return `-# ✓ Answered${by}: ${answers.join(" · ")}`;
  }
  if (response.outcome === "cancelled") return withdrawn(response.reason);
  const options = request.type === "permission_request" ? request.options : [];
  const option = options.find(({ optionId }) => optionId === response.optionId);
  const isAllowed = option?.kind === "allow_once" || option?.kind === "allow_always";
  const because = response.message === undefined ? "" : `: ${inline(response.message, 150)}`;
  return `-# ${isAllowed ? "✓" : "✗"} ${inline(option?.name ?? "Decided", 80)}${by}${because}`;
}

function withdrawn(reason: string | undefined): string {
  const why: Record<string, string> = {
    withdrawn: "the agent does not ask any more",
    turn_ended: "the turn has ended",
    timeout: "nobody answered in time",
    killed: "the thread was ended",
  };
  return `-# ⏹ Closed: ${why[reason ?? ""] ?? "it is not asked any more"}`;
}

/** `discord:123` as a mention that notifies nobody; everything else by its name. */
export function who(source: string): string {
  const id = /^discord:(\d{17,20})$/.exec(source)?.[1];
  return id === undefined ? inline(source, 60) : `<@${id}>`;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
