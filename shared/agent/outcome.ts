/** What came of a tool's call, for one line of text. Pure. */
import type { EventOf } from "./events.ts";

const MAX_REASON_CHARACTERS = 80;

/** What edits did to files. */
export interface Change {
  paths: ReadonlySet<string>;
  added: number;
  removed: number;
  /** False if a text is not whole: its lines can't be counted here. */
  isCounted: boolean;
}

export const NO_CHANGE: Change = { paths: new Set(), added: 0, removed: 0, isCounted: true };

/** What many edits did together: a file that several changed is one file. */
export class ChangeSum {
  readonly #paths = new Set<string>();
  #added = 0;
  #removed = 0;
  #isCounted = true;

  add({ paths, added, removed, isCounted }: Change): void {
    for (const path of paths) this.#paths.add(path);
    this.#added += added;
    this.#removed += removed;
    this.#isCounted &&= isCounted;
  }

  get sum(): Change {
    return { paths: this.#paths, added: this.#added, removed: this.#removed, isCounted: this.#isCounted };
  }
}

/** What a call's edits did. */
export function countChange({ content = [], blobs = {} }: EventOf<"tool_call_update">): Change {
  const change = new ChangeSum();
  for (const [i, part] of content.entries()) {
    if (part.type !== "diff") continue;
    const isCounted = !Object.keys(blobs).some((pointer) => pointer.startsWith(`/content/${i}/`));
    const [before, after] = [linesOf(part.oldText ?? ""), linesOf(part.newText)];
    change.add({
      paths: new Set([part.path]),
      added: isCounted ? countMissing(after, before) : 0,
      removed: isCounted ? countMissing(before, after) : 0,
      isCounted,
    });
  }
  return change.sum;
}

/** How many lines were added and removed, `+12 −3`; empty if none were, or if that is not known. */
export function linesText({ added, removed, isCounted }: Change): string {
  return !isCounted || added + removed === 0 ? "" : `+${added} −${removed}`;
}

/** How many lines a call's edits added and removed, as {@link linesText}. */
export function changeOf(update: EventOf<"tool_call_update">): string {
  return linesText(countChange(update));
}

/** Why it failed: the reason, or the first line of what it put out; empty if it did not fail. */
export function failureOf({ status, reason, content = [] }: EventOf<"tool_call_update">): string {
  if (status !== "failed") return "";
  if (reason !== undefined) return reason;
  const text = content.flatMap((part) =>
    part.type === "content" && part.content.type === "text" ? [part.content.text] : [],
  );
  const [first = ""] = text.join("\n").trim().split("\n");
  return first.slice(0, MAX_REASON_CHARACTERS);
}

function linesOf(text: string): string[] {
  return text === "" ? [] : text.replace(/\n$/, "").split("\n");
}

/** How many of `lines` have no equal among `others`, each equal counted once. */
function countMissing(lines: readonly string[], others: readonly string[]): number {
  const left = new Map<string, number>();
  for (const line of others) left.set(line, (left.get(line) ?? 0) + 1);
  let missing = 0;
  for (const line of lines) {
    const count = left.get(line) ?? 0;
    if (count === 0) missing += 1;
    else left.set(line, count - 1);
  }
  return missing;
}
