/** Discord's rules for message components: rows of buttons and selects, and the V2 layout components. */
import * as z from "zod";
import type { Component } from "./types.ts";

const MAX_ROWS = 5;
const MAX_BUTTONS = 5;
/** Of an option's label, value and description. */
const MAX_OPTION_TEXT = 100;
const SELECT_TYPES = [3, 5, 6, 7, 8];
/** Section, text display, thumbnail, gallery, file, separator, container. */
const V2_TYPES = [9, 10, 11, 12, 13, 14, 17];
const MAX_V2_COMPONENTS = 40;
const MAX_V2_TEXT = 4000;

type Problem = { path: (string | number)[]; code: string; message: string };

const component: z.ZodType<Component> = z.lazy(() =>
  z.looseObject({ type: z.number().int(), components: z.array(component).optional() }),
) as z.ZodType<Component>;

/** A list of components within the limits of a legacy message or, where layout types occur, of a V2 one. */
export const componentsField = z.array(component).superRefine((components, context) => {
  for (const { path, code, message } of findComponentProblems(components)) {
    context.addIssue({ code: "custom", path, message, params: { discord: code } });
  }
});

export function hasV2Components(components: readonly Component[]): boolean {
  return components.some((entry) => entry.type !== 1);
}

export function findComponentProblems(components: readonly Component[]): Problem[] {
  const problems: Problem[] = [];
  const isV2 = hasV2Components(components);
  if (!isV2 && components.length > MAX_ROWS) {
    problems.push(tooLong([], MAX_ROWS));
  }
  const seen = new Set<string>();
  let count = 0;
  let textLength = 0;

  const visit = (entry: Component, path: (string | number)[]): void => {
    count += 1;
    if (entry.type === 1) checkRow(entry, path, problems);
    else if (entry.type === 2) checkButton(entry, path, problems);
    else if (SELECT_TYPES.includes(entry.type)) checkSelect(entry, path, problems);
    else if (entry.type === 10) textLength += [...textOf(entry["content"])].length;
    else if (!V2_TYPES.includes(entry.type)) {
      problems.push({
        path: [...path, "type"],
        code: "UNION_TYPE_CHOICES",
        message: 'Value of field "type" must be one of (1, 2, 3, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 17).',
      });
    }
    const customId = entry["custom_id"];
    if (typeof customId === "string") {
      if (seen.has(customId)) {
        problems.push({
          path: [...path, "custom_id"],
          code: "COMPONENT_CUSTOM_ID_DUPLICATED",
          message: "Component custom id cannot be duplicated",
        });
      }
      seen.add(customId);
    }
    entry.components?.forEach((child, index) => {
      visit(child, [...path, "components", index]);
    });
    const accessory = entry["accessory"];
    if (isComponent(accessory)) visit(accessory, [...path, "accessory"]);
  };
  components.forEach((entry, index) => {
    visit(entry, [index]);
  });

  if (isV2 && count > MAX_V2_COMPONENTS) problems.push(tooLong([], MAX_V2_COMPONENTS));
  if (textLength > MAX_V2_TEXT) {
    problems.push({
      path: [],
      code: "COMPONENT_DISPLAYABLE_TEXT_SIZE_EXCEEDED",
      message: `Displayable text size exceeds maximum size of ${MAX_V2_TEXT}`,
    });
  }
  return problems;
}

/** Every component with a custom_id, at any depth. */
export function findInteractive(components: readonly Component[], customId: string): Component | undefined {
  for (const entry of components) {
    if (entry["custom_id"] === customId) return entry;
    const accessory = entry["accessory"];
    const inside = findInteractive(entry.components ?? [], customId);
    if (inside) return inside;
    if (isComponent(accessory) && accessory["custom_id"] === customId) return accessory;
  }
  return undefined;
}

function isComponent(value: unknown): value is Component {
  return typeof value === "object" && value !== null && typeof Reflect.get(value, "type") === "number";
}

