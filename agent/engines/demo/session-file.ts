/**
 * The conversation on disk, where the engine keeps it and with the field names that a runner looks for after a kill:
 * `uuid` of a user line, `attachment.source_uuid` of a message in mid-turn, `mergedSendUuids` of several taken as one.
 */
import { randomUUID } from "node:crypto";
import { appendFileSync, existsSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Args } from "./args.ts";
import type { Spoken } from "./script.ts";

export interface Block {
  type: string;
  text?: string;
  id?: string;
  name?: string;
  input?: Record<string, unknown>;
  tool_use_id?: string;
  [field: string]: unknown;
}

interface Entry {
  type: string;
  uuid?: string;
  message?: { role: "user" | "assistant"; id?: string; content: string | Block[] };
  attachment?: { type: string; source_uuid?: string; prompt?: Block[]; text?: string };
  mergedSendUuids?: string[];
  isMeta?: boolean;
  isApiErrorMessage?: boolean;
  totalCostUSD?: number;
}

/** The engine saves with this delay, so a kill may lose what was printed last, and even a call that runs. */
const SAVE_MS = 50;

export class SessionFile {
  readonly path: string;
  readonly #common: Record<string, unknown>;
  readonly #entries: Entry[] = [];
  /** How many entries are another conversation's. */
  readonly #copied: number;
  #unsaved = "";
  #timer: NodeJS.Timeout | undefined;

  /** @param copy what a fork begins with: written with what is said first, as the real one does. */
  private constructor(path: string, { sessionId, cwd, version }: Place, copy = "") {
    this.path = path;
    this.#common = {
      isSidechain: false,
      userType: "external",
      entrypoint: "sdk-cli",
      cwd,
      sessionId,
      version,
    };
    this.#unsaved = copy;
    const text = existsSync(path) ? readFileSync(path, "utf8") : copy;
    for (const line of text.slice(0, text.lastIndexOf("\n") + 1).split("\n")) {
      if (line !== "") this.#entries.push(JSON.parse(line) as Entry);
    }
    this.#copied = copy === "" ? 0 : this.#entries.length;
    // A line that a kill cut off would swallow the next one.
    if (text !== "" && !text.endsWith("\n")) appendFileSync(path, "\n");
  }

  /** Undefined if a conversation that is to be resumed does not exist, or a new one's id is taken. */
  static open(place: Place): SessionFile | undefined {
    const projects = join(place.home, ".claude/projects");
    const own = join(projects, place.cwd.replace(/[^a-zA-Z0-9]/g, "-"), `${place.sessionId}.jsonl`);
    const found = findIn(projects, `${place.sessionId}.jsonl`);
    if ((found !== undefined) !== place.isResumed) return undefined;
    mkdirSync(dirname(own), { recursive: true });
    return new SessionFile(found ?? own, place, place.forkOf && copyOf(projects, place.forkOf));
  }

  add(entry: Record<string, unknown>): string {
    const uuid = (entry["uuid"] as string | undefined) ?? randomUUID();
    const parentUuid = this.#entries.findLast((one) => one.uuid !== undefined)?.uuid ?? null;
    const timestamp = new Date().toISOString();
    const line = { parentUuid, ...entry, uuid, timestamp, ...this.#common };
    this.#entries.push(line as unknown as Entry);
    this.#append(line);
    return uuid;
  }

  /** Writes what was added, at once. */
  save(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#isSilent) return;
    if (this.#unsaved !== "") appendFileSync(this.path, this.#unsaved);
    this.#unsaved = "";
  }

  #append(line: object): void {
    this.#unsaved += `${JSON.stringify(line)}\n`;
    this.#timer ??= setTimeout(() => this.save(), SAVE_MS);
  }

  addMessage(
    content: Block[],
    { uuid, merged, isMeta }: { uuid: string; merged?: string[]; isMeta?: boolean },
  ): void {
    this.add({
      type: "user",
      message: { role: "user", content },
      uuid,
      ...(merged?.length ? { mergedSendUuids: merged } : {}),
      ...(isMeta ? { isMeta } : {}),
    });
  }

  /** A message that was taken in mid-turn. */
  addQueued(prompt: Block[], source_uuid: string): void {
    this.add({
      type: "attachment",
      attachment: { type: "queued_command", prompt, source_uuid, commandMode: "prompt" },
    });
  }

  addContext(text: string): void {
    this.add({ type: "attachment", attachment: { type: "hook_additional_context", text } });
  }

  /** A fork in which nobody has said anything yet. */
  get #isSilent(): boolean {
    return this.#entries.length === this.#copied && !existsSync(this.path);
  }

  addCost(totalCostUSD: number): void {
    if (this.#isSilent) return;
    this.#entries.push({ type: "cost-state", totalCostUSD });
    this.#append({ type: "cost-state", totalCostUSD });
  }

  /** What the earlier processes of this conversation have cost. */
  cost(): number {
    return this.#entries.findLast(({ type }) => type === "cost-state")?.totalCostUSD ?? 0;
  }

  has(uuid: string): boolean {
    return this.#entries.some(
      (entry) =>
        entry.uuid === uuid ||
        entry.attachment?.source_uuid === uuid ||
        entry.mergedSendUuids?.includes(uuid),
    );
  }

  /** What the model is given: everything since the last compaction. */
  conversation(): Spoken[] {
    const from = this.#entries.findLastIndex(({ type }) => type === "compact");
    return joinAnswers(this.#entries.slice(from + 1));
  }

  /** Calls of the last answer that have no result. */
  openCalls(): Block[] {
    const calls = new Map<string, Block>();
    for (const { message } of this.#entries) {
      if (!message || typeof message.content === "string") continue;
      for (const block of message.content) {
        if (block.type === "tool_use" && block.id) calls.set(block.id, block);
        if (block.type === "tool_result" && block.tool_use_id) calls.delete(block.tool_use_id);
      }
    }
    return [...calls.values()];
  }

  /** The message whose turn was cut off; undefined if the last turn had ended. */
  cutOff(): CutOff | undefined {
    // A refusal of the API's is no answer.
    const isSpoken = ({ message, attachment, isApiErrorMessage }: Entry) =>
      !isApiErrorMessage && (message || attachment?.type === "queued_command");
    const spoken = this.#entries.filter(isSpoken);
    const last = spoken.at(-1);
    if (!last) return undefined;
    const blocks = blocksIn(last);
    const isAnswered = last.message?.role === "assistant" && !blocks.some(({ type }) => type === "tool_use");
    const isStopped = blocks.some(({ text }) => text?.startsWith("[Request interrupted by user"));
    if (isAnswered || isStopped) return undefined;
    const isAsked = (entry: Entry) =>
      entry.message?.role === "user" && !entry.isMeta && blocksIn(entry).some(({ type }) => type === "text");
    const asked = spoken.findLast(isAsked) ?? last;
    return { uuid: asked.uuid ?? "", content: blocksIn(asked), isBegun: asked !== last };
  }
}

