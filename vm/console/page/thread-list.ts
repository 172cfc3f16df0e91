/** The lists of threads, and the search over them. */
import { holdsText } from "../../../shared/agent/holds.ts";
import type { LastWords, Thread } from "../../../shared/api.ts";
import { describeState } from "../../../shared/attach.ts";
import type { ChannelRow } from "../../../shared/channel-api.ts";
import { cleanLine } from "../../../shared/clean-text.ts";
import { kindIn } from "../../../shared/kinds.ts";
import { type Placed, threadTree } from "../../../shared/thread-tree.ts";
import { drawChannel, drawElsewhere } from "./channel-head.ts";
import { byChannel } from "./channels.ts";
import { find, make } from "./dom.ts";
import type { ConsoleKinds } from "./kinds/kinds.ts";
import { knownPeople, learnThreads, shortName } from "./people.ts";
import { findMatch, type Match } from "./search.ts";

/** The newest ended threads; a search finds others. */
const MAX_ENDED = 50;
const NO_THREAD = "No thread is open. New makes one, as /terminal and /agent do in Discord.";

type FindMatch = (thread: Thread) => Match | undefined;

export interface ThreadListsOptions {
  kinds: ConsoleKinds;
  /** The id of the thread that is being looked at. */
  current: () => string | undefined;
  onChoose: (threadId: string) => void;
  /** Something is looked for: what threads printed last is wanted. */
  onSearch: () => void;
}

export class ThreadLists {
  readonly #options: ThreadListsOptions;
  readonly #search = find<HTMLInputElement>("#search");
  #open: readonly Thread[] = [];
  #ended: readonly Thread[] = [];
  /** By thread. */
  #words: ReadonlyMap<string, readonly string[]> = new Map();
  #channels: readonly ChannelRow[] = [];

