/** Lets agents read and write memory. Each thread has the memories of its owners alone. */
import { createHash } from "node:crypto";
import type { EventBody } from "../../shared/agent/events.ts";
import type { MemoryWriteOfAgent } from "../../shared/agent/memory-fields.ts";
import { isOpen } from "../../shared/api.ts";
import { AppError } from "../../shared/errors.ts";
import type { ThreadId } from "../../shared/ids.ts";
import type { Log } from "../../shared/log.ts";
import { MemoryFolder } from "../../shared/memory/memory-folder.ts";
import {
  isMemoryName,
  MEMORY_FILE,
  type MemoryOwner,
  ownersOf,
  parseMemoryPath,
} from "../../shared/memory/owner.ts";
import { describePrincipal, threadPrincipal } from "../../shared/principal.ts";
import type { Agents } from "../agents/agents.ts";
import { callIdOf } from "../agents/call-id.ts";
import type { AgentFolders } from "../agents/folders.ts";
import { refuseMarked } from "../agents/outside.ts";
import type { MemoryWriteRow } from "../store/memory-writes.ts";
import type { Store } from "../store/store.ts";
import { showFile } from "./shown.ts";
import { hashOf, type MemoryWriter } from "./writer.ts";

const HOUR_MS = 3_600_000;
const MAX_WRITES_AN_HOUR = 60;
/** Each costs a person's time. */
const MAX_WAITING = 5;
/** A person is to read all of it before it counts. */
const MAX_WAITING_CHARACTERS = 4_000;
const MAX_NAMED_WRITERS = 5;
/** A write that a killed sidecar has not told is told after its start, if it is no older than this. */
const RETOLD_MS = HOUR_MS;

export interface AgentMemoryOptions {
  store: Store;
  folders: AgentFolders;
  agents: Agents;
  memoryWriter: MemoryWriter;
  now: () => number;
  log: Log;
}

export class AgentMemory {
  readonly #options: AgentMemoryOptions;

  constructor(options: AgentMemoryOptions) {
    this.#options = options;
  }

  /** The memories of a thread, its own first. */
  ownersOf(threadId: ThreadId): MemoryOwner[] {
    const { folders } = this.#options;
    const config = folders.findConfig(threadId);
    if (!config)
      throw new AppError("not_found", "This thread has no memory: its configuration can't be read.");
    const launch = { ...config.launch, stateDir: folders.state };
    return ownersOf({ ...config, launch });
  }

  /** The names of a memory's files. */
  namesIn(folder: string): string[] {
    const listed = MemoryFolder.use(this.#options.folders.state, folder, (open) => open.list(isMemoryName));
    return (listed?.files ?? []).map(({ name }) => name);
  }

  /** @throws AppError in words for the model */
  read(threadId: ThreadId, path: string, from: number, lines: number | undefined): string {
    const { owner, name } = parseMemoryPath(path, this.ownersOf(threadId));
    const file = this.#use(owner, (open) => open.read(name));
    if (!file) throw new AppError("not_found", this.#whatThereIs(threadId, `${owner.word}/${name}`));
    const written = this.#written(owner, name, file.text, file.facts.changedMs);
    return showFile({ path: `${owner.word}/${name}`, text: file.text, written }, from, lines);
  }

  /**
   * Notes, and what is the agent's own, are written at once; the MEMORY.md of a directory or of the user waits for a
   * person.
   * @param callId the engine's id of the call, undefined if it names no calls: the same call a second time writes nothing
   *   more
   * @returns what the model is told @throws AppError in words for the model
   */
  async write(threadId: ThreadId, callId: string | undefined, wanted: MemoryWriteOfAgent): Promise<string> {
    const { agents, memoryWriter, store } = this.#options;
    const { owner, name } = parseMemoryPath(wanted.path, this.ownersOf(threadId));
    const fold = await agents.foldNow(threadId);
    const writeId = idOf(threadId, callIdOf(callId, fold, "memory_write", wanted));
    const isKnown = store.memoryWrites.find(writeId) !== undefined;
    const waits = name === MEMORY_FILE && owner.word !== "main";
    if (!isKnown) {
      refuseMarked(fold, "writes nothing to memory");
      this.#refuseTooMany(threadId, waits, wanted.text);
    }
    const row = memoryWriter.write({
      ...{ writeId, owner, name, how: wanted.how, waits, threadId, by: threadPrincipal(threadId) },
      text: wanted.how === "remove" ? null : wanted.text,
    });
    await this.#tell(row);
    const path = `${owner.word}/${name}`;
    switch (row.state) {
      case "waiting":
        return `${path} is as it was: a person is asked whether this is to be in it, for every agent with this memory is told that file. Do not wait for the answer. Notes beside it (${owner.word}/<name>.md) are written at once.`;
      case "refused":
        return `A person has refused this; ${path} is as it was.`;
      case "failed":
        throw new AppError(
          "unavailable",
          `${path} was not written: it was changed at the same time. Try again.`,
        );
      default:
        return wanted.how === "remove"
          ? `Removed ${path}.`
          : `Written to ${path}. People see it, and can undo it.`;
    }
  }

  /** At the start: finishes writes, and tells threads what they were not told of. */
  async recover(): Promise<void> {
    const { store, memoryWriter, now } = this.#options;
    memoryWriter.finishAll();
    await this.tell(store.memoryWrites.listSince(now() - RETOLD_MS));
  }

  /** A thread's people see each write once, and each that failed after it was let in. */
  async tell(rows: readonly MemoryWriteRow[]): Promise<void> {
    for (const row of rows)
      await this.#tell(row).catch((error: unknown) =>
        this.#options.log.warn(
          { threadId: row.threadId, err: error },
          "a thread is not told of its write to memory",
        ),
      );
  }

