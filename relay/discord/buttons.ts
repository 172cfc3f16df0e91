/** The buttons below messages: all that they mean is in their id, so that they work after any restart. */
import { ButtonStyle, ComponentType } from "discord.js";

export type Pressed =
  | { kind: "key"; keys: readonly string[] }
  | { kind: "done" }
  /** Send what a person wrote while the relay was away. */
  | { kind: "send"; messageId: string };

export type Components = readonly object[];

export const KEY_BUTTONS: Components = row(
  button("key:C-c", "Ctrl-C", ButtonStyle.Secondary),
  button("key:Up,Enter", "↑⏎", ButtonStyle.Secondary),
  button("done", "Done", ButtonStyle.Danger),
);
export const DONE_BUTTON: Components = row(button("done", "Done", ButtonStyle.Secondary));

export function sendButton(messageId: string): Components {
  return row(button(`send:${messageId}`, "Send it now", ButtonStyle.Primary));
}

/** Undefined for a button that this version does not know. */
export function parseButton(customId: string): Pressed | undefined {
  const [kind, value = ""] = customId.split(":");
  if (kind === "key" && /^[A-Za-z-]+(,[A-Za-z-]+)*$/.test(value)) return { kind, keys: value.split(",") };
  if (kind === "done") return { kind };
  if (kind === "send" && /^\d{17,20}$/.test(value)) return { kind, messageId: value };
  return undefined;
}

function row(...components: object[]): Components {
  return [{ type: ComponentType.ActionRow, components }];
}

function button(customId: string, label: string, style: ButtonStyle): object {
  return { type: ComponentType.Button, custom_id: customId, label, style };
}
