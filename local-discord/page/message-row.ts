/** One message on the screen: its parts, and which of them have to be made anew. */
import type { SeenMessage } from "../seen.ts";
import { day, el } from "./dom.ts";
import { drawBody, drawHead } from "./message-body.ts";
import { drawControls } from "./message-controls.ts";
import { drawEmbeds, drawFiles, drawReactions } from "./message-extras.ts";
import { drawEphemeralFoot, drawTools, type MessageActions } from "./message-tools.ts";
import type { Names } from "./names.ts";

const GROUP_MS = 7 * 60 * 1000;

/** What the parts of a message are made with. */
export interface RowContext {
  names: Names;
  actions: MessageActions;
}

interface Part {
  /** What the part shows; `undefined`: the message has no such part. */
  key: string | undefined;
  make: () => Node | undefined;
}

export class MessageRow {
  readonly element: HTMLLIElement;
  readonly #context: RowContext;
  readonly #drawn = new Map<string, { key: string | undefined; node: Node | undefined }>();
  #message: SeenMessage;
  #isWaiting = false;

  constructor(message: SeenMessage, context: RowContext) {
    this.#message = message;
    this.#context = context;
    this.element = el("li", { class: "message", "data-id": message.id });
  }

  get message(): SeenMessage {
    return this.#message;
  }

  /** It has changed while somebody was selecting its text, which would have been lost. */
  get isWaiting(): boolean {
    return this.#isWaiting;
  }

  setMessage(message: SeenMessage): void {
    this.#message = message;
  }

  /**
   * Makes the parts anew that differ from what is shown, each in its place.
   * @param above the message that stands above it
   * @param namesRev another number as soon as names of people or threads are others
   */
  draw(above: SeenMessage | undefined, namesRev: number): void {
    this.#isWaiting = isBeingSelected(this.element);
    if (this.#isWaiting) return;
    const message = this.#message;
    const isHead = startsGroup(message, above);
    this.element.className = classOf(message, isHead, this.#context.names.me());
    let last: Node | undefined;
    for (const [name, { key, make }] of this.#parts(above, isHead, namesRev)) {
      const drawn = this.#drawn.get(name);
      if (drawn && drawn.key === key) {
        last = drawn.node ?? last;
        continue;
      }
      if (drawn?.node) this.element.removeChild(drawn.node);
      const node = key === undefined ? undefined : make();
      this.#drawn.set(name, { key, node });
      if (!node) continue;
      this.element.insertBefore(node, last ? last.nextSibling : this.element.firstChild);
      last = node;
    }
  }

  #parts(above: SeenMessage | undefined, isHead: boolean, namesRev: number): [string, Part][] {
    const message = this.#message;
    const { names, actions } = this.#context;
    const list = (entries: readonly unknown[]) =>
      entries.length > 0 ? JSON.stringify([entries, namesRev]) : undefined;
    const head = [message.author, message.replyTo, message.isReplyToDeleted, message.interaction, namesRev];
    const bell = [message.isSilent, message.notified];
    const body = [message.content, message.isLoading, message.editedAt, message.type, namesRev];
    const isToolless = isSystem(message) || message.isEphemeral || message.isLoading;
    return [
      ["day", { key: startsDay(message, above) ? "day" : undefined, make: () => dayLine(message) }],
      [
        "head",
        {
          key: isHead ? JSON.stringify([...head, ...bell]) : undefined,
          make: () => drawHead(message, names, actions),
        },
      ],
      ["body", { key: JSON.stringify(body), make: () => drawBody(message, names) }],
      ["embeds", { key: list(message.embeds), make: () => drawEmbeds(message, names) }],
      ["files", { key: list(message.attachments), make: () => drawFiles(message) }],
      ["controls", { key: list(message.components), make: () => drawControls(message, names, actions) }],
      ["reactions", { key: list(message.reactions), make: () => drawReactions(message, names, actions) }],
      [
        "foot",
        {
          key: message.isEphemeral ? "ephemeral" : undefined,
          make: () => drawEphemeralFoot(message, actions),
        },
      ],
      [
        "tools",
        {
          key: isToolless ? undefined : `tools ${names.me()}`,
          make: () => drawTools(() => this.#message, names, actions),
        },
      ],
    ];
  }
}

function isBeingSelected(element: Element): boolean {
  const selection = document.getSelection();
  return (
    selection !== null &&
    !selection.isCollapsed &&
    selection.rangeCount > 0 &&
    selection.containsNode(element, true)
  );
}

function classOf(message: SeenMessage, isHead: boolean, me: string | undefined): string {
  const isPing = message.isEveryonePinged || (me !== undefined && message.mentions.includes(me));
  return [
    "message",
    isHead && "head",
    isPing && "ping",
    message.isEphemeral && "ephemeral",
    isSystem(message) && "system",
  ]
    .filter(Boolean)
    .join(" ");
}

function startsDay(message: SeenMessage, above: SeenMessage | undefined): boolean {
  return !above || day(above.createdAt) !== day(message.createdAt);
}

/** Whether name and picture stand above it, or it goes on under the message before. */
function startsGroup(message: SeenMessage, above: SeenMessage | undefined): boolean {
  if (isSystem(message)) return false;
  return (
    !above ||
    isSystem(above) ||
    startsDay(message, above) ||
    above.author.id !== message.author.id ||
    above.isEphemeral !== message.isEphemeral ||
    message.replyTo !== undefined ||
    message.isReplyToDeleted ||
    message.interaction !== undefined ||
    message.isSilent ||
    message.notified.length > 0 ||
    message.createdAt - above.createdAt > GROUP_MS
  );
}

/** Renamed, started a thread, the thread's starter. */
export function isSystem({ type }: SeenMessage): boolean {
  return [4, 18, 21].includes(type);
}

function dayLine(message: SeenMessage): HTMLElement {
  return el("div", { class: "day", role: "separator" }, el("span", {}, day(message.createdAt)));
}
