/** What people press and choose below an agent's messages: answers to what it asks, Stop, Go on. */
import {
  type ButtonInteraction,
  type MessageComponentInteraction,
  MessageFlags,
  type StringSelectMenuInteraction,
} from "discord.js";
import { AppError } from "../../shared/errors.ts";
import { answersOf, type Choices, parseState, questionControls } from "../content/transcript/ask-controls.ts";
import { inline } from "../content/transcript/inline.ts";
import type { VmThread } from "../sidecar/vm.ts";
import { turnDiff } from "./agent-details.ts";
import { answerForm, findAsk, questionsOf, reasonForm } from "./agent-forms.ts";
import { findWholeAsk, MAX_DIFF_BYTES, wholeAsk, wholeDiff } from "./agent-whole.ts";
import type { Pressed } from "./buttons.ts";
import { toComponents } from "./buttons.ts";
import { END, makePage } from "./commands/thread/history.ts";

export type AgentPressed = Exclude<
  Pressed,
  { kind: "key" | "done" | "send" | "type-anyway" | "resume-send" | "ended-here" | "ended-new" }
>;
export type ComponentInteraction = ButtonInteraction | StringSelectMenuInteraction;

export function isAgentButton(pressed: Pressed): pressed is AgentPressed {
  const others = ["key", "done", "send", "type-anyway", "resume-send", "ended-here", "ended-new"];
  return !others.includes(pressed.kind);
}

/** Discord's first answer to a press: a form is one itself, what only the person sees is begun as a reply. */
export function firstAnswer({ kind }: Pressed): "form" | "private reply" | "reply" | "update" {
  if (kind === "form" || kind === "because") return "form";
  if (kind === "show" || kind === "history" || kind === "diff" || kind === "changes") return "private reply";
  return kind === "done" ? "reply" : "update";
}

/**
 * What the button means, done. The caller has given the first answer, unless that is a form.
 * @throws AppError
 */
export async function pressAgentButton(
  interaction: ComponentInteraction,
  pressed: AgentPressed,
  thread: VmThread,
): Promise<void> {
  try {
    await press(interaction, pressed, thread);
  } catch (error) {
    // Last month's ask: the sidecar has forgotten it, or the whole thread.
    const isOfAsk = pressed.kind !== "changes" && pressed.kind !== "undo";
    if (!(isOfAsk && error instanceof AppError && error.code === "not_found")) throw error;
    throw new AppError("ask_ended", "This is of a session that is over, and not asked any more.", {
      cause: error,
    });
  }
}

/** Of a thread that is over: the messages of one that goes on show it themselves. */
async function tellUndone(interaction: ComponentInteraction, outcome: string | undefined): Promise<void> {
  if (outcome === undefined) return;
  const content = `↩ <@${interaction.user.id}>: ${inline(outcome, 800)}.`;
  await interaction.followUp({ content, allowedMentions: { parse: [] } });
}

async function press(
  interaction: ComponentInteraction,
  pressed: AgentPressed,
  thread: VmThread,
): Promise<void> {
  const by = `discord:${interaction.user.id}`;
  switch (pressed.kind) {
    case "permission":
      return thread.answerAsk(pressed.requestId, { optionId: pressed.optionId, by });
    case "choice":
      return choose(thread, pressed.requestId, [[pressed.index]], by);
    case "pick":
      return pick(interaction, pressed, thread);
    case "picked":
      return choose(thread, pressed.requestId, chosenIn(pressed.state), by);
    case "decline":
      return thread.answerAsk(pressed.requestId, { action: "decline", by });
    case "stop":
      return thread.control({ control: "interrupt", turnId: pressed.turnId, by });
    case "undo":
      return tellUndone(interaction, await thread.undo(pressed.turnId, by));
    case "changes":
      await interaction.editReply(
        wholeDiff(await thread.getDiff({ turnId: pressed.turnId, limit: MAX_DIFF_BYTES })),
      );
      return;
    case "go-on":
      return thread.control({ control: "resume", by });
    case "form":
      return interaction.showModal(answerForm(await findAsk(thread, pressed.requestId)));
    case "because":
      return interaction.showModal(reasonForm(await findAsk(thread, pressed.requestId), pressed.optionId));
    case "show":
      await interaction.editReply(wholeAsk(await findWholeAsk(thread, pressed.requestId)));
      return;
    case "history":
      await interaction.editReply(await makePage(thread, { beforeSeq: END }, Date.now()));
      return;
    case "diff":
      await interaction.editReply(await turnDiff(thread, pressed.seq));
      return;
  }
}

/** Answers an ask with what was chosen from its lists. */
async function choose(thread: VmThread, requestId: string, choices: Choices, by: string): Promise<void> {
  const ask = await findAsk(thread, requestId);
  const content = answersOf(questionsOf(ask), choices);
  if (Object.keys(content).length === 0)
    throw new AppError("invalid_request", "This question has no such answer.");
  return thread.answerAsk(requestId, { action: "accept", content, by });
}

/** One question is answered by its list at once; of several the choices are collected, in the message itself. */
async function pick(
  interaction: ComponentInteraction,
  { requestId, question, state }: Extract<AgentPressed, { kind: "pick" }>,
  thread: VmThread,
): Promise<void> {
  const values = interaction.isStringSelectMenu() ? interaction.values.map(Number) : [];
  const questions = questionsOf(await findAsk(thread, requestId));
  const before = chosenIn(state);
  const choices = questions.map((_, q) => (q === question ? values : (before[q] ?? [])));
  if (questions.length === 1) return choose(thread, requestId, choices, `discord:${interaction.user.id}`);
  const { buttons, selects } = questionControls(questions, requestId, choices);
  await interaction.editReply({ components: toComponents(buttons, selects) as never });
}

function chosenIn(state: string): Choices {
  const choices = parseState(state);
  if (!choices) throw new AppError("invalid_request", "This list is of another version of threadmux.");
  return choices;
}

/** Tells the person, and nobody else, what went wrong; whatever the first answer was. */
export async function refuse(interaction: MessageComponentInteraction, content: string): Promise<void> {
  const flags = MessageFlags.Ephemeral;
  if (!interaction.deferred && !interaction.replied) await interaction.reply({ content, flags });
  else if (interaction.ephemeral !== null) await interaction.editReply(content);
  else await interaction.followUp({ content, flags });
}
