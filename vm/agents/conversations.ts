/** Conversations that a person began by hand with claude on this machine, and threads that go on from them. */
import { lstat, readdir, realpath } from "node:fs/promises";
import { join } from "node:path";
import * as z from "zod";
import { agentConfigSchema } from "../../shared/agent/config.ts";
import { DEFAULT_ENGINE, ENGINES, type EngineName } from "../../shared/agent/engines/engines.ts";
import { DEFAULT_COLS, DEFAULT_ROWS } from "../../shared/api.ts";
import { cleanLine } from "../../shared/clean-text.ts";
import {
  type Conversation,
  type ConversationsReply,
  MAX_CONVERSATIONS,
  type TakeReply,
  type TakeRequest,
} from "../../shared/conversation-api.ts";
import { AppError } from "../../shared/errors.ts";
import type { Principal } from "../../shared/principal.ts";
import { readRegular } from "../../shared/regular-file.ts";
import { cleanTitle } from "../../shared/title.ts";
import { listProcesses } from "../processes/processes.ts";
import type { Creation } from "../threads/creation.ts";
import { resolveDirectory } from "../threads/directory.ts";
import { readConversation, type Told } from "./conversation-file.ts";

/** The part of a file that is read for a list. */
const LISTED_BYTES = 2 * 1024 * 1024;
/** A file that is taken may be so long; claude's own files grow to some ten MB. */
const TAKEN_BYTES = 512 * 1024 * 1024;
/** Files that are looked at for a list: programs leave theirs in the same folder. */
const MAX_LOOKS = 200;
const MAX_FIRST_WORDS = 200;
/** claude shortens longer names of its folders by a way of its own. */
const MAX_NAME = 200;
/** A file that was written so short ago is being written. */
const RECENT_MS = 10_000;
const MAX_OPEN_FILES = 1_000;

/** claude's note of a process that runs. */
const openNote = z.looseObject({ pid: z.int().positive(), sessionId: z.string(), procStart: z.string() });

export interface ConversationsOptions {
  creation: Pick<Creation, "create">;
  /** A real path. */
  reposDir: string;
  /** The environment of programs in threads: it names the person's home. */
  threadEnv: Record<string, string>;
  /** The engine of threads whose creator names none. */
  engine: EngineName | undefined;
  now: () => number;
}

export class Conversations {
  readonly #options: ConversationsOptions;

  constructor(options: ConversationsOptions) {
    this.#options = options;
  }

