/**
 * Which agents are at work: a file for each thread in one folder, which its runner alone writes and removes. So an
 * agent knows of the others while the sidecar is down, and nobody asks anybody.
 */
import { existsSync, mkdirSync, readdirSync, realpathSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import * as z from "zod";
import type { ThreadConfig } from "../../shared/agent/config.ts";
import { doingOf, statusOf, turnNowOf } from "../../shared/agent/fold.ts";
import type { ThreadFold } from "../../shared/agent/fold-types.ts";
import { BOARD_FOLDER, THREAD_TITLE } from "../../shared/agent/markers.ts";
import type { Env } from "../engine.ts";
import { findJson, replaceJson } from "../folder/json-file.ts";
import { holderSchema, isLive, thisProcess } from "../locks/alive.ts";
import { type AtWork, describeOthers } from "./describe.ts";

const noteSchema = z.object({
  v: z.literal(1),
  threadId: z.string().max(100),
  number: z.number().int().optional(),
  title: z.string().max(1_000),
  /** The files that it shares with others: its git work tree, or its directory. */
  workspace: z.string(),
  status: z.string().max(50).default("running"),
  step: z.number(),
  doing: z.string().max(10_000),
  holds: z.array(z.string()).max(100),
  holder: holderSchema,
});
type Note = z.infer<typeof noteSchema>;

const MARKED = "at work; it has read text from outside";
const PLAIN_PATH = /^[\w./-]{1,200}$/;
const INTERVAL_MS = 250;
const MAX_THREADS = 200;

export class Board {
  readonly #folder: string | undefined;
  readonly #config: ThreadConfig;
  readonly #self: Pick<Note, "v" | "threadId" | "number" | "title" | "workspace" | "holder">;
  readonly #path: string;
  /** Undefined: whatever the last runner has left. */
  #written: string | undefined;
  #writtenMs = 0;

  constructor({ config, env }: { config: ThreadConfig; env: Env }) {
    const { [BOARD_FOLDER]: folder, [THREAD_TITLE]: title = "" } = env;
    const { threadId, number, dir } = config;
    this.#folder = folder || undefined;
    this.#config = config;
    this.#path = join(folder ?? "", `${threadId}.json`);
    const workspace = workspaceOf(dir);
    this.#self = { v: 1, threadId, number, title, workspace, holder: thisProcess() };
    if (this.#folder) mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
  }

  /** Writes down what the thread does, some times a second at most. @returns whether it waits for its time */
  tell(fold: ThreadFold, holds: readonly string[], nowMs: number): boolean {
    if (!this.#folder) return false;
    const turn = turnNowOf(fold);
    if (!turn) {
      this.close();
      return false;
    }
    const note = this.#noteOf(fold, turn.step, holds, nowMs);
    const text = JSON.stringify(note);
    if (text === this.#written) return false;
    if (nowMs - this.#writtenMs < INTERVAL_MS) return true;
    replaceJson(this.#path, note);
    this.#written = text;
    this.#writtenMs = nowMs;
    return false;
  }

  /** What the others in the same files do; empty if there are none. */
  describeOthers(): string {
    return describeOthers(this.#others(), this.#config.dir, this.#self);
  }

  /** Whether others are at work in the same files. */
  get isShared(): boolean {
    return this.#others().length > 0;
  }

  close(): void {
    if (this.#folder && this.#written !== "") rmSync(this.#path, { force: true });
    this.#written = "";
  }

  #noteOf(fold: ThreadFold, step: number, holds: readonly string[], nowMs: number): Note {
    const status = statusOf(fold);
    const doing = status === "waiting" ? "waiting for a person" : (doingOf(fold, nowMs) ?? "thinking");
    const note = { ...this.#self, status, step, doing, holds: holds.slice(0, 100) };
    // Its title, its steps and names of its files may be a stranger's words.
    if (!fold.marked) return note;
    return { ...note, title: "", doing: MARKED, holds: note.holds.filter((path) => PLAIN_PATH.test(path)) };
  }

  #others(): AtWork[] {
    if (!this.#folder) return [];
    const own = `${this.#config.threadId}.json`;
    const names = readdirSync(this.#folder).filter((name) => name.endsWith(".json") && name !== own);
    return names.slice(0, MAX_THREADS).flatMap((name) => {
      const path = join(this.#folder ?? "", name);
      const note = noteSchema.safeParse(findJson(path)).data;
      return note && note.workspace === this.#self.workspace && isLive(note.holder) ? [note] : [];
    });
  }
}

/** The git work tree around the directory, or the directory itself. */
function workspaceOf(dir: string): string {
  const real = existsSync(dir) ? realpathSync(dir) : dir;
  for (let at = real; dirname(at) !== at; at = dirname(at)) if (existsSync(join(at, ".git"))) return at;
  return real;
}
