/**
 * Asks those whose turn it is, and notices what becomes of it. All that it does follows from the rows, so a sidecar that
 * starts again goes on from them: a text has an id, and goes into each inbox once.
 */
import { createHash } from "node:crypto";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { ownUseOf } from "../../shared/agent/limits.ts";
import { isOpen } from "../../shared/api.ts";
import { AppError } from "../../shared/errors.ts";
import type { ThreadId } from "../../shared/ids.ts";
import { KeyedQueue } from "../../shared/lifecycle.ts";
import type { Log } from "../../shared/log.ts";
import { job } from "../../shared/principal.ts";
import { writeWhole } from "../../shared/whole-file.ts";
import type { AgentMessage } from "../agents/agent-message.ts";
import type { AgentThreads } from "../agents/agent-threads.ts";
import type { Agents } from "../agents/agents.ts";
import type { RoomMember, RoomRow } from "../store/rooms.ts";
import type { Store } from "../store/store.ts";
import type { LogWatch } from "../streams/log-watch.ts";
import type { ThreadFiles } from "../threads/thread-files.ts";
import { type RoomBook, rulesOf } from "./book.ts";
import { appendLog } from "./room-log.ts";

const AGAIN_MS = 1_000;
/** The number of lines that are read at once for a member, which is told all of them. */
const LINES_A_READ = 200;
/** A call is taken to cost so many times as much as those before it did on an average: contexts grow. */
const DEARER = 1.5;
const MAX_TIMER_MS = 3_600_000;

/** Stands at the end of all that a member is told when it gets the turn. */
const YOUR_TURN =
  'It is your turn in this room. Say something to all in it with message { to: "room" }, or call done to pass; done { end: true } proposes the end. @name names a member. Nobody reads your own text.';

export interface RoomDriverOptions {
  store: Store;
  book: RoomBook;
  agents: Pick<Agents, "takeFromRoom" | "control">;
  agentThreads: Pick<AgentThreads, "catchUp" | "get" | "look">;
  files: ThreadFiles;
  logWatch: Pick<LogWatch, "notify">;
  stateDir: string;
  log: Log;
  now: () => number;
}

export class RoomDriver {
  readonly #options: RoomDriverOptions;
  readonly #queue = new KeyedQueue();
  /** By room: when it is looked at without anybody's doing. */
  readonly #timers = new Map<ThreadId, NodeJS.Timeout>();
  /** By room: the state that its file says. */
  readonly #shown = new Map<ThreadId, string>();
  #isClosed = false;

  constructor(options: RoomDriverOptions) {
    this.#options = options;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const timer of this.#timers.values()) clearTimeout(timer);
    await this.#queue.idle();
  }

  /** Something has happened in a room, or to a member of it. */
  wake(roomId: ThreadId): void {
    this.#queue
      .run(roomId, async () => {
        if (!this.#isClosed) await this.#drive(roomId);
      })
      .catch((error: unknown) => {
        this.#options.log.error(
          { threadId: roomId, err: error },
          "could not go on with a room; trying again",
        );
        this.#wakeAfter(roomId, AGAIN_MS);
      });
  }

  /** Tells what a member's thread has cost by now, in dollars; 0 if its folder is gone. */
  costOf(memberId: ThreadId): number {
    const { agentThreads, now } = this.#options;
    try {
      return agentThreads.look(memberId, ({ fold }) => ownUseOf(fold, now()).spendUsd);
    } catch (error) {
      if (error instanceof AppError) return 0; // its folder is gone
      throw error;
    }
  }

  /** Until the room rests or somebody is at work. Each pass finds one thing that has happened. */
  async #drive(roomId: ThreadId): Promise<void> {
    const { store, book } = this.#options;
    for (;;) {
      const isMade = store.threads.find(roomId)?.isMade === true;
      if (isMade) this.#show(roomId);
      const found = isMade ? book.find(roomId) : undefined;
      if (!found || !isOpen(store.threads.find(roomId)?.status ?? "killed")) {
        this.#shown.delete(roomId);
        return;
      }
      await this.#interrupt(found.row, found.members);
      if (await this.#noticeOne(roomId)) continue;
      const { row } = book.get(roomId);
      if (row.turnSince === null) return;
      const left = row.turnSince + row.turnSeconds * 1_000 - this.#options.now();
      return this.#wakeAfter(roomId, Math.min(Math.max(left, 0), MAX_TIMER_MS));
    }
  }

