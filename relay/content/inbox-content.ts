/** The channel's content: for each person one message that lists what needs them, as long as something does. */
import type { InboxItem } from "../../shared/agent/api.ts";
import { findDiscordId } from "../../shared/principal.ts";
import type { Content, ContentMark, Notice, Page } from "./content.ts";
import { doneText, inboxHead, inboxLine } from "./lists/inbox.ts";
import { fitLines } from "./lists/lines.ts";

const PREFIX = "inbox.";
/** What is answered sooner is no message's worth. */
const DELAY_MS = 5_000;
/** An answer is mostly followed by the turn's end, or the next ask: the message stays for that. */
const LINGER_MS = 10_000;

export class InboxContent implements Content<readonly InboxItem[]> {
  /** Nothing is read from a position, and nothing but the reply decides about pages. */
  readonly offset = 0;
  readonly eventCount = 0;
  readonly #isAllowed: (userId: string) => boolean;
  readonly #delayMs: number;
  readonly #lingerMs: number;
  #items: ReadonlyMap<string, readonly InboxItem[]> = new Map();
  /** People who have, or may have, a message; with the time before which none is sent. */
  readonly #people = new Map<string, number>();
  /** Since when people with a message need nothing any more. */
  readonly #doneSince = new Map<string, number>();
  /** Before the first reply nobody knows what is needed. */
  #isKnown = false;

  /**
   * @param keys of the ledger: messages that may be there from an earlier process.
   * @param isAllowed who may use the bot: nobody else gets a message.
   * @param waitScale of the time before a message comes and goes
   */
  constructor(keys: readonly string[], isAllowed: (userId: string) => boolean, waitScale = 1) {
    this.#isAllowed = isAllowed;
    this.#delayMs = DELAY_MS * waitScale;
    this.#lingerMs = LINGER_MS * waitScale;
    for (const key of keys) if (key.startsWith(PREFIX)) this.#people.set(key.slice(PREFIX.length), 0);
  }

  accept(items: readonly InboxItem[], now: number): Promise<void> {
    const before = this.#items;
    this.#items = byPerson(items, this.#isAllowed);
    for (const userId of this.#people.keys()) {
      if (this.#items.has(userId)) this.#doneSince.delete(userId);
      else if (!this.#doneSince.has(userId)) this.#doneSince.set(userId, now);
    }
    for (const userId of this.#items.keys()) {
      const mayHaveOne = !this.#isKnown && this.#people.has(userId);
      if (!before.has(userId) && !mayHaveOne) this.#people.set(userId, now + this.#delayMs);
    }
    this.#isKnown = true;
    return Promise.resolve();
  }

  pages(now: number): readonly Page[] {
    if (!this.#isKnown) return [];
    return [...this.#people].map(([userId, notBefore]) => this.#page(userId, notBefore, now));
  }

  #page(userId: string, notBefore: number, now: number): Page {
    const isOver = now - (this.#doneSince.get(userId) ?? now) >= this.#lingerMs;
    const lines = (this.#items.get(userId) ?? []).map(inboxLine);
    return {
      key: PREFIX + userId,
      text:
        lines.length === 0
          ? doneText(userId)
          : fitLines(inboxHead(userId), lines, "more; `/inbox` shows them"),
      buttons: [],
      isSilent: true,
      isSealed: false,
      presence: lines.length > 0 ? "wanted" : isOver ? "unwanted" : "kept",
      isAside: true,
      notBefore,
    };
  }

  breakPage(): void {}
  begin(): void {}
  confirm(): void {}
  settle(): void {}

  roll(): "edit" {
    return "edit";
  }

  notices(): readonly Notice[] {
    return [];
  }

  told(): void {}

  /** The ledger's rows are all that a restart needs. */
  mark(): ContentMark | undefined {
    return undefined;
  }

  isNeeded(): boolean {
    return true;
  }
}

/** Those of each person in Discord who may use the bot. */
function byPerson(
  items: readonly InboxItem[],
  isAllowed: (userId: string) => boolean,
): Map<string, InboxItem[]> {
  const groups = new Map<string, InboxItem[]>();
  for (const item of items) {
    const userId = findDiscordId(item.createdBy);
    if (userId === undefined || !isAllowed(userId)) continue;
    groups.set(userId, [...(groups.get(userId) ?? []), item]);
  }
  return groups;
}
