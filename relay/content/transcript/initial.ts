/** What was said before the thread began, as its first message shows it. */
import type { Initial } from "./entries.ts";
import { inline } from "./inline.ts";
import { MAX_MESSAGE_UNITS } from "./split.ts";

const MAX_LINE_UNITS = 200;

/** A line a message, the newest that fit: *Details* shows them whole. */
export function initialText({ messages }: Initial): string {
  const count = `${messages.length} ${messages.length === 1 ? "message" : "messages"}`;
  const lines: string[] = [];
  let units = 120;
  for (const { role, text } of messages.toReversed()) {
    const line = `> **${role}** ${inline(text, MAX_LINE_UNITS)}`;
    units += line.length + 1;
    if (units > MAX_MESSAGE_UNITS) break;
    lines.unshift(line);
  }
  const left = messages.length - lines.length;
  const earlier = left === 0 ? "" : `; ${left} earlier ${left === 1 ? "one is" : "ones are"} not shown here`;
  return [`-# ↰ Before this thread: ${count} of another conversation${earlier}`, ...lines].join("\n");
}

/** The entry of what was said before, while the thread's own messages have not begun. */
export class OpenInitial {
  #entry: Initial | undefined;

  open(entry: Initial): void {
    this.#entry = entry;
  }

  /** @returns whether there is an entry that takes it. */
  add(message: Initial["messages"][number]): boolean {
    this.#entry?.messages.push(message);
    return this.#entry !== undefined;
  }

  seal(): void {
    if (this.#entry) this.#entry.isSealed = true;
    this.#entry = undefined;
  }
}
