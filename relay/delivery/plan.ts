/** What to do next so that a thread's messages become what its document says. Pure. */
import type { PageView } from "../content/document.ts";
import { BLANK_PAGE } from "../content/pages.ts";

/** The picture of a full-screen program begins with this: so it is no page of the log. */
export const SCREEN_PREFIX = "▣ full screen\n";

/** A message of ours as far as it is known: after a restart only its id is. */
export interface SentMessage {
  readonly id: string;
  text: string | undefined;
  hasKeys: boolean | undefined;
  /** A person deleted it. Its place is kept: what came later could only be repeated below what stands there. */
  isGone?: boolean;
}

export interface MessageState {
  readonly text: string;
  /** Whether the buttons for keys stand below it. */
  readonly hasKeys: boolean;
}

export type PageAction =
  | { kind: "send"; index: number; isScreen: boolean; want: MessageState }
  | { kind: "edit"; index: number; isScreen: boolean; message: SentMessage; want: MessageState }
  | { kind: "delete"; index: number; message: SentMessage }
  /** The live message has grown too old to be edited: begin a new page. */
  | { kind: "roll"; index: number; message: SentMessage };

export interface Plan {
  action: PageAction | undefined;
  /** Pages below this index are delivered as they will stay. */
  confirmed: number;
}

export interface PlanInput {
  /** The document's pages from the first one not confirmed. */
  readonly views: readonly PageView[];
  readonly confirmed: number;
  /** Messages by page index. */
  readonly pages: ReadonlyMap<number, SentMessage>;
  /** The full-screen picture that was sent last. */
  readonly screen: { readonly index: number; readonly message: SentMessage } | undefined;
  /** The process runs: keys can be pressed. */
  readonly wantsKeys: boolean;
  /** Pages that shrank away are deleted; otherwise they stay as blank ones, since they mostly come back. */
  readonly dropsSurplus: boolean;
  readonly isTooOld: (messageId: string) => boolean;
}

/** The first thing to do, in the order in which a person reads. */
export function planPages(input: PlanInput): Plan {
  const { views, pages, wantsKeys } = input;
  const logViews = views.filter((view) => view.kind !== "screen");
  const picture = views.find((view) => view.kind === "screen");
  const newest = Math.max(-1, ...[...pages].map(([index, { isGone }]) => (isGone ? -1 : index)));
  let { confirmed } = input;
  for (const [i, view] of logViews.entries()) {
    const isLast = !picture && i === logViews.length - 1;
    const want = { text: view.text, hasKeys: isLast && wantsKeys && !view.isSealed };
    const message = pages.get(view.index);
    // Messages stand in the order in which they were sent: one that is missing above another stays missing.
    const isLost = !message || message.isGone;
    if (isLost && view.index > newest && !(message && view.isSealed))
      return { action: { kind: "send", index: view.index, isScreen: false, want }, confirmed };
    if (!isLost && !isAs(message, want)) {
      const kind = !view.isSealed && input.isTooOld(message.id) ? "roll" : "edit";
      return { action: { kind, index: view.index, isScreen: false, message, want }, confirmed };
    }
    if (view.isSealed && confirmed === view.index) confirmed = view.index + 1;
  }
  const surplus = findSurplus(input, logViews.at(-1)?.index ?? confirmed - 1);
  if (surplus) return { action: surplus, confirmed };
  return { action: picture && planPicture(input, picture), confirmed };
}

/** A message can only be replaced when none stands below it: so the newest page of those goes first. */
export function deleteNewest(
  pages: ReadonlyMap<number, SentMessage>,
  { index, message }: { index: number; message: SentMessage },
): PageAction {
  const below = [...pages].filter(([other, { isGone }]) => other > index && !isGone);
  const [newest, itsMessage] = below.sort(([a], [b]) => b - a)[0] ?? [index, message];
  return { kind: "delete", index: newest, message: itsMessage };
}

/** The last one first: a page that comes back must not find a later one above it. */
function findSurplus({ pages, dropsSurplus }: PlanInput, last: number): PageAction | undefined {
  const surplus = [...pages].filter(([index, { isGone }]) => index > last && !isGone);
  for (const [index, message] of surplus.sort(([a], [b]) => b - a)) {
    if (dropsSurplus) return { kind: "delete", index, message };
    const want = { text: BLANK_PAGE, hasKeys: false };
    if (!isAs(message, want)) return { kind: "edit", index, isScreen: false, message, want };
  }
  return undefined;
}

function planPicture({ screen, wantsKeys }: PlanInput, picture: PageView): PageAction | undefined {
  const { index } = picture;
  const want = { text: SCREEN_PREFIX + picture.text, hasKeys: wantsKeys };
  if (screen?.index !== index) return { kind: "send", index, isScreen: true, want };
  const { message } = screen;
  return isAs(message, want) ? undefined : { kind: "edit", index, isScreen: true, message, want };
}

function isAs(message: SentMessage, want: MessageState): boolean {
  return message.text === want.text && message.hasKeys === want.hasKeys;
}
