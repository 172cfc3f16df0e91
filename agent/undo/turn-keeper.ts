/**
 * Keeps what a turn changes: the files before it, at each call's begin and end, and after it. What changed while one
 * of its calls ran is the turn's own; what changed in between is somebody else's, and so is what a command may have
 * changed while another thread had a turn in the same work tree.
 */
import { relative, resolve } from "node:path";
import type { ThreadConfig } from "../../shared/agent/config.ts";
import type { EventBody } from "../../shared/agent/events.ts";
import type { ToolKind } from "../../shared/agent/values.ts";
import { byteOf, textOf } from "../../shared/git/paths.ts";
import { forgetOldTurns, keepTurn } from "../../shared/git/refs.ts";
import { GitError } from "../../shared/git/run-git.ts";
import type { Change, WorkTree } from "../../shared/git/work-tree.ts";
import type { Env } from "../engine.ts";
import { findNotes, hadOtherTurn, type RunningCall, type TurnNotes, writeNotes } from "./notes.ts";
import { openTree } from "./own-tree.ts";

export interface Call {
  toolCallId: string;
  kind: ToolKind;
  /** The file that it writes, if it writes one. */
  path?: string | undefined;
}

export type TurnChanges = EventBody<"turn_changes">;

const MAX_NAMED = 20;
/** The turn of an engine that does not tell its calls. */
const WHOLE_TURN = "turn";
/** Calls of these kinds change no file. */
const READING: readonly ToolKind[] = ["read", "search", "fetch", "think", "switch_mode"];

export class TurnKeeper {
  readonly #options: { folder: string; config: ThreadConfig; env: Env };
  #notes: TurnNotes | undefined;
  #tree: WorkTree | undefined;
  /** What will not go better in the next turn. */
  #lasting: string | undefined;
  /** The state before the turn, which a message need not wait for. */
  #starting: Promise<void> = Promise.resolve();

  /** @param ended so many turns of the thread have ended */
  constructor(options: { folder: string; config: ThreadConfig; env: Env }, ended: number) {
    this.#options = options;
    const notes = findNotes(options.folder);
    this.#notes = notes?.until === null ? notes : undefined;
    if (notes?.ended !== ended) this.#closeNotes(); // its runner was killed after that turn's end
  }

  /**
   * Before a message goes in that begins a turn. It does not wait for the state, its first call that may write does.
   * @param ended so many turns of the thread have ended
   */
  start(ended: number): void {
    // One that failed, as on a full disk, is made again for the next call.
    this.#starting = this.settle().then(() => this.#begin(ended));
    this.#starting.catch(() => undefined); // the next call that may write hears of it
  }

  /** Once git does nothing more for the turn's begin, whatever came of it. */
  settle(): Promise<void> {
    return this.#starting.catch(() => undefined);
  }

  /** As {@link start}, of a turn whose calls will not be told: it waits. */
  async startOneCall(ended: number): Promise<void> {
    await this.beforeCall({ toolCallId: WHOLE_TURN, kind: "execute" }, ended);
  }

