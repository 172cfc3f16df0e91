/**
 * Messages between agents: who may write to whom, which wait for a person, and that each is in both threads once. A
 * message lies in a file of its own until both have it: a sidecar that was killed in between is finished at the start.
 */
import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod";
import { causesNow } from "../../shared/agent/fold-causes.ts";
import { HOLD_REASONS, type HoldReason, MAX_HOPS } from "../../shared/agent/message-fields.ts";
import type { Thread } from "../../shared/api.ts";
import { AppError } from "../../shared/errors.ts";
import { type ThreadId, threadIdSchema } from "../../shared/ids.ts";
import { KeyedQueue } from "../../shared/lifecycle.ts";
import type { Log } from "../../shared/log.ts";
import { writeWhole } from "../../shared/whole-file.ts";
import type { Agents } from "../agents/agents.ts";
import { callIdOf } from "../agents/call-id.ts";
import type { Marks } from "../agents/marks.ts";
import type { Threads } from "../threads/threads.ts";
import type { Children } from "./children.ts";

/** Beyond these its reader is not written to: each may cost a turn, each that is held costs a person's time. */
const MAX_UNREAD = 20;
const MAX_HELD = 5;

const draftSchema = z.object({
  messageId: z.string().min(1),
  from: threadIdSchema,
  fromNumber: z.number().int().positive().optional(),
  to: threadIdSchema,
  toNumber: z.number().int().positive().optional(),
  text: z.string(),
  hops: z.number().int().positive(),
  causes: z.array(z.string()).optional(),
  held: z.enum(HOLD_REASONS).optional(),
  marks: z.string().optional(),
});
type Draft = z.infer<typeof draftSchema>;

export interface MessagesOptions {
  stateDir: string;
  threads: Threads;
  agents: Agents;
  children: Children;
  marks: Pick<Marks, "findSpread">;
  log: Log;
}

interface Message {
  to: ThreadId;
  text: string;
  /** The engine's id of the call. */
  callId: string | undefined;
}

export interface SentMessage {
  to: Thread;
  held?: HoldReason | undefined;
}

export class Messages {
  readonly #options: MessagesOptions;
  /** Messages that are on their way. */
  readonly #folder: string;
  /** One after the other to each reader: what one has brought there, the next one counts. */
  readonly #sending = new KeyedQueue();

  constructor(options: MessagesOptions) {
    this.#options = options;
    this.#folder = join(options.stateDir, "messages");
  }

  /**
   * The same call a second time sends nothing more.
   * @param callId the engine's id of the call; undefined if it names no calls
   * @throws AppError in words for the model
   */
  async send(from: ThreadId, message: Message): Promise<SentMessage> {
    this.#options.children.checkFamily(from, message.to);
    return this.#sending.run(message.to, () => this.#send(from, message));
  }

  async #send(from: ThreadId, { to, text, callId: named }: Message): Promise<SentMessage> {
    const { threads, agents } = this.#options;
    const callId = callIdOf(named, await agents.foldNow(from), "message", { to, text });
    const hash = createHash("sha256").update(`${from} ${callId}`).digest("hex");
    const messageId = `agent-${hash.slice(0, 32)}`;
    if (agents.hasMessage(to, messageId)) return { to: threads.get(to) };
    const marks = await this.#options.marks.findSpread(from);
    const [writer, reader] = [threads.get(from), threads.get(to)];
    const { held, hops } = await this.#judge(writer, reader);
    const draft: Draft = {
      messageId,
      from,
      fromNumber: writer.number ?? undefined,
      to,
      toNumber: reader.number ?? undefined,
      text,
      hops,
      held,
      causes: causesNow(await agents.foldNow(from)),
      ...(marks !== undefined && { marks }),
    };
    await this.#deliver(draft);
    return { to: threads.get(to), held };
  }

  /** At the sidecar's start: what an earlier one was killed in the middle of. */
  async recover(): Promise<void> {
    mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
    for (const name of readdirSync(this.#folder)) {
      const path = join(this.#folder, name);
      try {
        const draft = name.endsWith(".json") ? findDraft(path) : undefined;
        if (draft) await this.#finish(draft);
        rmSync(path, { force: true });
      } catch (error) {
        this.#options.log.warn({ err: error, name }, "a message between agents did not arrive");
        if (error instanceof AppError) rmSync(path, { force: true }); // its reader does not take it
      }
    }
  }

  /** @throws AppError `rate_limited` */
  async #judge(writer: Thread, reader: Thread): Promise<{ held?: HoldReason; hops: number }> {
    const { agents, children } = this.#options;
    const { threadId } = reader;
    const hops = ((await agents.foldNow(writer.threadId)).hops ?? 0) + 1;
    const held = await agents.countHeld(threadId);
    if (reader.waiting >= MAX_UNREAD)
      throw new AppError("rate_limited", `It has not read ${reader.waiting} messages yet; wait.`);
    if (held >= MAX_HELD)
      throw new AppError("rate_limited", `A person has ${held} messages to look at there; wait.`);
    if (await children.mayDoMore(threadId, writer.threadId)) return { held: "rights", hops };
    return hops > MAX_HOPS ? { held: "hops", hops } : { hops };
  }

  async #deliver(draft: Draft): Promise<void> {
    const path = join(this.#folder, `${draft.messageId}.json`);
    writeWhole(path, JSON.stringify(draft), { isDurable: true });
    try {
      await this.#finish(draft);
    } finally {
      rmSync(path, { force: true });
    }
  }

  /** Each half is done once, however often this runs. */
  async #finish({ to, toNumber, ...message }: Draft): Promise<void> {
    const { agents, log } = this.#options;
    const { messageId, from, text, held } = message;
    await agents.takeFromAgent(to, message);
    const told = { type: "message_sent" as const, messageId, threadId: to, text };
    await agents
      .noteSent(from, { ...told, ...(toNumber !== undefined && { number: toNumber }), ...(held && { held }) })
      // The thread that wrote it was ended meanwhile; its message counts all the same.
      .catch((error: unknown) => log.warn({ threadId: from, err: error }, "a message's writer is over"));
  }
}

/** Undefined if a crash left half of it. */
function findDraft(path: string): Draft | undefined {
  try {
    return draftSchema.parse(JSON.parse(readFileSync(path, "utf8")));
  } catch {
    return undefined;
  }
}