export interface CutOff {
  uuid: string;
  content: Block[];
  /** False if the model had not answered yet. */
  isBegun: boolean;
}

function blocksIn({ message, attachment }: Entry): Block[] {
  const content = message?.content ?? attachment?.prompt ?? [];
  return typeof content === "string" ? [{ type: "text", text: content }] : content;
}

export interface Place {
  home: string;
  cwd: string;
  sessionId: string;
  isResumed: boolean;
  forkOf: Args["forkOf"];
  version: string;
}

/** @throws Error if the conversation, or the line that it is to be cut behind, does not exist. */
function copyOf(projects: string, { sessionId, at }: NonNullable<Args["forkOf"]>): string {
  const source = findIn(projects, `${sessionId}.jsonl`);
  if (source === undefined) throw new Error(`No conversation found with session ID: ${sessionId}`);
  const lines = readFileSync(source, "utf8").split("\n").slice(0, -1);
  const last = lines.findIndex((line) => (JSON.parse(line) as Entry).uuid === at);
  if (at !== undefined && last < 0) throw new Error(`No message found with message.uuid of: ${at}`);
  const kept = at === undefined ? lines : lines.slice(0, last + 1);
  // What it has cost goes on from the whole conversation's.
  const cost = lines.findLast((line) => line.includes('"cost-state"')) ?? "";
  return [...kept, cost]
    .filter(Boolean)
    .map((line) => `${line}\n`)
    .join("");
}

function findIn(projects: string, name: string): string | undefined {
  if (!existsSync(projects)) return undefined;
  const folder = readdirSync(projects).find((one) => existsSync(join(projects, one, name)));
  return folder === undefined ? undefined : join(projects, folder, name);
}

/** One answer's blocks are entries of their own with one message id; as spoken they are one. */
function joinAnswers(entries: readonly Entry[]): Spoken[] {
  const spoken: Spoken[] = [];
  let lastId: string | undefined;
  for (const { message, attachment, isApiErrorMessage } of entries) {
    if (attachment) {
      for (const { text } of attachment.prompt ?? []) if (text) spoken.push({ role: "user", text });
      if (attachment.text) spoken.push({ role: "user", text: attachment.text });
      continue;
    }
    if (!message || isApiErrorMessage) continue;
    const { role, id, content } = message;
    const blocks = typeof content === "string" ? [{ type: "text", text: content }] : content;
    const texts = blocks.flatMap(({ type, text }) => (type === "text" && text ? [text] : []));
    if (role === "user") spoken.push(...texts.map((text) => ({ role, text })));
    else if (id !== undefined && id === lastId) {
      const last = spoken.findLast((one) => one.role === "assistant");
      if (last) last.text = [last.text, ...texts].filter(Boolean).join("\n");
    } else spoken.push({ role, text: texts.join("\n") });
    lastId = role === "assistant" ? id : lastId;
  }
  return spoken;
}
