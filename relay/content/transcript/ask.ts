/** An ask as a message: what the agent wants, where, why, and what was decided. Pure. */

import { detailParts } from "../../../shared/agent/detail.ts";
import type { EventOf } from "../../../shared/agent/events.ts";
import { writeOutHidden } from "../../../shared/clean-text.ts";
import { findDiscordId } from "../../../shared/principal.ts";
import { circumstances, MAX_TITLE_UNITS, renderParts } from "./ask-detail.ts";
import type { Ask } from "./entries.ts";
import { clipEnd, clipMarkdown, inline, inlineTitle } from "./inline.ts";

/** What one message may say, with room for the decision below it. */
const MAX_UNITS = 1_900;
const MAX_DECISION_UNITS = 330;
const MAX_RULE_UNITS = 230;

type Permission = EventOf<"permission_request">;
type Question = EventOf<"elicitation_request">;

export interface AskText {
  text: string;
  /** Not all that decides is in it. */
  isClipped: boolean;
}

export interface AskOptions {
  /** Who is asked; undefined if nobody of Discord started the thread. */
  mention: string | undefined;
  /** The directory that the agent works in. */
  where: string | undefined;
}

export function askText(ask: Ask, { mention, where }: AskOptions): AskText {
  const { request } = ask;
  const whom = mention === undefined || ask.response ? "" : `<@${mention}> `;
  const foot = clipMarkdown(decision(ask), MAX_DECISION_UNITS);
  const { head, text, below, isClipped } =
    request.type === "permission_request"
      ? permissionText(request, ask, where, MAX_UNITS - MAX_DECISION_UNITS)
      : questionText(request, MAX_UNITS - MAX_DECISION_UNITS);
  const lines = [`${whom}${head}`, text, below, foot];
  return { text: lines.filter((line) => line !== "").join("\n"), isClipped };
}

interface Parts {
  head: string;
  text: string;
  below: string;
  isClipped: boolean;
}

function permissionText(request: Permission, { call }: Ask, where: string | undefined, max: number): Parts {
  const isPlan = request.plan !== undefined;
  const head = isPlan
    ? "📋 **The agent has a plan**"
    : request.limit
      ? `⏳ **${inline(request.title, MAX_TITLE_UNITS)}**`
      : `🔐 **May the agent do this?** ${inlineTitle(request.title, MAX_TITLE_UNITS, call?.name)}`;
  const resetsAt = request.limit?.resetsAt;
  const resets = resetsAt === undefined ? "" : `-# It resets <t:${Date.parse(resetsAt) / 1_000}:R>.`;
  const below = [circumstances(request, request.limit ? undefined : where), resets, ruleLine(request)]
    .filter((line) => line !== "")
    .join("\n");
  const room = max - head.length - below.length - 30;
  return { head, below, ...renderParts(detailParts(request, call), room) };
}

/** A rule that its button can't name whole is named here. */
function ruleLine({ options }: Permission): string {
  const rule = options.find(({ kind, rule }) => kind === "allow_always" && rule !== undefined);
  if (!rule || writeOutHidden(rule.name).length <= MAX_LABEL_UNITS) return "";
  return `-# For the thread: ${inline(rule.rule ?? "", MAX_RULE_UNITS)}`;
}

/** Discord's limit of a button's label. */
const MAX_LABEL_UNITS = 80;

function questionText({ questions }: Question, max: number): Parts {
  const blocks = questions.map(({ question, options, multiSelect }) => {
    const choices = options.map(({ label, description }, i) => {
      const name = label.trim() === "" ? `${i + 1}` : label;
      const hint =
        description === undefined || description.trim() === "" ? "" : ` · ${inline(description, 200)}`;
      return `- **${inline(name, 320)}**${hint}`;
    });
    const asked = question.trim() === "" ? "(a question without words)" : question;
    return [`**${inline(asked, 600)}**${multiSelect ? " (several)" : ""}`, ...choices].join("\n");
  });
  const whole = blocks.join("\n");
  const isClipped =
    whole.length > max ||
    questions.some(
      ({ question, options }) =>
        isCut(question, 600) || options.some((o) => isCut(o.label, 320) || isCut(o.description ?? "", 200)),
    );
  return { head: "❓ **The agent asks**", text: clipLines(whole, max), below: "", isClipped };
}

function isCut(text: string, max: number): boolean {
  // Nothing becomes shorter.
  return text.length > max || writeOutHidden(text).length > max;
}

/** Whole lines, so that no markup of ours is cut. */
function clipLines(text: string, max: number): string {
  if (text.length <= max) return text;
  const at = text.lastIndexOf("\n", max - 2);
  return at > 0 ? `${text.slice(0, at)}\n…` : clipEnd(text, max);
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
  const id = findDiscordId(source);
  return id === undefined ? inline(source, 60) : `<@${id}>`;
}

/** The name of its message in the ledger. */
export function askKey({ seq }: Pick<Ask, "seq">): string {
  return `a${seq}`;
}

export function isAskKey(key: string): boolean {
  return /^a\d+$/.test(key);
}
