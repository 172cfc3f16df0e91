/** The message list: drawn once, then changed part by part, so that a live edit moves nothing else. */
import type { SeenMessage } from "../seen.ts";
import { byId, compareIds } from "./dom.ts";
import { MessageRow, type RowContext } from "./message-row.ts";

const NEAR_BOTTOM_PX = 60;
const FLASH_MS = 1_500;

export class MessageList {
  readonly #context: RowContext;
  readonly #rows = new Map<string, MessageRow>();
  readonly #deleted = new Set<string>();
  readonly #list = byId("messages");
  readonly #scroller = byId("scroller");
  readonly #jump = byId("jump");
  #sticks = true;
  /** Where the view was when it was last looked at. */
  #scrolledTo = 0;
  #namesRev = 0;

  constructor(context: RowContext) {
    this.#context = context;
    this.#scroller.tabIndex = 0; // arrow keys scroll it
    this.#scroller.addEventListener("scroll", () => this.#noteScroll());
    this.#jump.addEventListener("click", () => this.toBottom());
    // What grows by itself (a picture that arrives, the composer, a turned phone) must not lose the end.
    const observer = new ResizeObserver(() => this.#sticks && this.toBottom());
    observer.observe(this.#scroller);
    observer.observe(this.#list);
    document.addEventListener("selectionchange", () => this.#drawWaiting());
  }

  clear(): void {
    this.#rows.clear();
    this.#deleted.clear();
    this.#list.replaceChildren();
    this.#sticks = true;
    this.#jump.hidden = true;
  }

  get oldestId(): string | undefined {
    return idOf(this.#list.firstElementChild);
  }

  isAtBottom(): boolean {
    const { scrollHeight, scrollTop, clientHeight } = this.#scroller;
    return scrollHeight - scrollTop - clientHeight < NEAR_BOTTOM_PX;
  }

  toBottom(): void {
    this.#scroller.scrollTop = this.#scroller.scrollHeight;
    this.#scrolledTo = this.#scroller.scrollTop;
    this.#sticks = true;
    this.#jump.hidden = true;
  }

  /** Shows a message in the middle and marks it for a moment; nothing happens if it is not loaded. */
  goTo(id: string): void {
    const row = this.#rows.get(id);
    if (!row) return;
    this.#sticks = false;
    row.element.scrollIntoView({ block: "center" });
    row.element.classList.add("flash");
    setTimeout(() => row.element.classList.remove("flash"), FLASH_MS);
  }

  /** Runs `change` and keeps the view where it was: at the end, or on what is being read. */
  keepView(change: () => void): void {
    const { scrollHeight, scrollTop } = this.#scroller;
    const first = this.#list.firstElementChild;
    change();
    if (this.#sticks) this.toBottom();
    else if (first !== this.#list.firstElementChild) {
      this.#scroller.scrollTop = scrollTop + (this.#scroller.scrollHeight - scrollHeight);
    }
  }

  /** New or changed messages; an older copy than the one shown changes nothing. */
  upsert(messages: readonly SeenMessage[]): void {
    this.keepView(() => {
      for (const message of messages) {
        const row = this.#rows.get(message.id);
        if (this.#deleted.has(message.id) || (row && row.message.rev >= message.rev)) continue;
        if (row) {
          row.setMessage(message);
          this.#draw(row);
        } else this.#insert(message);
      }
    });
    const isAnyLast = messages.some(({ id }) => {
      const row = this.#rows.get(id);
      return row !== undefined && row.element.nextElementSibling === null;
    });
    if (!this.#sticks && isAnyLast) this.#jump.hidden = false;
  }

  remove(id: string): void {
    this.#deleted.add(id);
    const row = this.#rows.get(id);
    if (!row) return;
    const below = this.#rowOf(row.element.nextElementSibling);
    this.#rows.delete(id);
    this.keepView(() => {
      row.element.remove();
      if (below) this.#draw(below); // it may begin a group now
    });
  }

  /** Names of threads or people are others: what shows them is drawn anew. */
  namesChanged(): void {
    this.#namesRev += 1;
    this.keepView(() => {
      for (const row of this.#rows.values()) this.#draw(row);
    });
  }

  /**
   * Only who goes up leaves the end. The event comes with the next frame: if the list has grown by then (a picture), the
   * end is further down, and nobody has gone anywhere.
   */
  #noteScroll(): void {
    const { scrollTop } = this.#scroller;
    if (this.isAtBottom()) this.#sticks = true;
    else if (scrollTop < this.#scrolledTo) this.#sticks = false;
    this.#scrolledTo = scrollTop;
    if (this.#sticks) this.#jump.hidden = true;
  }

  #insert(message: SeenMessage): void {
    const row = new MessageRow(message, this.#context);
    this.#rows.set(message.id, row);
    let before = this.#list.lastElementChild;
    while (before && compareIds(idOf(before) ?? "", message.id) > 0) before = before.previousElementSibling;
    if (before) before.after(row.element);
    else this.#list.prepend(row.element);
    this.#draw(row);
    const below = this.#rowOf(row.element.nextElementSibling);
    if (below) this.#draw(below); // it may go on in this one's group now
  }

  #draw(row: MessageRow): void {
    row.draw(this.#rowOf(row.element.previousElementSibling)?.message, this.#namesRev);
  }

  #drawWaiting(): void {
    for (const row of this.#rows.values()) if (row.isWaiting) this.#draw(row);
  }

  #rowOf(element: Element | null): MessageRow | undefined {
    const id = idOf(element);
    return id === undefined ? undefined : this.#rows.get(id);
  }
}

function idOf(element: Element | null): string | undefined {
  return element instanceof HTMLElement ? element.dataset["id"] : undefined;
}
