/** Chooses from the list of a question; of several questions the choices are collected in the message itself. */
import type { EventOf } from "../../shared/agent/events.ts";
import { writeOutHidden } from "../../shared/clean-text.ts";
import { clipEnd } from "../content/transcript/inline.ts";
import { choice } from "./choice.ts";
import { decline } from "./decline.ts";
import { form } from "./form.ts";
import { action } from "./frame/action.ts";
import { choose, findAsk, questionsOf } from "./frame/asks.ts";
import { type Button, distinct, MAX_LABEL_UNITS, type Select } from "./frame/controls.ts";
import { type Choices, MAX_LIST, place, someId } from "./frame/parts.ts";
import { picked } from "./picked.ts";

const MAX_OPTION_UNITS = 100;
/** As many answers stand as buttons; more, or longer ones, are a list. */
const MAX_ANSWER_BUTTONS = 4;
/** A message has five rows, one of them for the buttons. */
const MAX_LISTS = 4;

export const pick = action({
  name: "pick",
  parts: { requestId: someId, place },
  right: "decide",
  first: "update",
  isOfSession: true,
  run: async ({ requestId, place: { question, before } }, press, { vm }) => {
    const thread = vm.thread(press.threadId);
    const questions = questionsOf(await findAsk(thread, requestId));
    const choices = questions.map((_, q) => (q === question ? press.chosen : (before[q] ?? [])));
    if (questions.length === 1) return choose(thread, requestId, choices);
    await press.show(questionControls(questions, requestId, choices));
  },
});

type Asked = EventOf<"elicitation_request">["questions"][number];

export interface QuestionControls {
  buttons: readonly Button[];
  selects: readonly Select[];
}

/** One question with a few short answers is a press; others are lists; what fits neither is answered in words. */
export function questionControls(
  questions: readonly Asked[],
  requestId: string,
  choices: Choices,
): QuestionControls {
  const [first] = questions;
  const no = decline.buttons({ requestId }, "Don't answer", "danger");
  const words = (label: string, style: Button["style"] = "secondary") =>
    form.buttons({ requestId }, label, style);
  const isListed = questions.length <= MAX_LISTS && questions.every(({ options }) => isList(options));
  if (!first || !isListed) return { selects: [], buttons: [...words("Answer…", "primary"), ...no] };
  if (questions.length === 1 && isPress(first)) {
    const answers = first.options.flatMap(({ label }, index) =>
      choice.buttons({ requestId, index }, nameOf(label, index), "secondary"),
    );
    return { selects: [], buttons: [...answers, ...words("Other…"), ...no] };
  }
  const before = questions.map((_, q) => choices[q] ?? []);
  const selects = questions.flatMap((asked, question) =>
    pick.selects({ requestId, place: { question, before } }, listOf(asked, before[question] ?? [])),
  );
  const isChosen = questions.length > 1 && choices.some((chosen) => chosen.length > 0);
  const send = isChosen ? picked.buttons({ requestId, chosen: before }, "Send answers", "success") : [];
  return { selects: distinct(selects), buttons: [...send, ...words("Other…"), ...no] };
}

function isList(options: readonly unknown[]): boolean {
  return options.length > 0 && options.length <= MAX_LIST;
}

function isPress({ options, multiSelect }: Asked): boolean {
  const isShort = options.every(({ label }) => writeOutHidden(label).length <= MAX_LABEL_UNITS);
  return !multiSelect && isShort && options.length <= MAX_ANSWER_BUTTONS;
}

function listOf({ question, header, options, multiSelect }: Asked, chosen: readonly number[]) {
  const name = writeOutHidden((header.trim() || question.trim() || "Choose…").replace(/\s+/g, " "));
  return {
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
