/** What needs people, over all agents: open asks and failures, then turns that ended. */
import type { InboxItem } from "../../../shared/agent/api.ts";
import { cleanLine } from "../../../shared/clean-text.ts";
import { find, make, makeButton } from "./dom.ts";

const MAX_ENDS = 10;
const SAYS: Record<InboxItem["kind"], string> = {
  permission: "asks",
  question: "has a question",
  plan: "has a plan",
  failure: "can't go on",
  end: "has ended its turn",
};

/** Opens by itself if somebody is needed, and is left as the person leaves it. */
export class InboxList {
  readonly #onChoose: (threadId: string) => void;
  readonly #details = find<HTMLDetailsElement>("#inbox");
  #needed = 0;

  constructor(onChoose: (threadId: string) => void) {
    this.#onChoose = onChoose;
  }

  /** In the order of the sidecar's answer: who is needed first. */
  show(items: readonly InboxItem[]): void {
    const needed = items.filter(({ kind }) => kind !== "end");
    const ends = items.filter(({ kind }) => kind === "end").slice(0, MAX_ENDS);
    this.#details.hidden = needed.length + ends.length === 0;
    find("#inbox summary").textContent =
      needed.length > 0 ? `Needs you (${needed.length})` : "Turns that ended";
    if (needed.length > this.#needed) this.#details.open = true;
    this.#needed = needed.length;
    const rows = [...needed, ...ends].map((item) => make("li", item.kind, [this.#draw(item)]));
    const list = find("#inbox ul");
    const isSame =
      list.children.length === rows.length && rows.every((row, i) => list.children[i]?.isEqualNode(row));
    if (!isSame) list.replaceChildren(...rows);
  }

  #draw({ threadId, number, title, kind, text, at }: InboxItem): HTMLButtonElement {
    const time = new Date(at).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
    const button = makeButton("", () => this.#onChoose(threadId));
    const words = cleanLine(text);
    button.append(
      make("span", "name", [make("span", "", [`#${number} ${title}`])]),
      make("span", "about", [`${time} · ${SAYS[kind]}${words === "" ? "" : `: ${words}`}`]),
    );
    return button;
  }
}
