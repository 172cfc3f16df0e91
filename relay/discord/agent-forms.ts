/** Forms below what an agent asks: answers in words, and the reason of a refusal. */

import {
  LabelBuilder,
  ModalBuilder,
  type ModalSubmitInteraction,
  TextInputBuilder,
  TextInputStyle,
} from "discord.js";
import type { AskReply } from "../../shared/agent/api.ts";
import { writeOutLine } from "../../shared/clean-text.ts";
import { AppError } from "../../shared/errors.ts";
import { clipEnd } from "../content/transcript/inline.ts";
import type { VmThread } from "../sidecar/vm.ts";
import { parseButton } from "./buttons.ts";

/** Discord's limits of a form. */
const MAX_FIELDS = 5;
const MAX_TITLE = 45;
const MAX_LABEL = 45;
const MAX_HINT = 100;
const MAX_ANSWER = 4_000;

/** An open ask, also by a request that it stands for after a restart. @throws AppError `ask_ended` */
export async function findAsk(thread: VmThread, requestId: string): Promise<AskReply> {
  const ask = (await thread.listAsks()).find((candidate) => candidate.requestId === requestId);
  if (!ask) throw new AppError("ask_ended", "This has been answered already, or it is not asked any more.");
  return ask;
}

export function questionsOf({ request }: AskReply) {
  return request.type === "elicitation_request" ? request.questions : [];
}

/** A field for each question; a form takes five. */
export function answerForm(ask: AskReply): ModalBuilder {
  const fields = questionsOf(ask)
    .slice(0, MAX_FIELDS)
    .map(({ question, header, options }, i) => {
      const hint = options.map(({ label }) => label).join(", ");
      const label = header.trim() || question.trim() || `Question ${i + 1}`;
      return field(`q${i}`, label, question.trim() || "Your answer", hint);
    });
  return form(`form:${ask.requestId}`, "Answer the agent", fields);
}

/** What is asked about stands in the form's description, so that nobody gives a reason for the wrong thing. */
export function reasonForm(ask: AskReply, optionId: string): ModalBuilder {
  const isPlan = ask.kind === "plan";
  const title = isPlan ? "Keep planning" : "Deny, because…";
  const hint = isPlan ? "What is missing, or is to be otherwise" : "The agent reads it, and goes on with it";
  const fields = [field("reason", isPlan ? "What is to change?" : "Why not?", ask.title, hint)];
  return form(`because:${ask.requestId}:${optionId}`, title, fields);
}

/**
 * A form was sent: its fields are the answers, in the order of the questions, or the reason. It has been acknowledged.
 * @throws AppError
 */
export async function submitForm(interaction: ModalSubmitInteraction, thread: VmThread): Promise<void> {
  const by = `discord:${interaction.user.id}`;
  const pressed = parseButton(interaction.customId);
  if (pressed?.kind === "because") {
    const message = interaction.fields.getTextInputValue("reason").trim();
    const { requestId, optionId } = pressed;
    return thread.answerAsk(requestId, { optionId, by, ...(message === "" ? {} : { message }) });
  }
  if (pressed?.kind !== "form")
    throw new AppError("invalid_request", "This form is of another version of threadmux.");
  const ask = await findAsk(thread, pressed.requestId);
  const answers = questionsOf(ask)
    .slice(0, MAX_FIELDS)
    .flatMap(({ question }, i): [string, string][] => {
      const answer = interaction.fields.getTextInputValue(`q${i}`).trim();
      return answer === "" ? [] : [[question, answer]];
    });
  if (answers.length === 0)
    throw new AppError("invalid_request", "The form was empty: nothing was answered.");
  await thread.answerAsk(ask.requestId, { action: "accept", content: Object.fromEntries(answers), by });
}

function form(id: string, title: string, fields: readonly LabelBuilder[]): ModalBuilder {
  return new ModalBuilder()
    .setCustomId(id)
    .setTitle(cut(title, MAX_TITLE))
    .addLabelComponents(...fields);
}

function field(id: string, label: string, description: string, hint: string): LabelBuilder {
  const input = new TextInputBuilder()
    .setCustomId(id)
    .setStyle(TextInputStyle.Paragraph)
    .setRequired(false)
    .setMaxLength(MAX_ANSWER);
  if (hint.trim() !== "") input.setPlaceholder(cut(hint, MAX_HINT));
  return new LabelBuilder()
    .setLabel(cut(label, MAX_LABEL))
    .setDescription(cut(description, MAX_HINT) || "…")
    .setTextInputComponent(input);
}

function cut(text: string, max: number): string {
  return clipEnd(writeOutLine(text), max);
}
