/**
 * What a thread's model should know of the others: which of its files they have changed, and what they do. It is told
 * once after each round of calls, only what is new, at the end of the conversation.
 */
import { join } from "node:path";
import * as z from "zod";
import type { ThreadConfig } from "../../shared/agent/config.ts";
import type { EventBody } from "../../shared/agent/events.ts";
import { shownPath } from "../../shared/agent/shown-path.ts";
import type { Env, OpenRequest } from "../engine.ts";
import { findJson, replaceJson } from "../folder/json-file.ts";
import type { Board } from "./board.ts";
import { newsOfOthers } from "./describe.ts";
import { ReadFiles } from "./read-files.ts";

const notesSchema = z.object({
  /** What the model was told last of the others. */
  told: z.string(),
  files: z.record(z.string(), z.string().nullable()),
  /** The last news, and the hook that it answers. */
  news: z.object({ requestId: z.string(), text: z.string() }).optional(),
});

/** At once; the rest is counted. */
const MAX_NAMED = 10;

export interface News {
  /** For the model. */
  text: string;
  /** For people. */
  events: EventBody[];
}

export class OthersWatch {
  readonly #path: string;
  readonly #board: Board;
  readonly #dir: string;
  readonly #files: ReadFiles;
  #told: string;
  #news: z.infer<typeof notesSchema>["news"];
  #isAlone = true;
  #saved = "";

  constructor({ folder, config, env }: { folder: string; config: ThreadConfig; env: Env }, board: Board) {
    this.#path = join(folder, "others.json");
    const notes = notesSchema.safeParse(findJson(this.#path)).data;
    this.#board = board;
    this.#dir = config.dir;
    this.#told = notes?.told ?? "";
    this.#news = notes?.news;
    this.#files = new ReadFiles(notes?.files ?? {}, { dir: config.dir, home: env["HOME"] ?? "/" });
  }

  /** A call may run when this returns. */
  beforeCall({ kind, path }: NonNullable<OpenRequest["call"]>): void {
    if (kind === "read" && path !== undefined) this.#files.note(path);
    else if (kind === "edit" && path !== undefined) this.#files.check(path);
    else if (kind === "execute") {
      this.#files.checkAll();
      this.#isAlone = !this.#board.isShared;
    }
  }

  /** A call has run. */
  afterCall({ kind, path }: NonNullable<OpenRequest["call"]>): void {
    if (kind === "edit" && path !== undefined) this.#files.note(path);
    if (kind === "execute" && this.#isAlone && !this.#board.isShared) this.#files.noteAll();
  }

  /**
   * A round of calls has ended, and the model is called when it has been told this. A hook that an earlier runner may
   * have answered is answered with the same words: the engine takes one of the two.
   */
  takeNews(requestId: string): News | undefined {
    if (this.#news?.requestId === requestId) return { text: this.#news.text, events: [] };
    const changed = this.#files.takeChanged().map((path) => shownPath(path, this.#dir));
    const others = this.#board.describeOthers();
    const news = newsOfOthers(others, this.#told);
    this.#told = others;
    const more = changed.length > MAX_NAMED ? ` and ${changed.length - MAX_NAMED} more` : "";
    const names = changed.slice(0, MAX_NAMED).join(", ") + more;
    const parts = [
      changed.length === 0
        ? ""
        : `[threadmux: changed by somebody else since you last read or wrote them: ${names}. Read them again before you rely on them.]`,
      news ?? "",
    ].filter((part) => part !== "");
    if (parts.length === 0) return undefined;
    const events: EventBody[] =
      changed.length === 0
        ? []
        : [{ type: "notice", severity: "info", title: `Changed outside of this thread: ${names}` }];
    const text = parts.join("\n\n");
    this.#news = { requestId, text };
    return { text, events };
  }

  /** What the model knows once it has its answer, for the next runner: to be called before it is sent. */
  save(): void {
    const notes = { told: this.#told, files: this.#files.known, news: this.#news };
    const text = JSON.stringify(notes);
    if (text === this.#saved) return;
    replaceJson(this.#path, notes);
    this.#saved = text;
  }
}
