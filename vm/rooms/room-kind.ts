/** A room: it has no program of its own; what people write in it is heard by its members. */
import { join } from "node:path";
import type { ThreadStatus } from "../../shared/api.ts";
import { AppError } from "../../shared/errors.ts";
import type { ThreadId } from "../../shared/ids.ts";
import { isHuman } from "../../shared/principal.ts";
import { removeTreeNow } from "../../shared/remove-tree.ts";
import { Sources } from "../agents/sources.ts";
import type { Store } from "../store/store.ts";
import type { NewThread, StoredThread } from "../store/threads.ts";
import { type RunEnd, whyOver } from "../threads/ending.ts";
import {
  type CreateRequest,
  type Input,
  type Kind,
  type KindDescription,
  NO_AGENT,
} from "../threads/kinds/kind.ts";
import { RoomBook } from "./book.ts";
import type { RoomDriver } from "./driver.ts";
import { makeMembers } from "./made-members.ts";
import { RoomSaid } from "./room-said.ts";
import { namedIn } from "./turns.ts";

const MAX_CHARACTERS = 10_000;

export interface RoomKindOptions {
  store: Store;
  stateDir: string;
  /** Open rooms at once. */
  maxRooms: number;
  now: () => number;
}

export class RoomKind implements Kind {
  readonly #options: RoomKindOptions;
  readonly #book: RoomBook;
  readonly #sources: Sources;
  readonly said: RoomSaid;
  #driver: Pick<RoomDriver, "wake" | "costOf"> | undefined;

  constructor(options: RoomKindOptions) {
    this.#options = options;
    this.#book = new RoomBook(options.store, options.now);
    this.#sources = new Sources(options.store);
    this.said = new RoomSaid(options.store);
  }

  /** The driver asks agents, which are there later than the kinds are. */
  setDriver(driver: Pick<RoomDriver, "wake" | "costOf">): void {
    this.#driver = driver;
  }

  /** @throws AppError `invalid_request` */
  checkCreation({ room }: CreateRequest): void {
    if (room === undefined)
      throw new AppError("invalid_request", "type: a room is made with its members, by POST /rooms.");
  }

  /** @throws AppError `max_threads` */
  checkRoom(): void {
    const { store, maxRooms } = this.#options;
    const open = store.threads.countOpen("room");
    if (open < maxRooms) return;
    throw new AppError(
      "max_threads",
      `${open} of ${maxRooms} rooms are open; end one before you make another.`,
    );
  }

  store(thread: NewThread, { room }: CreateRequest): void {
    const { store } = this.#options;
    store.threads.insert(thread);
    if (!room) return;
    const { members, ...row } = room;
    store.rooms.insert({ ...row, threadId: thread.threadId });
    for (const member of members) store.rooms.addMember(thread.threadId, member);
  }

  async open({ threadId }: StoredThread): Promise<void> {
    const { store } = this.#options;
    store.transaction(() => {
      store.threads.update(threadId, { status: "idle", isMade: true });
      makeMembers(store, store.rooms.listMembers(threadId));
    });
    this.#driver?.wake(threadId);
  }

  async hasTaken({ threadId }: StoredThread, inputId: string): Promise<boolean> {
    return this.#options.store.inputs.find(threadId, inputId) !== undefined;
  }

  /** A person's words, whoever has the turn. @throws AppError `unsupported`, `invalid_request`, `too_large` */
  async takeInput({ threadId }: StoredThread, input: Input): Promise<{ isHidden: boolean }> {
    const { store } = this.#options;
    const book = this.#book;
    const { by } = input;
    if ("key" in input) throw new AppError("invalid_request", "key: a room takes text; stop ends a round.");
    if (!isHuman(by) || input.outside !== undefined)
      throw new AppError("unsupported", "A room hears people, and its members in their turn.");
    if (input.attachments?.length)
      throw new AppError("invalid_request", "attachments: a room takes text alone.");
    if (input.text.trim() === "") throw new AppError("invalid_request", "text: must not be empty.");
    if (input.text.length > MAX_CHARACTERS)
      throw new AppError("too_large", `text: must be at most ${MAX_CHARACTERS} characters.`);
    const name = this.#sources.handleOf(by);
    book.transaction(() => {
      const { members } = book.get(threadId);
      const names = members.map((member) => member.name);
      if (input.inputId !== undefined) store.inputs.set(threadId, input.inputId, "sent");
      book.write(threadId, { kind: "person", name, text: input.text });
      for (const { name: member, memberId } of members)
        store.rooms.setBase(threadId, member, this.#driver?.costOf(memberId) ?? 0);
      book.step(threadId, { type: "person", named: namedIn(input.text, names) });
    });
    this.#driver?.wake(threadId);
    return { isHidden: false };
  }

  async asksForPaste(): Promise<boolean> {
    return false;
  }

  whyNoInput(status: ThreadStatus): string {
    return whyOver(status);
  }

  findEnd(): RunEnd | undefined {
    return undefined;
  }

  async takeEnd(): Promise<void> {} // nothing runs in it

  isOutOfStep(): boolean {
    return false;
  }

  async reconcile(): Promise<void> {}

  describe({ threadId, status }: StoredThread): KindDescription {
    const holders = this.#options.store.rooms.find(threadId)?.turn.holders ?? [];
    const doing = holders.length === 0 ? null : `@${holders.join(", @")}`;
    if (status !== "idle") return NO_AGENT;
    return { ...NO_AGENT, status: doing === null ? "idle" : "running", doing };
  }

  async diskBytes(): Promise<number> {
    return 0;
  }

  /** Its members are free for other rooms. */
  async takeKill({ threadId }: StoredThread): Promise<void> {
    const { store } = this.#options;
    const book = this.#book;
    book.transaction(() => {
      if (!book.find(threadId)) return;
      book.step(threadId, { type: "end", why: "the room was ended" });
      store.rooms.removeMember(threadId);
    });
    this.#driver?.wake(threadId);
  }

  remove(threadId: ThreadId): void {
    removeTreeNow(join(this.#options.stateDir, "rooms", threadId));
  }
}
