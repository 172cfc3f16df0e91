/** What people press below an agent's messages: answers to what it asks, Stop, Go on. */
import {
  type ButtonInteraction,
  LabelBuilder,
  MessageFlags,
  ModalBuilder,
  type ModalSubmitInteraction,
  TextInputBuilder,
  TextInputStyle,
} from "discord.js";
import type { AskReply } from "../../shared/agent/api.ts";
import { AppError } from "../../shared/errors.ts";
import type { VmThread } from "../threads/vm.ts";
import type { Pressed } from "./buttons.ts";
import { parseButton } from "./buttons.ts";
import { sentenceOf } from "./refusals.ts";

export type AgentPressed = Exclude<Pressed, { kind: "key" | "done" | "send" }>;

/** Discord's limits of a form. */
const MAX_TITLE = 45;
const MAX_LABEL = 45;
const MAX_HINT = 100;
const MAX_ANSWER = 1_000;

export function isAgentButton(pressed: Pressed): pressed is AgentPressed {
  return !["key", "done", "send"].includes(pressed.kind);
}

/**
 * What the button means, done. A form is shown; everything else has been acknowledged by the caller.
 * @throws AppError
 */
export async function pressAgentButton(
  interaction: ButtonInteraction,
  pressed: AgentPressed,
  thread: VmThread,
): Promise<void> {
  const by = `discord:${interaction.user.id}`;
  switch (pressed.kind) {
    case "permission":
      return thread.answerAsk(pressed.requestId, { optionId: pressed.optionId, by });
    case "choice": {
      const { question, label } = chosen(await findAsk(thread, pressed.requestId), pressed.index);
      const content = { [question]: label };
      return thread.answerAsk(pressed.requestId, { action: "accept", content, by });
    }
    case "decline":
      return thread.answerAsk(pressed.requestId, { action: "decline", by });
    case "stop":
      return thread.control({ control: "interrupt", turnId: pressed.turnId, by });
    case "go-on":
      return thread.control({ control: "resume", by });
    case "form":
      return interaction.showModal(formOf(await findAsk(thread, pressed.requestId)));
  }
}

/** A form was sent: its fields are the answers, in the order of the questions. */
export async function submitForm(interaction: ModalSubmitInteraction, thread: VmThread): Promise<void> {
  await interaction.deferUpdate();
  try {
    const pressed = parseButton(interaction.customId);
    if (pressed?.kind !== "form")
      throw new AppError("invalid_request", "This form is of another version of threadmux.");
    const ask = await findAsk(thread, pressed.requestId);
    const answers = questionsOf(ask).flatMap(({ question }, i): [string, string][] => {
      const answer = interaction.fields.getTextInputValue(`q${i}`).trim();
      return answer === "" ? [] : [[question, answer]];
    });
    const by = `discord:${interaction.user.id}`;
    const content = Object.fromEntries(answers);
    await thread.answerAsk(ask.requestId, { action: "accept", content, by });
  } catch (error) {
    await interaction.followUp({ content: `⚠️ ${sentenceOf(error)}`, flags: MessageFlags.Ephemeral });
  }
}

async function findAsk(thread: VmThread, requestId: string): Promise<AskReply> {
  const ask = (await thread.listAsks()).find((candidate) => candidate.requestId === requestId);
  if (!ask) throw new AppError("ask_ended", "This is not asked any more.");
  return ask;
}

function questionsOf({ request }: AskReply) {
  return request.type === "elicitation_request" ? request.questions : [];
}

function chosen(ask: AskReply, index: number): { question: string; label: string } {
  const [first] = questionsOf(ask);
  const option = first?.options[index];
  if (!first || !option) throw new AppError("invalid_request", "This question has no such answer.");
  return { question: first.question, label: option.label };
}

function formOf(ask: AskReply): ModalBuilder {
  const labels = questionsOf(ask).map(({ question, header, options }, i) => {
    const hint = options.map(({ label }) => label).join(", ");
    const input = new TextInputBuilder()
      .setCustomId(`q${i}`)
      .setStyle(TextInputStyle.Paragraph)
      .setRequired(false)
      .setMaxLength(MAX_ANSWER);
    if (hint !== "") input.setPlaceholder(hint.slice(0, MAX_HINT));
    return new LabelBuilder()
      .setLabel((header || question || `Question ${i + 1}`).slice(0, MAX_LABEL))
      .setDescription(question.slice(0, MAX_HINT) || "Your answer")
      .setTextInputComponent(input);
  });
  return new ModalBuilder()
    .setCustomId(`form:${ask.requestId}`)
    .setTitle("Answer the agent".slice(0, MAX_TITLE))
    .addLabelComponents(...labels);
}
