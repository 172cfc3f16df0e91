/**
 * Open asks as files of their thread's folder, for `ls`, scripts and editors: `approvals/<request>.request.json`. The
 * row decides, the file is its copy. With `ASK_FILES=1` a file `<request>.response.json` beside it answers.
 */
import { createHash } from "node:crypto";
import { lstatSync, mkdirSync, readdirSync, renameSync, rmdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod";
import type { AnswerRequest, AskReply } from "../../shared/agent/api.ts";
import { threadPath } from "../../shared/agent/paths.ts";
import { AppError, errorText } from "../../shared/errors.ts";
import type { ThreadId } from "../../shared/ids.ts";
import { lazy } from "../../shared/lazy.ts";
import type { Log } from "../../shared/log.ts";
import { job, type Principal } from "../../shared/principal.ts";
import { writeWhole } from "../../shared/whole-file.ts";
import type { Store } from "../store/store.ts";
import type { AgentFolders } from "./folders.ts";
import { readOwnFile } from "./own-file.ts";

/** Answers are looked for so often, while something is asked. */
const LOOK_INTERVAL_MS = 2_000;
/** What changes within so long is written at once. */
const GATHER_MS = 50;
const MAX_ANSWER_BYTES = 64 * 1024;
/** An answer that is no JSON may be half written for so long. */
const MAX_WRITE_MS = 10_000;
const REQUEST = ".request.json";
const RESPONSE = ".response.json";
const REFUSED = ".refused.json";

/** What a `.response.json` says. */
const responseSchema = lazy(() =>
  z.strictObject({
    approved: z.boolean(),
    /** With a refusal: why, for the agent. */
    message: z.string().max(4_000).optional(),
    /** The answers to questions, by question. */
    content: z.record(z.string(), z.string().max(4_000)).optional(),
    /** The request's `hash`: the answer counts for nothing else. */
    hash: z.string().optional(),
  }),
);
type FileAnswer = z.infer<ReturnType<typeof responseSchema>>;

export interface AskFilesOptions {
  store: Store;
  folders: AgentFolders;
  /** As of any caller: the first answer counts. */
  answer: (threadId: ThreadId, requestId: string, answer: AnswerRequest, by: Principal) => Promise<void>;
  /** Whether files answer (`ASK_FILES=1`). */
  takesAnswers: boolean;
  /** After so many seconds an ask counts as refused; undefined: never. */
  timeoutSeconds: number | undefined;
  log: Log;
  now: () => number;
}

export class AskFiles {
  readonly #options: AskFilesOptions;
  /** The names of the files that lie there for each thread, without their ends. */
  readonly #written = new Map<ThreadId, Set<string>>();
  #timer: NodeJS.Timeout | undefined;
  #soon: NodeJS.Timeout | undefined;
  #looking: Promise<void> | undefined;
  #isClosed = false;

  constructor(options: AskFilesOptions) {
    this.#options = options;
  }

  /** Brings the files in step with the rows, also those that an earlier process left, and keeps them so. */
  start(): void {
    const { store, folders } = this.#options;
    for (const { threadId } of store.agents.list()) {
      const names = folders.exists(threadId) ? listNames(this.#folderOf(threadId)) : [];
      const left = names
        .filter((name) => name.endsWith(REQUEST))
        .map((name) => name.slice(0, -REQUEST.length));
      if (left.length > 0) this.#written.set(threadId, new Set(left));
    }
    store.asks.listen(() => this.#want());
    this.#look();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    clearTimeout(this.#soon);
    await this.#looking;
  }

  /** Soon, and once for all that changes until then. */
  #want(): void {
    if (this.#isClosed) return;
    this.#soon ??= setTimeout(() => this.#look(), GATHER_MS).unref();
  }

  #look(): void {
    if (this.#isClosed) return;
    clearTimeout(this.#timer);
    clearTimeout(this.#soon);
    this.#soon = undefined;
    const { log, takesAnswers, store } = this.#options;
    let open: AskReply[] = [];
    try {
      open = store.asks.listOpen();
      this.#write(open);
    } catch (error) {
      log.error({ err: error }, "could not write the asks' files; trying again");
      this.#timer = setTimeout(() => this.#look(), LOOK_INTERVAL_MS).unref();
      return;
    }
    if (!takesAnswers || open.length === 0) return;
    this.#looking ??= this.#takeAnswers(open).finally(() => {
      this.#looking = undefined;
    });
    this.#timer = setTimeout(() => this.#look(), LOOK_INTERVAL_MS).unref();
  }

  #write(open: readonly AskReply[]): void {
    const { folders } = this.#options;
    for (const threadId of new Set([...this.#written.keys(), ...open.map((ask) => ask.threadId)])) {
      const asks = open.filter((ask) => ask.threadId === threadId);
      if (folders.exists(threadId)) this.#writeOf(threadId, asks);
      else this.#written.delete(threadId);
    }
  }

  #writeOf(threadId: ThreadId, asks: readonly AskReply[]): void {
    const folder = this.#folderOf(threadId);
    const written = this.#written.get(threadId) ?? new Set<string>();
    this.#written.set(threadId, written);
    const wanted = new Map(asks.map((ask) => [fileName(ask.requestId), ask]));
    for (const [name, ask] of wanted) {
      if (written.has(name)) continue;
      makeOwnFolder(folder);
      writeWhole(join(folder, name + REQUEST), this.#describe(ask));
      written.add(name);
    }
    for (const name of written) {
      if (wanted.has(name)) continue;
      for (const end of [REQUEST, RESPONSE, REFUSED]) rmSync(join(folder, name + end), { force: true });
      written.delete(name);
    }
    if (written.size > 0) return;
    this.#written.delete(threadId);
    removeIfEmpty(folder);
  }

  #describe({ threadId, requestId, kind, askedAt, title, request, call }: AskReply): string {
    const { timeoutSeconds = null } = this.#options;
    const options = request.type === "permission_request" ? { options: request.options } : {};
    const questions = request.type === "elicitation_request" ? { questions: request.questions } : {};
    const said = { id: requestId, thread_id: threadId, kind, prompt: title, created_at: askedAt };
    const tool = request.type === "permission_request" ? request.toolName : (call?.name ?? null);
    const runs = { tool, input: call?.rawInput ?? request.input, hash: request.callKey };
    const all = { ...said, timeout_seconds: timeoutSeconds, ...runs, ...options, ...questions };
    return `${JSON.stringify(all, null, 2)}\n`;
  }

  async #takeAnswers(open: readonly AskReply[]): Promise<void> {
    for (const ask of open) {
      if (this.#isClosed) return;
      const path = join(this.#folderOf(ask.threadId), fileName(ask.requestId));
      try {
        const answer = this.#readAnswer(ask, path + RESPONSE);
        if (answer) await this.#options.answer(ask.threadId, ask.requestId, answer, job("ask-files"));
      } catch (error) {
        this.#refuse(ask, path, error);
      }
    }
  }

  /** @throws AppError or Error that says what is wrong with the answer */
  #readAnswer(ask: AskReply, path: string): AnswerRequest | undefined {
    const file = readOwnFile(path, MAX_ANSWER_BYTES);
    if (!file) return undefined;
    const isBeingWritten = this.#options.now() - file.mtimeMs < MAX_WRITE_MS;
    const json = parseJson(file.text);
    if (json === undefined && isBeingWritten) return undefined;
    if (json === undefined) throw new Error("it is no JSON");
    const parsed = responseSchema().safeParse(json);
    if (!parsed.success) throw new Error(z.prettifyError(parsed.error).replaceAll("\n", " "));
    return answerTo(ask, parsed.data);
  }

  /** The ask stays open: what is wrong with the file is for whoever wrote it. */
  #refuse({ threadId, requestId }: AskReply, path: string, error: unknown): void {
    const { log } = this.#options;
    if (error instanceof AppError && error.code !== "invalid_request") {
      // Somebody was quicker, and the files go with the row; or the sidecar can't take it now, and looks again.
      log.info({ threadId, requestId, code: error.code }, "an ask's response.json was not taken");
      return;
    }
    log.warn({ threadId, requestId, why: errorText(error) }, "an ask's response.json does not count");
    try {
      renameSync(path + RESPONSE, path + REFUSED);
    } catch (failure) {
      log.warn({ threadId, requestId, err: failure }, "could not set an ask's response.json aside");
    }
  }

  #folderOf(threadId: ThreadId): string {
    return threadPath(this.#options.folders.of(threadId), "approvals");
  }
}

/** @throws Error if it does not answer this ask */
function answerTo({ request }: AskReply, { approved, message, content, hash }: FileAnswer): AnswerRequest {
  if (hash !== undefined && hash !== request.callKey) throw new Error("hash: is not the request's");
  if (request.type === "elicitation_request") {
    if (message !== undefined) throw new Error("message: a question is answered by content");
    if (!approved) return { action: "decline" };
    if (!content) throw new Error("content: is needed, this ask is a question");
    return { action: "accept", content };
  }
  if (content !== undefined) throw new Error("content: is for questions, this ask is about a permission");
  const kind = approved ? "allow_once" : "reject_once";
  const option = request.options.find((one) => one.kind === kind);
  if (!option) throw new Error(`approved: this ask has no option of the kind ${kind}`);
  return { optionId: option.optionId, ...(message !== undefined && { message }) };
}

/** The request's id comes from the engine: it names a file only if it can lead nowhere. */
function fileName(requestId: string): string {
  if (/^[A-Za-z0-9][\w-]{0,99}$/.test(requestId)) return requestId;
  return createHash("sha256").update(requestId).digest("hex");
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // half written, or no JSON
  }
}

function listNames(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if (["ENOENT", "ENOTDIR"].includes((error as NodeJS.ErrnoException).code ?? "")) return [];
    throw error;
  }
}

/** @throws Error if something else lies there: a link would lead what is written elsewhere */
function makeOwnFolder(folder: string): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  if (!lstatSync(folder).isDirectory()) throw new Error(`${folder} is no folder`);
}

function removeIfEmpty(folder: string): void {
  try {
    rmdirSync(folder);
  } catch (error) {
    if (!["ENOENT", "ENOTDIR", "ENOTEMPTY"].includes((error as NodeJS.ErrnoException).code ?? ""))
      throw error;
  }
}
