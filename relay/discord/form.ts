/** Discord's shape of a form. */
import { LabelBuilder, ModalBuilder, TextInputBuilder, TextInputStyle } from "discord.js";
import { writeOutLine } from "../../shared/clean-text.ts";
import type { Form, FormField } from "../actions/frame/controls.ts";
import { clipEnd } from "../content/transcript/inline.ts";

/** Discord's limits of a form. */
const MAX_TITLE = 45;
const MAX_LABEL = 45;
const MAX_HINT = 100;
const MAX_ANSWER = 4_000;

export function toModal({ id, title, fields }: Form): ModalBuilder {
  return new ModalBuilder()
    .setCustomId(id)
    .setTitle(cut(title, MAX_TITLE))
    .addLabelComponents(...fields.map(toLabel));
}

function toLabel({ id, label, description, hint }: FormField): LabelBuilder {
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
