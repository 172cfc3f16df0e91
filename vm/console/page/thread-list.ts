/** The list of threads. */
import { holdsText } from "../../../shared/agent/holds.ts";
import type { Thread } from "../../../shared/api.ts";
import { describeState } from "../../../shared/attach.ts";
import { cleanLine } from "../../../shared/clean-text.ts";
import { threadTree } from "../../../shared/thread-tree.ts";
import { find, make } from "./dom.ts";

export interface ShowOptions {
  /** Of the thread that is being looked at. */
  current: string | undefined;
  onChoose: (threadId: string) => void;
}

export function showThreads(selector: string, threads: readonly Thread[], options: ShowOptions): void {
  const items = threadTree(threads).map(({ thread, depth }) => {
    const item = make("li", depth === 0 ? thread.status : `${thread.status} below`, [
      drawThread(thread, options),
    ]);
    item.style.setProperty("--depth", String(depth));
    return item;
  });
  const list = find(selector);
  // Left alone while nothing has changed: a press or a selection in it goes on.
  const isSame =
    list.children.length === items.length && items.every((item, i) => list.children[i]?.isEqualNode(item));
  if (!isSame) list.replaceChildren(...items);
}

function drawThread(thread: Thread, { current, onChoose }: ShowOptions): HTMLElement {
  const { threadId, title, number, command, type } = thread;
  const name = [make("span", "", [number === null ? title : `#${number} ${title}`])];
  const held = cleanLine(holdsText(thread.holds));
  const isAsked = thread.status === "waiting";
  const button = make("button", "", [
    make("span", "name", [...name, ...(isAsked ? [make("span", "badge", ["asks you"])] : [])]),
    ...(type === "agent" ? [] : [make("span", "id", [threadId]), make("span", "command", [command])]),
    make("span", "about", [aboutText(thread)]),
    // A line of its own: what stands at the other one's end is cut off.
    ...(held === "" ? [] : [make("span", "about", [held])]),
  ]);
  button.type = "button";
  button.dataset["thread"] = threadId;
  button.addEventListener("click", () => onChoose(threadId));
  if (threadId === current) button.setAttribute("aria-current", "true");
  return button;
}

function aboutText(thread: Thread): string {
  const where = thread.dir === "." ? "" : ` in ${thread.dir}`;
  const { origin, doing } = thread;
  const now = doing === null ? "" : ` · ${cleanLine(doing)}`;
  const from = origin && ` · from ${origin.number === null ? origin.threadId : `#${origin.number}`}`;
  const kind = thread.engine ? `${thread.type} (${thread.engine})` : thread.type;
  return `${describeState(thread)}${now} · ${kind}${where}${from ?? ""}`;
}