  async #tell(row: MemoryWriteRow): Promise<void> {
    const { agents, store } = this.#options;
    const { writeId, threadId, name, how, text, state } = row;
    if (threadId === null || how === "restore") return;
    const thread = store.threads.find(threadId);
    if (!thread || !isOpen(thread.status)) return;
    const owner = this.ownersOf(threadId).find(({ folder }) => folder === row.folder);
    if (!owner) return;
    const path = `${owner.word}/${name}`;
    if (state === "failed" && row.decidedBy !== null) {
      const asked = new Date(row.at).toISOString().slice(11, 19);
      const why = "the file was changed meanwhile, would be too long, or can't be written";
      const title = `🧠 ${path} is as it was, though a person let in what was asked at ${asked} UTC: ${why}.`;
      return agents.noteNotice(threadId, title);
    }
    if (state !== "waiting" && state !== "written") return;
    const event: EventBody<"memory_write"> = {
      type: "memory_write",
      noteId: `${writeId} ${state}`,
      ...{ writeId, path, how, state, text: text ?? "" },
    };
    await agents.note(threadId, event, "noteId", event.noteId);
  }

  /** @throws AppError `rate_limited`, `too_large` */
  #refuseTooMany(threadId: ThreadId, waits: boolean, text: string): void {
    const { store, now } = this.#options;
    const count = store.memoryWrites.countOf(threadId, now() - HOUR_MS);
    if (count >= MAX_WRITES_AN_HOUR)
      throw new AppError(
        "rate_limited",
        `You have written to memory ${count} times in an hour; write less, later.`,
      );
    if (!waits) return;
    if (text.length > MAX_WAITING_CHARACTERS)
      throw new AppError(
        "too_large",
        `text: a person is to read it before it counts, so it has at most ${MAX_WAITING_CHARACTERS} characters; put the rest into a note.`,
      );
    if (store.memoryWrites.countWaiting(threadId) >= MAX_WAITING)
      throw new AppError("rate_limited", `A person has ${MAX_WAITING} writes of yours to look at; wait.`);
  }

  #whatThereIs(threadId: ThreadId, wanted: string): string {
    const names = this.ownersOf(threadId).flatMap((owner) => {
      return this.namesIn(owner.folder).map((name) => `${owner.word}/${name}`);
    });
    const there = names.length === 0 ? "Nothing is in it yet" : `There are: ${names.slice(0, 50).join(", ")}`;
    return `path: there is no ${wanted} in memory. ${there}.`;
  }

  #written({ folder }: MemoryOwner, name: string, text: string, changedMs: number): string {
    const rows = this.#options.store.memoryWrites.listOf(folder, name, 100);
    const on = (ms: number) => new Date(ms).toISOString().slice(0, 16).replace("T", " ");
    if (rows[0]?.afterHash !== hashOf(text)) return `last changed by hand on ${on(changedMs)} UTC`;
    const [last = "nobody", ...others] = [...new Set(rows.map(({ by }) => describePrincipal(by)))];
    const named = others.slice(0, MAX_NAMED_WRITERS).join(", ");
    const more =
      others.length === 0
        ? ""
        : `, before by ${named}${others.length > MAX_NAMED_WRITERS ? " and others" : ""}`;
    return `written by ${last} on ${on(rows[0].at)} UTC${more}`;
  }

  #use<T>({ folder }: MemoryOwner, work: (open: MemoryFolder) => T): T | undefined {
    return MemoryFolder.use(this.#options.folders.state, folder, work);
  }
}

function idOf(threadId: ThreadId, callId: string): string {
  return createHash("sha256").update(`${threadId} ${callId}`).digest("hex").slice(0, 24);
}
