/** What is said in a room, as far as it is looked at. However long the room is, the page holds the newest lines alone. */
import { cleanLine } from "../../../shared/clean-text.ts";
import { MAX_ROOM_LINES, type RoomLine } from "../../../shared/rooms/api.ts";
import { listRoomLines } from "./api.ts";
import { renderMarkdown } from "./conversation/markdown.ts";
import { make, makeButton } from "./dom.ts";

/** More are shown only as long as nobody writes. */
const MAX_SHOWN = 400;
/** A reader who is this near the end goes on with it. */
const AT_END_PX = 40;

export class RoomLines {
  readonly element = make("div", "lines");
  readonly #threadId: string;
  readonly #list = make("ol");
  readonly #earlier = makeButton("Earlier lines", () => void this.#showEarlier());
  readonly #sizes = new ResizeObserver(() => this.#keepAtEnd());
  /** The person looks at the newest lines. */
  #follows = true;
  /** The lines shown are those after the first one and up to the last one; undefined before the first look. */
  #shown: { after: number; last: number } | undefined;

  constructor(threadId: string) {
    this.#threadId = threadId;
    this.element.setAttribute("role", "log");
    this.element.setAttribute("aria-label", "What is said");
    this.element.tabIndex = 0;
    this.#earlier.hidden = true;
    this.element.append(this.#earlier, this.#list);
    this.element.addEventListener("scroll", () => {
      this.#follows = this.#isAtEnd();
    });
    // The members beside or above it are opened, or the field below it grows.
    this.#sizes.observe(this.element);
  }

  close(): void {
    this.#sizes.disconnect();
  }

  /** The person has written, and wants to see it. */
  toEnd(): void {
    this.#follows = true;
    this.element.scrollTop = this.element.scrollHeight;
  }

  /** @param end the number of the room's last line @throws ApiError */
  async follow(end: number): Promise<void> {
    const isBehind = this.#shown === undefined || end - this.#shown.last > MAX_ROOM_LINES;
    if (isBehind) {
      const after = Math.max(0, end - MAX_ROOM_LINES);
      this.#shown = { after, last: after };
      this.#list.replaceChildren();
    }
    for (let shown = this.#shown; shown && shown.last < end; ) {
      const lines = await listRoomLines(this.#threadId, shown.last);
      const last = lines.at(-1)?.seq;
      if (last === undefined) break;
      this.#list.append(...lines.map(draw));
      shown.last = last;
      this.#forget();
      this.#keepAtEnd();
    }
    this.#earlier.hidden = (this.#shown?.after ?? 0) === 0;
  }

  #keepAtEnd(): void {
    if (this.#follows) this.element.scrollTop = this.element.scrollHeight;
  }

  #isAtEnd(): boolean {
    const { scrollHeight, scrollTop, clientHeight } = this.element;
    return scrollHeight - scrollTop - clientHeight < AT_END_PX;
  }

  #forget(): void {
    const shown = this.#shown;
    while (shown && this.#list.children.length > MAX_SHOWN) {
      this.#list.firstElementChild?.remove();
      shown.after++;
    }
  }

  async #showEarlier(): Promise<void> {
    const shown = this.#shown;
    if (!shown) return;
    const after = Math.max(0, shown.after - MAX_ROOM_LINES);
    this.#earlier.disabled = true;
    try {
      const lines = await listRoomLines(this.#threadId, after);
      const { scrollHeight, scrollTop } = this.element;
      this.#list.prepend(...lines.filter(({ seq }) => seq <= shown.after).map(draw));
      shown.after = after;
      this.#earlier.hidden = after === 0;
      this.element.scrollTop = scrollTop + this.element.scrollHeight - scrollHeight;
    } catch {
      // The look that follows says what is wrong.
    } finally {
      this.#earlier.disabled = false;
    }
  }
}

/** Text of anybody's becomes text nodes alone. */
function draw({ kind, name, number, text, at }: RoomLine): HTMLElement {
  const who = name === null ? "" : `${cleanLine(name)}${number === null ? "" : ` #${number}`}`;
  const time = new Date(at).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
  const says = kind === "text" || kind === "person";
  const parts = says
    ? [make("p", "who", [make("b", "", [who]), ` ${time}`]), renderMarkdown(text)]
    : [make("p", "remark", [`${who === "" ? "" : `${who} `}${cleanLine(text)}`])];
  return make("li", kind, parts);
}
