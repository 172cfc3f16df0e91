/** One room: who has the turn, who is in it, what it has cost, and what is said. */
import { cleanLine } from "../../../shared/clean-text.ts";
import type { Room } from "../../../shared/rooms/api.ts";
import { PROTOCOL_WORDS } from "../../../shared/rooms/protocol.ts";
import { ApiError, findRoom, stopRoom } from "./api.ts";
import { Composer } from "./conversation/composer.ts";
import { formatDuration } from "./conversation/format.ts";
import { errorText, find, make, makeButton } from "./dom.ts";
import type { Panel, PanelOptions } from "./kinds/kind.ts";
import { RoomLines } from "./room-lines.ts";

const LOOK_MS = 1_000;
/** From here on the members stand beside what is said. */
const WIDE = "(min-width: 1000px)";

export type RoomPaneOptions = Omit<PanelOptions, "status">;

export class RoomPane implements Panel {
  readonly #options: RoomPaneOptions;
  readonly #timer: number;
  readonly #view = find("#room-view");
  readonly #turn = make("p", "turn");
  readonly #bounds = make("p", "quiet");
  readonly #problem = make("p", "problem");
  readonly #stop = makeButton("Stop", () => void this.#try(() => this.#end()), "danger");
  readonly #members = make("ul", "members");
  readonly #lines: RoomLines;
  readonly #composer: Composer | undefined;
  #isLooking = false;
  #isClosed = false;

  constructor(options: RoomPaneOptions) {
    this.#options = options;
    const { threadId, canAct } = options;
    this.#lines = new RoomLines(threadId);
    const form = makeForm();
    this.#build(form);
    const written = { form, invites: "Write in the room" };
    this.#composer = canAct ? new Composer(threadId, () => this.#sent(), written) : undefined;
    form.hidden = !canAct;
    this.#timer = window.setInterval(() => void this.#look(), LOOK_MS);
    void this.#look();
  }

  close(): void {
    this.#isClosed = true;
    window.clearInterval(this.#timer);
    this.#lines.close();
    this.#composer?.leave();
    this.#view.hidden = true;
    this.#view.replaceChildren();
  }

  #build(form: HTMLFormElement): void {
    this.#problem.setAttribute("role", "alert");
    this.#turn.setAttribute("role", "status");
    this.#stop.title = "End this round, and interrupt whoever has the turn";
    this.#stop.hidden = true;
    const who = make("details", "", [make("summary", "", ["Members"]), this.#members, this.#bounds]);
    who.open = matchMedia(WIDE).matches;
    const head = make("div", "head", [this.#turn, this.#stop]);
    this.#view.replaceChildren(head, who, this.#problem, this.#lines.element, form);
    this.#view.hidden = false;
  }

  async #look(): Promise<void> {
    if (document.visibilityState === "hidden" || this.#isLooking) return;
    this.#isLooking = true;
    await this.#try(async () => {
      const room = await findRoom(this.#options.threadId);
      if (this.#isClosed) return;
      this.#show(room);
      await this.#lines.follow(room.lines);
      this.#problem.textContent = "";
    });
    this.#isLooking = false;
  }

  #sent(): void {
    this.#lines.toEnd();
    void this.#look();
  }

  async #end(): Promise<void> {
    this.#stop.disabled = true;
    try {
      await stopRoom(this.#options.threadId);
    } finally {
      this.#stop.disabled = false;
    }
    await this.#look();
  }

  async #try(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (this.#isClosed) return;
      if (error instanceof ApiError && error.status === 401) return this.#options.onSignedOut();
      this.#problem.textContent = errorText(error);
    }
  }

  #show(room: Room): void {
    const { turnOf, isOpen } = room;
    setText(this.#turn, turnText(room, Date.now()));
    this.#turn.classList.toggle("running", turnOf.length > 0);
    this.#stop.hidden = !this.#options.canAct || turnOf.length === 0;
    setText(this.#bounds, boundsText(room));
    if (!isOpen) this.#composer?.setClosed("The room is over.");
    const rows = room.members.map((member) => this.#member(room, member));
    const isSame =
      this.#members.children.length === rows.length &&
      rows.every((row, at) => this.#members.children[at]?.isEqualNode(row));
    if (!isSame) this.#members.replaceChildren(...rows);
  }

  #member({ turnOf, lead }: Room, member: Room["members"][number]): HTMLElement {
    const { name, threadId, number, directive, costUsd } = member;
    const hasTurn = turnOf.includes(name);
    const marks = [hasTurn ? "has the turn" : "", lead === name ? "leads" : ""].filter((mark) => mark !== "");
    const about = [
      ...(directive === null || directive === name ? [] : [`directive ${cleanLine(directive)}`]),
      dollars(costUsd),
      ...marks,
    ];
    const button = makeButton("", () => this.#options.onChoose(threadId));
    const title = `@${cleanLine(name)}${number === null ? "" : ` #${number}`}`;
    button.append(make("span", "name", [title]), make("span", "about", [about.join(" · ")]));
    return make("li", hasTurn ? "running" : "", [button]);
  }
}

function makeForm(): HTMLFormElement {
  const field = make("textarea");
  field.rows = 1;
  field.setAttribute("aria-label", "Message to the room");
  const notice = make("p", "compose-notice");
  notice.setAttribute("role", "status");
  const send = make("button", "primary", ["Send"]);
  return make("form", "compose", [notice, field, send]);
}

/** @param now in milliseconds since 1970 */
function turnText({ turnOf, turnSince, why, turns, isOpen }: Room, now: number): string {
  const names = turnOf.map((name) => `@${cleanLine(name)}`).join(", ");
  if (names !== "") {
    const forMs = turnSince === null ? 0 : Math.max(0, now - Date.parse(turnSince));
    const has = turnOf.length === 1 ? "has the turn" : "may write";
    return `${names} ${has}, for ${forMs < 60_000 ? `${Math.floor(forMs / 1_000)} s` : formatDuration(forMs)}`;
  }
  if (why !== null) return `${isOpen ? "Nobody has the turn" : "The room is over"}: ${cleanLine(why)}`;
  return turns === 0 ? "Nobody has written yet: what you write begins a round." : "Nobody has the turn.";
}

function boundsText({ protocol, turns, maxTurns, costUsd, maxUsd, turnSeconds }: Room): string {
  const cap = maxUsd === null ? "without a cap" : `of ${dollars(maxUsd)}`;
  return [
    `${protocol}: ${PROTOCOL_WORDS[protocol]}`,
    `turn ${turns} of ${maxTurns}`,
    `${dollars(costUsd)} ${cap} since a person wrote`,
    `a turn takes ${turnSeconds} s at most`,
  ].join(" · ");
}

const dollars = (usd: number) => `$${usd.toFixed(2)}`;

/** A selection in it stays while nothing has changed. */
function setText(element: HTMLElement, text: string): void {
  if (element.textContent !== text) element.textContent = text;
}
