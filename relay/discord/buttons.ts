/** Discord's shape of what can be pressed, chosen and filled in. */
import { ButtonStyle, ComponentType } from "discord.js";
import type { Button, Reply, Select } from "../actions/frame/controls.ts";

export type Components = readonly object[];

const STYLES: Record<Button["style"], ButtonStyle> = {
  primary: ButtonStyle.Primary,
  secondary: ButtonStyle.Secondary,
  success: ButtonStyle.Success,
  danger: ButtonStyle.Danger,
};
const MAX_IN_ROW = 5;

/** An answer as discord.js takes it. */
export function toMessage({ content, buttons, selects, files }: Reply) {
  return {
    ...(content !== undefined && { content }),
    ...((buttons || selects) && { components: toComponents(buttons ?? [], selects) as never[] }),
    ...(files && { files: [...files] }),
  };
}

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
