/** What can stand below a message or in a form, and what a press is answered with. discord/ gives it Discord's shape. */

/** What a person can press. */
export interface Button {
  /** 1 to 100 characters; comes back when somebody presses it. */
  readonly id: string;
  /** At most 80 characters. */
  readonly label: string;
  readonly style: "primary" | "secondary" | "success" | "danger";
}

/** A list to choose from, in a row of its own. */
export interface Select {
  /** As a button's. */
  readonly id: string;
  /** What stands there while nothing is chosen; at most 150 characters. */
  readonly label: string;
  /** 1 to 25. What comes back is the index, as text. */
  readonly options: readonly SelectOption[];
  /** How many may be chosen: 1 to this. */
  readonly max: number;
}

export interface SelectOption {
  /** 1 to 100 characters. */
  readonly label: string;
  /** At most 100 characters; may be empty. */
  readonly hint: string;
  readonly isChosen: boolean;
}

export interface Form {
  /** The action's that opens it. */
  readonly id: string;
  readonly title: string;
  /** 1 to 5. */
  readonly fields: readonly FormField[];
}

/** A text of several lines that may stay empty. Whatever is too long is cut when the form is shown. */
export interface FormField {
  readonly id: string;
  readonly label: string;
  readonly description: string;
  /** Stands there while nothing is written; may be empty. */
  readonly hint: string;
}

/** A field's text, trimmed, by its id. */
export type Filled = (fieldId: string) => string;

/** A field that is left out stays as it was. */
export interface Reply {
  readonly content?: string;
  readonly buttons?: readonly Button[];
  readonly selects?: readonly Select[];
  readonly files?: readonly { readonly attachment: Buffer; readonly name: string }[];
}

/** Discord's limit of a button's label. */
export const MAX_LABEL_UNITS = 80;

/** Without those that mean the same as one before them: Discord refuses a message in which an id stands twice. */
export function distinct<T extends { readonly id: string }>(controls: readonly T[]): T[] {
  const seen = new Set<string>();
  return controls.filter(({ id }) => !seen.has(id) && seen.add(id));
}
