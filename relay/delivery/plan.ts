/** What to do next so that a thread's messages become what its content says. Pure. */

import type { Page } from "../content/content.ts";
import { comparedId } from "./compared.ts";

/** A message of ours, as far as it is known. */
export interface SentMessage {
  readonly id: string;
  /** What it shows ({@link shownBy}); undefined if that is not known: after a restart, or while it is edited. */
  readonly shows: string | undefined;
  /** A person deleted it, and messages stand below its place: what it showed could only be repeated below them. */
  readonly isGone: boolean;
  /** Discord says that it was deleted, and it is not decided yet whether it comes back. */
  readonly isDeleted?: boolean;
  /** An earlier process sent it, and it has not been read or edited since. */
  readonly isFromBefore?: boolean;
}

export type PageAction =
  | { readonly kind: "send"; readonly page: Page }
  | { readonly kind: "edit"; readonly page: Page; readonly id: string; readonly takesButtons?: true }
  /** The live message has grown too old to be edited. */
  | { readonly kind: "roll"; readonly page: Page; readonly id: string }
  | { readonly kind: "delete"; readonly key: string; readonly id: string };

export interface Plan {
  /**
   * All that can be done now: first what takes buttons away that mean nothing any more, an aside's before all (who has
   * just answered an ask waits to see that it was heard), then the rest in the order in which a person reads. One after
   * the other, or the first that need not wait: they do not depend on each other.
   */
  readonly actions: readonly PageAction[];
  /** The sealed pages whose messages are as they will stay. */
  readonly delivered: readonly string[];
}

export interface PlanInput {
  readonly pages: readonly Page[];
  readonly find: (key: string) => SentMessage | undefined;
  readonly isTooOld: (messageId: string) => boolean;
}

export function planPages({ pages, find, isTooOld }: PlanInput): Plan {
  const actions: PageAction[] = [];
  const delivered: string[] = [];
  const newest = pages.findLastIndex((page) => !page.isAside && isThere(find(page.key)));
  let canSend = true;
  for (const [index, page] of pages.entries()) {
    const message = find(page.key);
    if (message && isThere(message)) {
      if (page.presence === "unwanted") continue;
      if (message.shows === shownBy(page)) {
        if (page.isSealed) delivered.push(page.key);
        continue;
      }
      const isRolled = !page.isSealed && !page.isAside && page.presence === "wanted" && isTooOld(message.id);
      // What stands below may have to make room: it is not sent meanwhile.
      if (isRolled)
        return { actions: urgentFirst([...actions, { kind: "roll", page, id: message.id }]), delivered };
      const edit = { kind: "edit", page, id: message.id } as const;
      actions.push(takesButtons(message, page) ? { ...edit, takesButtons: true } : edit);
      continue;
    }
    if (page.presence !== "wanted") {
      if (page.isSealed) delivered.push(page.key);
      continue;
    }
    // A person deleted it: above another one it stays away. What was never sent is sent, below what stands there: an
    // earlier process may have listed other pages.
    const isDeleted = message !== undefined && (page.isSealed || (!page.isAside && index < newest));
    if (isDeleted) {
      if (page.isSealed) delivered.push(page.key);
    } else if (canSend) {
      canSend = false;
      actions.push({ kind: "send", page });
    }
  }
  // The last one first: a page that comes back must not find a later one above it.
  const unwanted = pages.findLast(({ key, presence }) => presence === "unwanted" && isThere(find(key)));
  const id = unwanted && find(unwanted.key)?.id;
  if (unwanted && id !== undefined) actions.push({ kind: "delete", key: unwanted.key, id });
  return { actions: urgentFirst(actions), delivered };
}

function urgentFirst(actions: readonly PageAction[]): PageAction[] {
  const rank = (action: PageAction) => {
    if (action.kind !== "edit" || !action.takesButtons) return 2;
    return action.page.isAside ? 0 : 1;
  };
  return actions.toSorted((a, b) => rank(a) - rank(b));
}

/** A message can only be replaced if none of the pages stands below it: so the newest of those goes first. */
export function deleteNewest({ pages, find }: Pick<PlanInput, "pages" | "find">, key: string): PageAction {
  const newest = pages.findLast((page) => !page.isAside && isThere(find(page.key)))?.key ?? key;
  return { kind: "delete", key: newest, id: find(newest)?.id ?? "" };
}

/** Whether no message of a page stands below this one's. */
export function isNewest({ pages, find }: Pick<PlanInput, "pages" | "find">, key: string): boolean {
  const index = pages.findIndex((page) => page.key === key);
  return !pages.some((page, other) => other > index && !page.isAside && isThere(find(page.key)));
}

interface Shown {
  readonly text: string;
  readonly buttons: readonly { readonly id: string; readonly label: string }[];
  readonly selects?: readonly { readonly id: string; readonly label: string }[];
}

/** What a message shows, for comparing. What notifies is not shown. */
export function shownBy({ text, buttons, selects = [] }: Shown): string {
  return JSON.stringify([text, ...compared([...selects, ...buttons])]);
}

function compared(controls: Shown["buttons"]): [id: string, label: string][] {
  return controls.flatMap(({ id, label }) => {
    const known = comparedId(id);
    return known === undefined ? [] : [[known, label] satisfies [string, string]];
  });
}

/** Whether a person could press a button that the page has no more. */
function takesButtons({ shows }: SentMessage, { buttons, selects = [] }: Page): boolean {
  if (shows === undefined) return false;
  const left = compared([...selects, ...buttons]).map(([id]) => id);
  const [, ...shown] = JSON.parse(shows) as [string, ...[string, string][]];
  return shown.some(([id]) => !left.includes(id));
}

function isThere(message: SentMessage | undefined): boolean {
  return message !== undefined && !message.isGone;
}