function checkRow(row: Component, path: (string | number)[], problems: Problem[]): void {
  const children = row.components ?? [];
  const hasSelect = children.some((child) => SELECT_TYPES.includes(child.type));
  const max = hasSelect ? 1 : MAX_BUTTONS;
  if (children.length === 0 || children.length > max) {
    problems.push({
      path: [...path, "components"],
      code: "BASE_TYPE_BAD_LENGTH",
      message: `Must be between 1 and ${max} in length.`,
    });
  }
}

function checkButton(button: Component, path: (string | number)[], problems: Problem[]): void {
  const style = button["style"];
  if (typeof style !== "number" || style < 1 || style > 6) {
    problems.push({
      path: [...path, "style"],
      code: "BASE_TYPE_CHOICES",
      message: "Value must be one of (1, 2, 3, 4, 5, 6).",
    });
  }
  const label = textOf(button["label"]).trim();
  if ([...label].length > 80) problems.push(tooLong([...path, "label"], 80));
  if (label === "" && button["emoji"] === undefined && style !== 6) {
    problems.push({
      path,
      code: "BUTTON_COMPONENT_INVALID_LABEL_OR_EMOJI",
      message: "A button must have a label or an emoji",
    });
  }
  // Link buttons carry an address and make no interaction; all others carry a custom_id.
  if (style === 5) {
    if (typeof button["url"] !== "string") problems.push(required([...path, "url"]));
    if (button["custom_id"] !== undefined) {
      problems.push({
        path: [...path, "custom_id"],
        code: "BUTTON_COMPONENT_CUSTOM_ID_URL_MUTUALLY_EXCLUSIVE",
        message: "A custom id and url cannot both be specified",
      });
    }
  } else if (style !== 6) checkCustomId(button, path, problems);
}

function checkSelect(select: Component, path: (string | number)[], problems: Problem[]): void {
  checkCustomId(select, path, problems);
  if ([...textOf(select["placeholder"])].length > 150) problems.push(tooLong([...path, "placeholder"], 150));
  if (select.type !== 3) return;
  const options = Array.isArray(select["options"]) ? select["options"] : [];
  if (options.length < 1 || options.length > 25) {
    problems.push({
      path: [...path, "options"],
      code: "BASE_TYPE_BAD_LENGTH",
      message: "Must be between 1 and 25 in length.",
    });
  }
  checkOptions(options, [...path, "options"], problems);
}

function checkOptions(options: readonly unknown[], path: (string | number)[], problems: Problem[]): void {
  const seen = new Set<string>();
  for (const [index, option] of options.entries()) {
    const at = [...path, index];
    const fields = typeof option === "object" && option !== null ? option : {};
    for (const name of ["label", "value"]) {
      const text = textOf(Reflect.get(fields, name)).trim();
      if (text === "") problems.push(required([...at, name]));
      else if ([...text].length > MAX_OPTION_TEXT) problems.push(tooLong([...at, name], MAX_OPTION_TEXT));
    }
    if ([...textOf(Reflect.get(fields, "description"))].length > MAX_OPTION_TEXT)
      problems.push(tooLong([...at, "description"], MAX_OPTION_TEXT));
    const value = textOf(Reflect.get(fields, "value"));
    if (seen.has(value))
      problems.push({
        path: [...at, "value"],
        code: "SELECT_COMPONENT_OPTION_VALUE_DUPLICATED",
        message: "The specified option value is already used",
      });
    seen.add(value);
  }
}

function checkCustomId(entry: Component, path: (string | number)[], problems: Problem[]): void {
  const customId = entry["custom_id"];
  if (typeof customId !== "string" || customId === "") problems.push(required([...path, "custom_id"]));
  else if ([...customId].length > 100) problems.push(tooLong([...path, "custom_id"], 100));
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function required(path: (string | number)[]): Problem {
  return { path, code: "BASE_TYPE_REQUIRED", message: "This field is required" };
}

function tooLong(path: (string | number)[], max: number): Problem {
  return { path, code: "BASE_TYPE_MAX_LENGTH", message: `Must be ${max} or fewer in length.` };
}