  async #begin(ended: number): Promise<void> {
    if (this.#notes) return;
    const now = Date.now();
    const base = {
      ended,
      since: now,
      until: null,
      hasRun: false,
      mine: [],
      others: [],
      running: [],
      lastMs: now,
    };
    this.#tree = undefined;
    try {
      if (this.#lasting !== undefined) throw new GitError("failed", this.#lasting);
      const tree = await this.#open();
      const { tree: before, left } = await tree.keep();
      const { path: root } = tree.repository;
      this.#write({ ...base, root, before, last: before, leftOut: left });
    } catch (error) {
      const problem = this.#problemOf(error);
      this.#write({ ...base, root: "", before: null, problem, last: "", leftOut: [] });
    }
  }

  /** Before a call may run: what has changed until now is not its doing. */
  async beforeCall({ toolCallId, kind, path }: Call, ended: number): Promise<void> {
    if (READING.includes(kind)) return;
    this.start(ended);
    await this.#starting;
    await this.#step();
    const notes = this.#notes;
    if (!notes) return;
    const call: RunningCall = { toolCallId, kind, ...(path !== undefined && this.#pathOf(path)) };
    const others = notes.running.filter((running) => running.toolCallId !== toolCallId);
    this.#write({ ...notes, hasRun: true, running: [...others, call] });
  }

  /** After a call has run, or while a person is asked about it: what changes from now on is not its doing. */
  async afterCall(toolCallId: string): Promise<void> {
    await this.settle();
    if (!this.#notes?.running.some((call) => call.toolCallId === toolCallId)) return;
    await this.#step();
    const running = this.#notes.running.filter((call) => call.toolCallId !== toolCallId);
    this.#write({ ...this.#notes, running });
  }

  /**
   * Before a turn's end is written down; {@link close} comes after. Done again after a kill, it comes to the same.
   * @returns what it changed; undefined if no call of it could have changed anything, or nothing has changed
   */
  async end(turnId: string): Promise<TurnChanges | undefined> {
    await this.settle();
    if (!this.#notes?.hasRun) return undefined;
    await this.#step();
    return this.#changes(this.#notes, turnId);
  }

  /** The turn's end is written down. */
  async close(): Promise<void> {
    await this.settle();
    this.#closeNotes();
  }

  #closeNotes(): void {
    if (this.#notes) writeNotes(this.#options.folder, { ...this.#notes, running: [], until: Date.now() });
    this.#notes = undefined;
  }

  async #changes(notes: TurnNotes, turnId: string): Promise<TurnChanges | undefined> {
    const { threadId } = this.#options.config;
    const empty = { type: "turn_changes" as const, turnId, files: 0, added: 0, removed: 0 };
    const { before, problem, leftOut } = notes;
    if (before === null || problem !== undefined) {
      return { ...empty, problem: problem ?? "the state before the turn is not known" };
    }
    try {
      const tree = await this.#open();
      const all = await tree.changes(before, notes.last);
      const mine = all.filter((change) => isMine(notes, change));
      const others = all.filter((change) => !mine.includes(change)).map(({ path }) => textOf(path));
      if (all.length === 0) return undefined;
      const after = others.length === 0 ? notes.last : await tree.apply(before, mine);
      if (mine.length > 0) {
        await keepTurn(tree, threadId, turnId, { before, after, end: notes.last });
        await forgetOldTurns(tree, threadId);
      }
      return {
        ...empty,
        files: mine.length,
        ...(await tree.count(before, after)),
        ...(others.length > 0 && { others: others.slice(0, MAX_NAMED), othersCount: others.length }),
        ...(leftOut.length > 0 && { leftOut }),
      };
    } catch (error) {
      return { ...empty, problem: this.#problemOf(error) };
    }
  }

  /** Takes the state of now, and tells whose the changes since the last one are. */
  async #step(): Promise<void> {
    const notes = this.#notes;
    if (!notes || notes.before === null || notes.problem !== undefined) return;
    try {
      const tree = await this.#open();
      const { tree: last } = await tree.keep();
      const changes = await tree.changes(notes.last, last);
      const isAlone = changes.length === 0 || !hadOtherTurn(this.#options.folder, notes.root, notes.lastMs);
      const isByCall = ({ path }: Change) =>
        notes.running.some((call) => (call.path === undefined ? isAlone : call.path === path));
      const paths = (isOwn: boolean) =>
        changes.filter((change) => isByCall(change) === isOwn).map(({ path }) => path);
      this.#write({
        ...notes,
        last,
        lastMs: Date.now(),
        mine: [...new Set([...notes.mine, ...paths(true)])],
        others: [...new Set([...notes.others, ...paths(false)])],
      });
    } catch (error) {
      this.#write({ ...notes, problem: this.#problemOf(error) });
    }
  }

  async #open(): Promise<WorkTree> {
    this.#tree ??= await openTree(this.#options);
    return this.#tree;
  }

  #write(notes: TurnNotes): void {
    this.#notes = notes;
    writeNotes(this.#options.folder, notes);
  }

  /** As git has it; a file outside of the work tree is no file of any state. */
  #pathOf(path: string): { path: string } {
    return { path: byteOf(relative(this.#notes?.root ?? "", resolve(this.#options.config.dir, path))) };
  }

  #problemOf(error: unknown): string {
    if (!(error instanceof GitError)) throw error;
    if (error.reason === "slow" || error.reason === "large") this.#lasting = error.message;
    return error.message;
  }
}

function isMine({ mine, others }: TurnNotes, { path }: Change): boolean {
  return mine.includes(path) && !others.includes(path);
}
