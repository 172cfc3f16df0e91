/** Discord's shape of buttons, and what a pressed one means. */
import { ButtonStyle, ComponentType } from "discord.js";
import type { Button, Select } from "../content/buttons.ts";

export type Pressed =
  | { kind: "key"; keys: readonly string[] }
  | { kind: "done" }
  /** Send what a person wrote while the relay was away. */
  | { kind: "send"; messageId: string }
  /** Type a text with tabs, although the program may take them for a key. */
  | { kind: "type-anyway"; messageId: string }
  /** Let a paused agent go on, with what a person wrote to it. */
  | { kind: "resume-send"; messageId: string }
  /** What becomes of a message to an agent that has ended. */
  | { kind: "ended-here"; messageId: string }
  | { kind: "ended-new"; messageId: string }
  /** Decide on what an agent asks to do. */
  | { kind: "permission"; requestId: string; optionId: string }
  /** Choose the answer of that number to an agent's question. */
  | { kind: "choice"; requestId: string; index: number }
  /** Answer an agent's questions in words. */
  | { kind: "form"; requestId: string }
  | { kind: "decline"; requestId: string }
  /** Refuse, with a reason in words. */
  | { kind: "because"; requestId: string; optionId: string }
  /** Choose from the list of that question; `state` is what was chosen before. */
  | { kind: "pick"; requestId: string; question: number; state: string }
  /** Send what was chosen from several lists. */
  | { kind: "picked"; requestId: string; state: string }
  /** See all of what is asked about. */
  | { kind: "show"; requestId: string }
  /** See an agent's steps. */
  | { kind: "history" }
  /** See what a turn changed, by the event with which it began. */
  | { kind: "diff"; seq: number }
  /** End the turn that the person sees. */
  | { kind: "stop"; turnId: string }
  /** See what a turn changed. */
  | { kind: "changes"; turnId: string }
  /** Put back what it changed. */
  | { kind: "undo"; turnId: string }
  /** Go on after a failure. */
  | { kind: "go-on" };

export type Components = readonly object[];

const STYLES: Record<Button["style"], ButtonStyle> = {
  primary: ButtonStyle.Primary,
  secondary: ButtonStyle.Secondary,
  success: ButtonStyle.Success,
  danger: ButtonStyle.Danger,
};
const MAX_IN_ROW = 5;

/** Each list in a row of its own, the buttons below them. */
export function toComponents(buttons: readonly Button[], selects: readonly Select[] = []): Components {
  const rows = selects.map(toRow);
  for (let i = 0; i < buttons.length; i += MAX_IN_ROW) {
    const components = buttons.slice(i, i + MAX_IN_ROW).map(({ id, label, style }) => ({
      type: ComponentType.Button,
      custom_id: id,
      label,
      style: STYLES[style],
    }));
    rows.push({ type: ComponentType.ActionRow, components });
  }
  return rows;
}

function toRow({ id, label, options, max }: Select): object {
  const list = {
    type: ComponentType.StringSelect,
    custom_id: id,
    placeholder: label,
    min_values: 1,
    max_values: max,
    options: options.map((option, i) => ({
      label: option.label,
      value: String(i),
      ...(option.hint === "" ? {} : { description: option.hint }),
      ...(option.isChosen ? { default: true } : {}),
    })),
  };
  return { type: ComponentType.ActionRow, components: [list] };
}

/** Undefined for a button that this version does not know. */
export function parseButton(customId: string): Pressed | undefined {
  const [kind, value = "", detail = ""] = customId.split(":");
  if (kind === "key" && /^[A-Za-z-]+(,[A-Za-z-]+)*$/.test(value)) return { kind, keys: value.split(",") };
  if (kind === "done" || kind === "history") return { kind };
  if (kind === "diff" && /^\d{1,15}$/.test(value)) return { kind, seq: Number(value) };
  const isOfMessage =
    kind === "send" ||
    kind === "type-anyway" ||
    kind === "resume-send" ||
    kind === "ended-here" ||
    kind === "ended-new";
  if (isOfMessage && /^\d{17,20}$/.test(value)) return { kind, messageId: value };
  if (kind === "go-on") return { kind };
  if (!/^[\w.-]{1,80}$/.test(value)) return undefined;
  if (kind === "stop" || kind === "changes" || kind === "undo") return { kind, turnId: value };
  if (kind === "form" || kind === "decline" || kind === "show") return { kind, requestId: value };
  if (kind === "ask" && detail !== "") return { kind: "permission", requestId: value, optionId: detail };
  if (kind === "because" && detail !== "") return { kind, requestId: value, optionId: detail };
  if (kind === "picked" && detail !== "") return { kind, requestId: value, state: detail };
  const picked = kind === "pick" ? /^(\d)\.([\w.]+)$/.exec(detail) : null;
  if (picked) return { kind: "pick", requestId: value, question: Number(picked[1]), state: picked[2] ?? "" };
  if (kind === "answer" && /^\d{1,2}$/.test(detail))
    return { kind: "choice", requestId: value, index: Number(detail) };
  return undefined;
}