  constructor(options: ThreadListsOptions) {
    this.#options = options;
    this.#search.addEventListener("input", () => {
      // Opened, it is asked for.
      if (this.#search.value.trim() !== "") find<HTMLDetailsElement>("#ended").open = true;
      this.#draw();
      if (this.isSearching) this.#options.onSearch();
    });
    this.#search.addEventListener("keydown", ({ key, isComposing }) => {
      if (key === "Enter" && !isComposing) this.go(undefined, 1);
    });
  }

  get isSearching(): boolean {
    return this.#search.value.trim() !== "";
  }

  /** As the sidecar tells them now. @param words of a search: what threads printed last */
  show(
    open: readonly Thread[],
    ended: readonly Thread[],
    { words, channels }: { words: readonly LastWords[]; channels: readonly ChannelRow[] },
  ): void {
    this.#words = new Map(words.map(({ threadId, lines }) => [threadId, lines]));
    this.#open = open;
    this.#channels = channels;
    this.#ended = ended;
    learnThreads([...open, ...ended]);
    this.#draw();
  }

  /** Undefined if it is not open. */
  findOpen(threadId: string | undefined): Thread | undefined {
    return this.#open.find((thread) => thread.threadId === threadId);
  }

  /** How many open threads end with this one. */
  countChildren({ threadId }: Thread): number {
    return countChildren(this.#open, threadId);
  }

  startSearch(): void {
    this.#search.focus();
    this.#search.select();
  }

  /** @returns whether that is where the person writes */
  leaveSearch(target: Element): boolean {
    if (target !== this.#search) return false;
    this.#search.value = "";
    this.#search.blur();
    this.#draw();
    return true;
  }

  /** Chooses the next thread in the lists, or the one before; from none, the first. */
  go(from: string | undefined, step: 1 | -1): void {
    const all = [...document.querySelectorAll<HTMLButtonElement>("nav [data-thread]")];
    const buttons = all.filter((button) => button.checkVisibility());
    const at = buttons.findIndex((button) => button.dataset["thread"] === from);
    (at < 0 ? buttons[0] : buttons[at + step])?.click();
  }

  #draw(): void {
    const query = this.#search.value.trim();
    const match = (thread: Thread) => findMatch(thread, query, this.#words.get(thread.threadId));
    const isShown = (thread: Thread) => match(thread) !== undefined;
    const open = threadTree(this.#open, isShown);
    const ended = threadTree(this.#ended.filter(isShown).slice(0, MAX_ENDED));
    this.#fill("#open-threads", this.#drawByChannel(open, match));
    this.#fill("#ended-threads", this.#drawItems(ended, match));
    const notice = find("#list-notice");
    if (query === "") notice.textContent = this.#open.length > 0 ? "" : NO_THREAD;
    else notice.textContent = open.length + ended.length > 0 ? "" : `No thread has ${query}.`;
    notice.hidden = notice.textContent === "";
  }

  #drawByChannel(tree: readonly Placed<Thread>[], match: FindMatch): HTMLLIElement[] {
    // Without a relay there is no channel, and nothing to tell apart.
    if (this.#channels.length === 0) return this.#drawItems(tree, match);
    return byChannel(tree, this.#channels)
      .filter(({ placed }) => placed.length > 0 || !this.isSearching)
      .flatMap(({ channel, placed }) => [
        channel ? drawChannel(channel, knownPeople()) : drawElsewhere(),
        ...this.#drawItems(placed, match),
      ]);
  }

  #drawItems(tree: readonly Placed<Thread>[], match: FindMatch): HTMLLIElement[] {
    const { kinds, onChoose } = this.#options;
    const options = { kinds, current: this.#options.current(), onChoose };
    return tree.map(({ thread, depth }) => {
      const item = make("li", depth === 0 ? thread.status : `${thread.status} below`, [
        drawThread(thread, options, match(thread)?.line),
      ]);
      item.style.setProperty("--depth", String(depth));
      return item;
    });
  }

  #fill(selector: string, items: readonly HTMLLIElement[]): void {
    const list = find(selector);
    // Left alone while nothing has changed: a press or a selection in it goes on.
    const isSame =
      list.children.length === items.length && items.every((item, i) => list.children[i]?.isEqualNode(item));
    if (!isSame) list.replaceChildren(...items);
  }
}

/** How many threads this one spawned, and these in turn. A branch is nobody's child, and goes on. */
export function countChildren(
  threads: readonly { threadId: string; parentId?: string | null | undefined; origin: object | null }[],
  threadId: string,
): number {
  const children = threads.filter(({ parentId, origin }) => origin === null && parentId === threadId);
  return children.reduce((sum, child) => sum + 1 + countChildren(threads, child.threadId), 0);
}

interface DrawOptions {
  kinds: ConsoleKinds;
  current: string | undefined;
  onChoose: (threadId: string) => void;
}

/** @param line that it printed, for which a search found it */
function drawThread(
  thread: Thread,
  { kinds, current, onChoose }: DrawOptions,
  line: string | undefined,
): HTMLElement {
  const { threadId, title, number, command, type } = thread;
  const name = [make("span", "", [number === null ? title : `#${number} ${title}`])];
  const held = cleanLine(holdsText(thread.holds));
  const isAsked = thread.status === "waiting";
  const button = make("button", "", [
    make("span", "name", [...name, ...(isAsked ? [make("span", "badge", ["asks you"])] : [])]),
    ...(kindIn(kinds, type).hasConversation
      ? []
      : [make("span", "id", [shortName(thread)]), make("span", "command", [command])]),
    make("span", "about", [aboutText(thread)]),
    // A line of its own: what stands at the other one's end is cut off.
    ...(held === "" ? [] : [make("span", "about", [held])]),
    ...(line === undefined ? [] : [make("span", "about said", [`“${line}”`])]),
  ]);
  button.type = "button";
  button.dataset["thread"] = threadId;
  button.addEventListener("click", () => onChoose(threadId));
  if (threadId === current) button.setAttribute("aria-current", "true");
  return button;
}

function aboutText(thread: Thread): string {
  const where = thread.dir === "." ? "" : ` in ${thread.dir}`;
  const { origin, turn, doing } = thread;
  const step = turn ? ` · step ${turn.step}` : "";
  const now = `${step}${doing === null ? "" : ` · ${cleanLine(doing)}`}`;
  const from = origin && ` · from ${shortName(origin)}`;
  const kind = thread.engine ? `${thread.type} (${thread.engine})` : thread.type;
  return `${describeState(thread)}${now} · ${kind}${where}${from ?? ""}`;
}
