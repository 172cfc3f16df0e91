/** The content of a room's thread: a message for each line that a member writes, and one that says whose turn it is. */
import * as z from "zod";
import { isOpen, type OutputReply, type ThreadStatus } from "../../shared/api.ts";
import { printAddress } from "../../shared/principal.ts";
import type { Room, RoomLine } from "../../shared/rooms/api.ts";
import { roomButtons } from "./buttons.ts";
import type { Content, Notice, Page } from "./content.ts";
import { inline } from "./transcript/inline.ts";
import { splitMarkdown } from "./transcript/split.ts";

export const roomMarkSchema = z.object({
  kind: z.literal("room"),
  offset: z.int(),
  /** The number of the newest line that was said here. */
  line: z.int(),
  /** The room is over, and its first message says so. */
  isOver: z.boolean(),
});
export type RoomMark = z.infer<typeof roomMarkSchema>;

/** Asks the sidecar for a room and for its lines. */
export interface RoomSource {
  get(): Promise<Room>;
  listLines(since: number): Promise<RoomLine[]>;
}

const KEY = "room";
const LINE = "line.";
const MAX_WHY = 300;
/** Before a person's handle if they write in Discord, where their message stands already. */
const IN_DISCORD = printAddress({ person: "" });

export class RoomContent implements Content<OutputReply> {
  readonly eventCount = 0;
  readonly #source: RoomSource;
  #offset: number;
  #line: number;
  #isOver: boolean;
  #room: Room | undefined;
  #status: ThreadStatus = "idle";
  /** The messages that the thread has not been sent yet, the oldest first. */
  #notices: Notice[] = [];
  /** The number of the newest line that was read. */
  #read: number;

  /** @param mark undefined: from the beginning */
  constructor(mark: RoomMark | undefined, source: RoomSource) {
    this.#source = source;
    this.#offset = mark?.offset ?? 0;
    this.#line = mark?.line ?? 0;
    this.#read = this.#line;
    this.#isOver = mark?.isOver ?? false;
  }

  get offset(): number {
    return this.#offset;
  }

  /** The room's log is for the console and the command line. A new line in it means that there is one to be said. */
  async accept({ offset, status }: OutputReply): Promise<void> {
    const room = await this.#source.get();
    for (const line of await this.#source.listLines(this.#read)) {
      this.#notices.push(...noticesOf(line));
      this.#read = line.seq;
    }
    this.#room = room;
    this.#status = status;
    this.#offset = offset;
  }

  pages(): readonly Page[] {
    if (this.#isOver || !this.#room) return [];
    return [
      {
        key: KEY,
        text: roomText(this.#room),
        buttons: this.#room.turnOf.length > 0 ? roomButtons() : [],
        ...{ isSilent: true, isSealed: !isOpen(this.#status) },
        ...{ presence: "wanted" as const, isAside: true, notBefore: 0 },
      },
    ];
  }

  confirm(keys: readonly string[]): void {
    if (keys.includes(KEY)) this.#isOver = true;
  }

  notices(): readonly Notice[] {
    return this.#notices;
  }

  told({ key }: Notice): void {
    this.#notices = this.#notices.filter((notice) => notice.key !== key);
    const next = this.#notices[0];
    // A line is said once all of its messages are.
    this.#line =
      next === undefined ? Math.max(this.#line, lineOf(key)) : Math.max(this.#line, lineOf(next.key) - 1);
  }

  mark(): RoomMark {
    return { kind: "room", offset: this.#offset, line: this.#line, isOver: this.#isOver };
  }

  isNeeded(key: string, mark: RoomMark): boolean {
    if (key === KEY) return !mark.isOver;
    return key.startsWith(LINE) && lineOf(key) > mark.line;
  }

  /** Does nothing: the first message stays where it is. */
  breakPage(): void {}
  begin(): void {}
  settle(): void {}
  setEndSilent(): void {}

  roll(): "edit" {
    return "edit";
  }
}

function lineOf(key: string): number {
  return Number(key.slice(LINE.length).split(".")[0]);
}

/** None of what stands in Discord already, and of what members do beside speaking. */
function noticesOf(line: RoomLine): Notice[] {
  const text = textOf(line);
  if (text === undefined) return [];
  return splitMarkdown(text).pages.map((page, at) => ({
    key: `${LINE}${line.seq}.${at}`,
    ...{ text: page, buttons: [], isSilent: line.kind !== "text" },
  }));
}

function textOf({ kind, name, number, text }: RoomLine): string | undefined {
  const who = `${inline(name ?? "", 100)}${number === null ? "" : ` #${number}`}`;
  switch (kind) {
    case "text":
      return `**${who}**\n${text}`;
    case "person":
      return name?.startsWith(IN_DISCORD) ? undefined : `**${who}**\n${text}`;
    case "pass":
      return `-# ${who} ${inline(text, MAX_WHY)}`;
    case "note":
      return `-# ${inline(text, MAX_WHY)}`;
    case "call":
      return undefined;
  }
}

function roomText({
  protocol,
  lead,
  members,
  turnOf,
  why,
  turns,
  maxTurns,
  costUsd,
  maxUsd,
  isOpen,
}: Room): string {
  const who = members.map(
    ({ name, number }) => `${name === lead ? "★ " : ""}@${name}${number === null ? "" : ` #${number}`}`,
  );
  const turn =
    turnOf.length === 0
      ? `rests: ${inline(why ?? "write to begin a round", MAX_WHY)}`
      : `the turn is of @${turnOf.join(", @")}`;
  const cap = maxUsd === null ? "" : ` of $${maxUsd.toFixed(2)}`;
  return [
    `🗣 ${protocol}: ${who.join(", ") || "nobody is in it"}`,
    isOpen
      ? `-# ${turn} · ${turns} of ${maxTurns} turns · $${costUsd.toFixed(2)}${cap}`
      : "-# the room has ended",
  ].join("\n");
}
