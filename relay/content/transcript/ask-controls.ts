/** The buttons and lists below an ask. All that is chosen so far is in their ids: they work after any restart. Pure. */

import type { EventOf } from "../../../shared/agent/events.ts";
import { writeOutHidden, writeOutLine } from "../../../shared/clean-text.ts";
import type { Button, Select } from "../buttons.ts";
import type { Ask } from "./entries.ts";
import { clipEnd } from "./inline.ts";

const MAX_LABEL_UNITS = 80;
const MAX_OPTION_UNITS = 100;
const MAX_ID_UNITS = 100;
/** As many answers stand as buttons; more, or longer ones, are a list. */
const MAX_ANSWER_BUTTONS = 4;
const MAX_LIST = 25;
/** Five rows of five. */
const MAX_BUTTONS = 25;
/** A message has five rows, one of them for the buttons. */
const MAX_LISTS = 4;

type Permission = EventOf<"permission_request">;
type Question = EventOf<"elicitation_request">;
type Asked = Question["questions"][number];

/** What a person has chosen so far, a list of indexes for each question. */
export type Choices = readonly (readonly number[])[];

export interface AskControls {
  buttons: readonly Button[];
  selects: readonly Select[];
}

const NONE: AskControls = { buttons: [], selects: [] };

/**
 * None once it is decided: only open asks can be looked up.
 * @param isClipped adds *Show all*, before everything else.
 */
export function askControls({ request, requestId, response }: Ask, isClipped: boolean): AskControls {
  if (response) return NONE;
  const showAll: Button[] = isClipped
    ? [{ id: `show:${requestId}`, label: "Show all", style: "primary" }]
    : [];
  if (request.type === "permission_request") {
    return { ...NONE, buttons: fitting([...showAll, ...permissionButtons(request, requestId)]) };
  }
  const { buttons, selects } = questionControls(request.questions, requestId, []);
  return { buttons: [...showAll, ...buttons], selects };
}

/** What is too long to come back whole would mean something else; the same twice Discord takes as little as too many. */
function fitting<T extends { id: string }>(controls: readonly T[]): T[] {
  const byId = new Map([...controls].reverse().map((control) => [control.id, control]));
  const isFirst = (control: T) => byId.get(control.id) === control;
  return controls
    .filter((control) => control.id.length <= MAX_ID_UNITS && isFirst(control))
    .slice(0, MAX_BUTTONS);
}

/** Of an option that has no name. */
const NAMES: Record<Permission["options"][number]["kind"], string> = {
  allow_once: "Allow once",
  allow_always: "Allow always",
  reject_once: "Deny",
  reject_always: "Deny always",
};

/** A refusal can be given a reason; a plan is sent back in words alone. */
function permissionButtons({ options, plan }: Permission, requestId: string): Button[] {
  return options.flatMap(({ optionId, name, kind }): Button[] => {
    const label = clipEnd(writeOutLine(name) || NAMES[kind], MAX_LABEL_UNITS);
    const press = { id: `ask:${requestId}:${optionId}`, label };
    const because = { id: `because:${requestId}:${optionId}`, style: "danger" as const };
    if (kind === "allow_once") return [{ ...press, style: "success" }];
    if (kind === "allow_always") return [{ ...press, style: "secondary" }];
    if (kind === "reject_always") return [{ ...press, style: "danger" }];
    if (plan !== undefined) return [{ ...because, label: `${clipEnd(label, MAX_LABEL_UNITS - 1)}…` }];
    return [
      { ...press, style: "danger" },
      { ...because, label: `${clipEnd(label, MAX_LABEL_UNITS - 10)}, because…` },
    ];
  });
}

