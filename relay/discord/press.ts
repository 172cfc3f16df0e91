/** Brings presses and sent forms to their action, and its answers to Discord. */
import {
  type ButtonInteraction,
  MessageFlags,
  type ModalSubmitInteraction,
  type StringSelectMenuInteraction,
} from "discord.js";
import { AppError } from "../../shared/errors.ts";
import type { Right } from "../../shared/rights.ts";
import { readPressed } from "../actions/actions.ts";
import type { ActionContext, Press, Pressed } from "../actions/frame/action.ts";
import { placeOf } from "./api.ts";
import { toMessage } from "./buttons.ts";
import { toModal } from "./form.ts";
import { sentenceOf } from "./refusals.ts";

export type ComponentInteraction = ButtonInteraction | StringSelectMenuInteraction;

/** The right that a person needs to press the component with this id, or to send its form. */
export function rightToPress({ customId }: ComponentInteraction | ModalSubmitInteraction): Right {
  return readPressed(customId)?.action.right ?? "press";
}

/** A button was pressed, or something chosen from a list. */
export async function press(interaction: ComponentInteraction, context: ActionContext): Promise<void> {
  const pressed = readPressed(interaction.customId);
  const first = pressed?.action.first ?? "update";
  if (first === "reply") await interaction.deferReply();
  else if (first === "private reply") await interaction.deferReply({ flags: MessageFlags.Ephemeral });
  else if (first === "update") await interaction.deferUpdate();
  try {
    if (!pressed) throw new AppError("invalid_request", "This button is of another version of threadmux.");
    const form: Press["open"] = (form) => interaction.showModal(toModal(form));
    await ofSession(pressed, pressed.run({ ...pressOf(interaction), open: form }, context));
  } catch (error) {
    const content = sentence(error, interaction, context);
    if (first === "reply") await interaction.editReply(content);
    else await refuse(interaction, content);
  }
}

/** A form that an action opened was sent. */
export async function submit(interaction: ModalSubmitInteraction, context: ActionContext): Promise<void> {
  await interaction.deferUpdate();
  try {
    const pressed = readPressed(interaction.customId);
    if (!pressed?.submit)
      throw new AppError("invalid_request", "This form is of another version of threadmux.");
    const open = () => Promise.reject(new Error("a form can't open another"));
    const filled = (fieldId: string) => interaction.fields.getTextInputValue(fieldId).trim();
    await pressed.submit(filled, { ...pressOf(interaction), open }, context);
  } catch (error) {
    await refuse(interaction, sentence(error, interaction, context));
  }
}

function pressOf(interaction: ComponentInteraction | ModalSubmitInteraction): Omit<Press, "open"> {
  const { user } = interaction;
  return {
    userId: user.id,
    threadId: placeOf(interaction),
    chosen: interaction.isStringSelectMenu() ? interaction.values.map(Number) : [],
    show: async (reply) => {
      await interaction.editReply(toMessage(reply));
    },
    say: async (content) => {
      await interaction.followUp({ content, allowedMentions: { parse: [] } });
    },
  };
}

/** Last month's ask: the sidecar has forgotten it, or the whole thread. */
async function ofSession({ action }: Pressed, work: Promise<void>): Promise<void> {
  try {
    await work;
  } catch (error) {
    const isOver = action.isOfSession && error instanceof AppError && error.code === "not_found";
    if (!isOver) throw error;
    const words = "This is of a session that is over, and not asked any more.";
    throw new AppError("ask_ended", words, { cause: error });
  }
}

function sentence(
  error: unknown,
  { customId }: ComponentInteraction | ModalSubmitInteraction,
  { log }: ActionContext,
): string {
  if (!(error instanceof AppError)) log.error({ err: error, pressed: customId }, "a button or form failed");
  return `⚠️ ${sentenceOf(error)}`;
}

/** Tells the person, and nobody else, what went wrong; whatever the first answer was. */
async function refuse(
  interaction: ComponentInteraction | ModalSubmitInteraction,
  content: string,
): Promise<void> {
  const flags = MessageFlags.Ephemeral;
  if (!interaction.deferred && !interaction.replied) await interaction.reply({ content, flags });
  else if (interaction.ephemeral !== null) await interaction.editReply(content);
  else await interaction.followUp({ content, flags });
}