  /** @throws AppError `invalid_directory` */
  async list({ dir, dirId }: { dir: string; dirId?: string | undefined }): Promise<ConversationsReply> {
    const { path } = await resolveDirectory(this.#options.reposDir, dir, dirId);
    const open = await this.#findOpen();
    const conversations: Conversation[] = [];
    for (const { sessionId, file } of (await this.#newestIn(path)).slice(0, MAX_LOOKS)) {
      const told = await readConversation(file, LISTED_BYTES);
      if (!told || !isByHand(told) || !(await isSame(told.cwd, path))) continue;
      conversations.push(describe(sessionId, told, open.get(sessionId)));
      if (conversations.length === MAX_CONVERSATIONS) break;
    }
    return { path, folder: this.#projects, conversations };
  }

  /**
   * Makes an agent thread that goes on from a conversation as it is now. The conversation itself stays the person's.
   * @throws AppError `not_found`, `invalid_request`, `conversation_open`, and what a creation is refused with
   */
  async take(request: TakeRequest, createdBy: Principal): Promise<TakeReply> {
    const { threadId, sessionId, text = "", title, home, force, agent, dir, dirId } = request;
    const { path } = await resolveDirectory(this.#options.reposDir, dir, dirId);
    const told = await this.#find(sessionId, path);
    const openPid = (await this.#findOpen()).get(sessionId);
    if (!force) this.#refuseOpen(sessionId, told, openPid);
    const { at, messages } = told;
    if (at === undefined) throw noConversation(sessionId);
    await this.#options.creation.create({
      threadId,
      type: "agent",
      dir,
      dirId,
      command: text,
      cols: DEFAULT_COLS,
      rows: DEFAULT_ROWS,
      createdBy,
      title:
        title ?? (cleanTitle(told.title) || cleanTitle(told.firstWords) || `claude ${sessionId.slice(0, 8)}`),
      home,
      agent: { ...agentConfigSchema.parse(agent), engine: this.#engine },
      initialMessages: messages,
      taken: { sessionId, at },
    });
    return { created: true, conversation: describe(sessionId, told, openPid) };
  }

  get #configDir(): string {
    const { threadEnv } = this.#options;
    const { records } = ENGINES[this.#engine];
    if (!records) throw new Error(`${this.#engine} keeps no conversations of people`);
    return threadEnv[records.variable] ?? join(threadEnv["HOME"] ?? "/", records.folder);
  }

  get #projects(): string {
    return join(this.#configDir, "projects");
  }

  /** The engine whose conversations they are. */
  get #engine(): EngineName {
    const { engine = DEFAULT_ENGINE } = this.#options;
    return ENGINES[engine].records ? engine : DEFAULT_ENGINE;
  }

  async #newestIn(path: string): Promise<{ sessionId: string; file: string }[]> {
    const name = path.replace(/[^a-zA-Z0-9]/g, "-");
    const isItsFolder = (folder: string) =>
      folder === name || (name.length > MAX_NAME && folder.startsWith(name.slice(0, MAX_NAME)));
    const folders = (await namesIn(this.#projects)).filter(isItsFolder);
    const files: { sessionId: string; file: string; writtenMs: number }[] = [];
    for (const folder of folders)
      for (const one of await namesIn(join(this.#projects, folder))) {
        const [, sessionId] = /^([0-9a-f-]{36})\.jsonl$/.exec(one) ?? [];
        if (sessionId === undefined) continue;
        const file = join(this.#projects, folder, one);
        const stats = await lstat(file).catch(() => undefined); // gone meanwhile
        if (stats?.isFile()) files.push({ sessionId, file, writtenMs: stats.mtimeMs });
      }
    return files.sort((one, other) => other.writtenMs - one.writtenMs);
  }

  async #find(sessionId: string, path: string): Promise<Told> {
    for (const folder of await namesIn(this.#projects)) {
      const file = join(this.#projects, folder, `${sessionId}.jsonl`);
      if ((await lstat(file).catch(() => undefined)) === undefined) continue;
      const told = await readConversation(file, TAKEN_BYTES);
      if (!told || told.messages.length === 0) throw noConversation(sessionId);
      if (!told.isWhole)
        throw new AppError("invalid_request", `sessionId: ${sessionId} is longer than 512 MiB.`);
      if (!(await isSame(told.cwd, path)))
        throw new AppError(
          "invalid_request",
          `sessionId: ${sessionId} was begun in ${JSON.stringify(cleanLine(told.cwd ?? "another directory"))}; take it there.`,
        );
      return told;
    }
    throw new AppError(
      "not_found",
      `sessionId: no conversation ${sessionId} is in ${this.#projects}, where the sidecar's claude keeps them.`,
    );
  }

  #refuseOpen(sessionId: string, { writtenMs }: Told, openPid: number | undefined): void {
    const anyway =
      "What is said there from now on would be unknown to the thread, and both would change the same files.";
    if (openPid !== undefined)
      throw new AppError(
        "conversation_open",
        `Conversation ${sessionId} is open in a claude, process ${openPid}: leave it there first. ${anyway}`,
      );
    if (this.#options.now() - writtenMs < RECENT_MS)
      throw new AppError(
        "conversation_open",
        `Conversation ${sessionId} was written to a moment ago, so it may be open in a claude. ${anyway}`,
      );
  }

  /** Which process has which conversation open, by claude's own notes. A note whose process is another by now is old. */
  async #findOpen(): Promise<Map<string, number>> {
    const folder = join(this.#configDir, "sessions");
    const notes = new Map<number, z.infer<typeof openNote>>();
    const names = (await namesIn(folder)).filter((name) => /^\d+\.json$/.test(name));
    for (const name of names.slice(0, MAX_OPEN_FILES)) {
      const note = openNote.safeParse(await readSmall(join(folder, name))).data;
      if (note) notes.set(note.pid, note);
    }
    const open = new Map<string, number>();
    for (const { pid, startedAt } of listProcesses((pid) => notes.has(pid))) {
      const note = notes.get(pid);
      if (note?.procStart === String(startedAt)) open.set(note.sessionId, pid);
    }
    return open;
  }
}

function isByHand({ isProgram, messages }: Told): boolean {
  return !isProgram && messages.length > 0;
}

/** Its directory may be gone, or be another link's name for this one. */
async function isSame(cwd: string | undefined, path: string): Promise<boolean> {
  if (cwd === undefined || cwd.includes("\0")) return false;
  return cwd === path || (await realpath(cwd).catch(() => undefined)) === path;
}

function describe(sessionId: string, told: Told, openPid: number | undefined): Conversation {
  return {
    sessionId,
    title: cleanTitle(told.title) || null,
    firstWords: [...cleanLine(told.firstWords)].slice(0, MAX_FIRST_WORDS).join(""),
    startedAt: told.startedAt ?? null,
    updatedAt: new Date(told.writtenMs).toISOString(),
    messages: told.isWhole ? told.prompts : null,
    bytes: told.bytes,
    openPid: openPid ?? null,
  };
}

function noConversation(sessionId: string): AppError {
  return new AppError(
    "invalid_request",
    `sessionId: the file of ${sessionId} is no conversation of claude's.`,
  );
}

async function namesIn(folder: string): Promise<string[]> {
  return readdir(folder).catch(() => []); // there is none
}

async function readSmall(file: string): Promise<unknown> {
  try {
    return JSON.parse(readRegular(file, 64 * 1024, false).toString());
  } catch {
    return undefined; // gone, no small file, or being written
  }
}