  /** @returns whether something was written down */
  async #noticeOne(roomId: ThreadId): Promise<boolean> {
    const { book, store } = this.#options;
    const { row, members } = book.get(roomId);
    const gone = members.find(({ memberId }) => !isOpen(store.threads.find(memberId)?.status ?? "killed"));
    if (gone) return this.leave(roomId, gone.name, "has ended, and is no member any more");
    const holders = members.filter(({ name }) => row.turn.holders.includes(name));
    for (const { memberId } of members) await this.#options.agentThreads.catchUp(memberId);
    const why = this.#whyOver(row, members);
    if (why !== undefined) {
      book.transaction(() => book.step(roomId, { type: "end", why }, { interrupts: true }));
      return true;
    }
    for (const holder of holders) {
      const outcome = await this.#ask(row, holder);
      if (outcome === "left") return true;
      if (
        !this.#isDone(
          row,
          store.rooms.listMembers(roomId).find(({ name }) => name === holder.name),
        )
      )
        continue;
      return this.pass(roomId, holder.name, { turn: row.turn.turn, ends: false });
    }
    return false;
  }

  /** Why the round ends now: a bound of time or money. */
  #whyOver(row: RoomRow, members: readonly RoomMember[]): string | undefined {
    const { turn, turnSince, turnSeconds, maxUsd } = row;
    if (turn.holders.length === 0 || turnSince === null) return undefined;
    const overUsd = maxUsd === null ? undefined : this.#whyOverUsd(members, turn.holders, maxUsd);
    if (overUsd !== undefined) return overUsd;
    if (this.#options.now() < turnSince + turnSeconds * 1_000) return undefined;
    return `@${turn.holders.join(", @")} did not write within ${turnSeconds} s`;
  }

  /**
   * All who are at work may be in the middle of a call, and begin another one before a stop reaches them: what those may
   * cost is kept back, so that the room costs a call more than its cap at most.
   */
  #whyOverUsd(
    members: readonly RoomMember[],
    holders: readonly string[],
    maxUsd: number,
  ): string | undefined {
    const { agentThreads, now } = this.#options;
    const spentUsd = members.reduce((sum, one) => sum + this.#spentBy(one), 0);
    const used = `its members have used $${spentUsd.toFixed(2)} of $${maxUsd.toFixed(2)}`;
    if (spentUsd >= maxUsd) return used;
    if (spentUsd === 0) return undefined;
    const uses = members.map(({ name, memberId }) =>
      agentThreads.look(memberId, ({ fold }) => {
        const { spendUsd, calls } = ownUseOf(fold, now());
        return { usd: spendUsd / Math.max(calls, 1), isAtWork: fold.turn !== null || holders.includes(name) };
      }),
    );
    const callUsd = DEARER * Math.max(...uses.map(({ usd }) => usd));
    const keptUsd = callUsd * uses.filter(({ isAtWork }) => isAtWork).length;
    return spentUsd + keptUsd >= maxUsd ? `${used}, and their next calls may go beyond it` : undefined;
  }

  #spentBy({ memberId, baseUsd }: RoomMember): number {
    return Math.max(0, this.costOf(memberId) - baseUsd);
  }

  /** Puts into a member's inbox what it has not heard, and that it has the turn. */
  async #ask(row: RoomRow, member: RoomMember): Promise<"asked" | "left"> {
    const { store, agents } = this.#options;
    const { threadId: roomId, turn } = row;
    const hash = createHash("sha256").update(roomId).digest("hex").slice(0, 16);
    const messages: AgentMessage[] = [];
    let { heard } = member;
    for (;;) {
      const lines = store.rooms.listLines(roomId, heard, LINES_A_READ);
      if (lines.length === 0) break;
      heard = lines.at(-1)?.seq ?? heard;
      for (const { kind, name, text, seq, marks } of lines) {
        if ((kind !== "text" && kind !== "person") || name === member.name) continue;
        const said = {
          messageId: `room-${hash}-${seq}`,
          from: roomId,
          text,
          hops: 1,
          handle: `room/${name}`,
        };
        messages.push({ ...said, ...(marks !== null && { marks }) });
      }
    }
    if (member.askedTurn < turn.turn)
      messages.push({
        messageId: `room-${hash}-turn-${turn.turn}`,
        ...{ from: roomId, text: YOUR_TURN, hops: 1, handle: "room" },
      });
    const last = messages.at(-1);
    try {
      if (last) await agents.takeFromRoom(member.memberId, messages);
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      if (error.code === "thread_paused") {
        this.pass(roomId, member.name, { turn: turn.turn, ends: false, why: "is paused, and passes" });
        return "left";
      }
      this.leave(roomId, member.name, `can't be told: ${error.message}`);
      return "left";
    }
    const lastId = last?.messageId ?? member.lastId;
    store.rooms.setHeard(roomId, { name: member.name, heard, askedTurn: turn.turn, lastId });
    return "asked";
  }

  /** Whether a member has read all that the room told it, and its turn has ended. */
  #isDone({ turn }: RoomRow, member: RoomMember | undefined): boolean {
    if (!member || member.lastId === null || member.askedTurn !== turn.turn) return false;
    const { lastId, memberId } = member;
    return this.#options.agentThreads.look(memberId, (thread) => {
      const { fold } = thread;
      const waiting = [...fold.messages, ...fold.deliveries.flatMap(({ messages }) => messages)];
      if (thread.hasUnread(lastId) || waiting.some(({ messageId }) => messageId === lastId)) return false;
      return fold.turn === null && fold.cutOffs.at === null && fold.usageLimit === undefined;
    });
  }

  /** @returns true */
  leave(roomId: ThreadId, name: string, why: string): true {
    const { book, store } = this.#options;
    book.transaction(() => {
      const { row, members } = book.get(roomId);
      const at = members.findIndex((member) => member.name === name);
      const member = members[at];
      if (!member) return;
      const after = members[at - 1]?.name ?? null;
      book.write(roomId, { kind: "pass", name, number: member.number, text: why });
      store.rooms.removeMember(roomId, name);
      if (row.turn.holders.includes(name))
        store.rooms.update(roomId, { interrupts: row.interrupts.filter((one) => one !== name) });
      book.step(roomId, { type: "left", by: name, after });
    });
    return true;
  }

  /**
   * A member that has this turn has nothing to say.
   * @returns whether it had it
   */
  pass(
    roomId: ThreadId,
    name: string,
    { turn, ends, key = null, why }: { turn: number; ends: boolean; key?: string | null; why?: string },
  ): boolean {
    const { book, store } = this.#options;
    return book.transaction(() => {
      const { row, members } = book.get(roomId);
      const member = members.find((one) => one.name === name);
      if (!member || row.turn.turn !== turn || !row.turn.holders.includes(name)) return false;
      if (key !== null && store.rooms.hasKey(roomId, key)) return true;
      const text = why ?? (ends ? "proposes the end" : "passes");
      book.write(roomId, { kind: "pass", name, number: member.number, text, key });
      book.step(roomId, { type: "pass", by: name, ends });
      return true;
    });
  }

  async #interrupt({ threadId, interrupts }: RoomRow, members: readonly RoomMember[]): Promise<void> {
    const { agents, store, log } = this.#options;
    if (interrupts.length === 0) return;
    for (const { name, memberId } of members) {
      if (!interrupts.includes(name)) continue;
      await agents.control(memberId, { control: "interrupt" }, job("room")).catch((error: unknown) => {
        if (!(error instanceof AppError)) throw error; // it has ended, or has no turn
        log.info({ threadId: memberId, err: error }, "a room's member had nothing to interrupt");
      });
    }
    store.rooms.update(threadId, { interrupts: [] });
  }

  /** The log, and the state for scripts. */
  #show(roomId: ThreadId): void {
    const { book, store, files, logWatch, stateDir } = this.#options;
    const found = book.find(roomId);
    if (!found) return;
    const base = store.threads.find(roomId)?.logBase ?? 0;
    const linesBehind = (offset: number, limit: number) => store.rooms.listLinesOfLog(roomId, offset, limit);
    const isNew = appendLog(files.logs.path(roomId), base, linesBehind);
    const { row, members } = found;
    const folder = join(stateDir, "rooms", roomId);
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const { order, maxTurns } = rulesOf(row, members);
    const state = {
      thread_mode: "room",
      members: members.map(({ memberId, name, directive }) => ({ thread_id: memberId, name, directive })),
      turn_protocol: row.protocol,
      turn_order: order,
      current_turn: row.turn.holders,
      turn_count: row.turn.turns,
      max_turns: maxTurns,
    };
    const text = `${JSON.stringify(state, null, 2)}\n`;
    if (!isNew && this.#shown.get(roomId) === text) return;
    writeWhole(join(folder, "state.json"), text);
    this.#shown.set(roomId, text);
    logWatch.notify(roomId);
  }

  #wakeAfter(roomId: ThreadId, ms: number): void {
    clearTimeout(this.#timers.get(roomId));
    if (this.#isClosed) return;
    const timer = setTimeout(() => {
      this.#timers.delete(roomId);
      this.wake(roomId);
    }, ms);
    this.#timers.set(roomId, timer.unref());
  }
}