/** One question with a few short answers is a press; others are lists; what fits neither is answered in words. */
export function questionControls(
  questions: readonly Asked[],
  requestId: string,
  choices: Choices,
): AskControls {
  const [first] = questions;
  const decline: Button = { id: `decline:${requestId}`, label: "Don't answer", style: "danger" };
  const words = (label: string): Button => ({ id: `form:${requestId}`, label, style: "secondary" });
  const isListed = questions.length <= MAX_LISTS && questions.every(({ options }) => isList(options));
  if (!first || !isListed)
    return { selects: [], buttons: fitting([{ ...words("Answer…"), style: "primary" }, decline]) };
  if (questions.length === 1 && isPress(first)) {
    const answers = first.options.map(({ label }, i): Button => {
      return { id: `answer:${requestId}:${i}`, label: nameOf(label, i), style: "secondary" };
    });
    return { selects: [], buttons: fitting([...answers, words("Other…"), decline]) };
  }
  const state = stateOf(choices, questions.length);
  const selects = questions.map((asked, q) =>
    selectOf(asked, `pick:${requestId}:${q}.${state}`, choices[q] ?? []),
  );
  const isChosen = questions.length > 1 && choices.some((chosen) => chosen.length > 0);
  const send: Button[] = isChosen
    ? [{ id: `picked:${requestId}:${state}`, label: "Send answers", style: "success" }]
    : [];
  return { selects: fitting(selects), buttons: fitting([...send, words("Other…"), decline]) };
}

function isList(options: readonly unknown[]): boolean {
  return options.length > 0 && options.length <= MAX_LIST;
}

function isPress({ options, multiSelect }: Asked): boolean {
  const isShort = options.every(({ label }) => writeOutHidden(label).length <= MAX_LABEL_UNITS);
  return !multiSelect && isShort && options.length <= MAX_ANSWER_BUTTONS;
}

function selectOf(
  { question, header, options, multiSelect }: Asked,
  id: string,
  chosen: readonly number[],
): Select {
  const name = writeOutHidden((header.trim() || question.trim() || "Choose…").replace(/\s+/g, " "));
  return {
    id,
    label: clipEnd(name, MAX_OPTION_UNITS),
    max: multiSelect ? options.length : 1,
    options: options.map(({ label, description = "" }, i) => ({
      label: nameOf(label, i, MAX_OPTION_UNITS),
      hint: clipEnd(writeOutHidden(description.replace(/\s+/g, " ").trim()), MAX_OPTION_UNITS),
      isChosen: chosen.includes(i),
    })),
  };
}

function nameOf(label: string, index: number, max = MAX_LABEL_UNITS): string {
  const name = writeOutHidden(label.replace(/\s+/g, " ").trim());
  return name === "" ? `${index + 1}` : clipEnd(name, max);
}

/** For each question the bits of what is chosen, in base 36: `5.2.0` is its first and third answer, the second, none. */
export function stateOf(choices: Choices, count: number): string {
  const bits = Array.from({ length: count }, (_, q) =>
    (choices[q] ?? []).reduce((sum, i) => sum | (1 << i), 0),
  );
  return bits.map((mask) => mask.toString(36)).join(".");
}

/** @returns undefined if it is no state. */
export function parseState(state: string): Choices | undefined {
  if (!/^[0-9a-z]{1,5}(\.[0-9a-z]{1,5}){0,3}$/.test(state)) return undefined;
  return state.split(".").map((part) => {
    const mask = Number.parseInt(part, 36);
    return Array.from({ length: MAX_LIST }, (_, i) => i).filter((i) => (mask & (1 << i)) !== 0);
  });
}

/** The answers in words, by question. */
export function answersOf(questions: readonly Asked[], choices: Choices): Record<string, string> {
  const answers = questions.flatMap(({ question, options }, q): [string, string][] => {
    const labels = (choices[q] ?? []).flatMap((i) =>
      options[i] ? [options[i].label.trim() || `${i + 1}`] : [],
    );
    return labels.length === 0 ? [] : [[question, labels.join(", ")]];
  });
  return Object.fromEntries(answers);
}
