/**
 * Takes the messages that an agent sends with a tool into the channels that it hears, each call once. A call is a row before it is
 * answered; the relay sends what the row says.
 */
import { createHash } from "node:crypto";
import { timeOf } from "../../shared/clock-text.ts";
import { AppError } from "../../shared/errors.ts";
import type { DiscordId, ThreadId } from "../../shared/ids.ts";
import {
  parseAddress,
  person as personPrincipal,
  printAddress,
  printThreadAddress,
} from "../../shared/principal.ts";
import { findDiscordMessage } from "../../shared/voice-api.ts";
import type { Agents } from "../agents/agents.ts";
import { channelsHeardBy } from "../agents/heard-channels.ts";
import { Sources } from "../agents/sources.ts";
import type { People } from "../callers/people.ts";
import type { Store } from "../store/store.ts";
import { inputsOf } from "./heard-inputs.ts";

/** The most messages of one turn. */
const MAX_A_TURN = 20;
/** To one address, without an input from there. */
const MAX_UNHEARD = 5;
/** The most times that a refusal lists. */
const MAX_TIMES = 20;
/** How long the same words to the same address are taken for a call that is made again. */
const SAME_MS = 10 * 60_000;

export interface VoiceOptions {
  store: Store;
  agents: Pick<Agents, "foldNow" | "note" | "readTranscript">;
  people: Pick<People, "may">;
  now: () => number;
}

export interface Said {
  to: string;
  content: string;
  isSilent: boolean;
  callId: string | undefined;
  /** Paths of files that go with it. */
  files?: readonly string[];
  /** Looks at such a file and copies it. @returns its name among the attachments @throws AppError in words for the model */
  keepFile?: (path: string) => Promise<string>;
  /** The time of the input that it answers, such as `09:12`. */
  replyTo?: string | undefined;
}

interface Place {
  address: string;
  channelId: DiscordId;
  personId?: string;
}

export class Voice {
  readonly #options: VoiceOptions;
  readonly #sources: Sources;

  constructor(options: VoiceOptions) {
    this.#options = options;
    this.#sources = new Sources(options.store);
  }

  /** The channels that a thread's agent hears. */
  channelsOf(threadId: ThreadId): DiscordId[] {
    return channelsHeardBy(this.#options.store, threadId);
  }

  /** Where it may write in Discord now: each channel that it hears, and whom it heard there. */
  addressesOf(threadId: ThreadId): string[] {
    const { spoken } = this.#options.store;
    return this.channelsOf(threadId).flatMap((channelId) => {
      const channel = this.#sources.channelHandle(channelId);
      const heard = spoken.listHeard(threadId, channelId).filter((id) => this.#mayHear(id, channelId));
      const persons = heard.map((id) => printAddress({ channel, person: this.#sources.personHandle(id) }));
      return [printAddress({ channel }), ...persons];
    });
  }

  /**
   * @returns `m17`
   * @throws AppError in words for the model
   */
  async say(threadId: ThreadId, said: Said): Promise<string> {
    const { to, content, isSilent, callId, replyTo: time, files: paths = [] } = said;
    const { store, agents, now } = this.#options;
    const { turn } = await agents.foldNow(threadId);
    const turnId = turn?.turnId ?? "none";
    const id = callId ?? nameOf(threadId, turnId, to, content, ...paths);
    const known = store.spoken.findCall(threadId, id);
    if (known) return this.#note(threadId, id, known.id);
    const { address, channelId, personId } = this.#resolve(threadId, to);
    const heard = store.spoken.findHeard(threadId, channelId, personId);
    const since = heard?.heardAt ?? 0;
    const files = await keepAll(said);
    const words = { threadId, address, text: content, files };
    const same = store.spoken.findSame(words, Math.max(since, now() - SAME_MS));
    // It is said once, and answers all the same what was read since.
    if (same) return this.#note(threadId, id, same.id);
    this.#refuseMany(threadId, turnId, address, since);
    const answered = time === undefined ? heard?.inputId : await this.#inputAt(threadId, to, time);
    const replyTo = personId === undefined ? null : findDiscordMessage(answered);
    const added = store.spoken.add({
      ...words,
      ...{ callId: id, turn: turnId, channelId, isSilent, replyTo },
      createdAt: now(),
    });
    return this.#note(threadId, id, added.id);
  }

  async done(threadId: ThreadId, callId: string | undefined, why: string | undefined): Promise<void> {
    const { agents, now } = this.#options;
    const id = callId ?? `done-${now()}`;
    const told = { type: "voice_done" as const, callId: id, ...(why !== undefined && { why }) };
    await agents.note(threadId, told, "callId", id);
  }

  /** The newest input from this address at that time. @throws AppError `not_found`, which lists the times there are */
  async #inputAt(threadId: ThreadId, to: string, time: string): Promise<string> {
    const inputs = await inputsOf(this.#options.agents, threadId);
    const meant = inputs.filter(({ handle }) => handle === to);
    const found = meant.findLast(({ at }) => timeOf(at) === time);
    if (found) return found.messageId;
    const times = [...new Set(meant.map(({ at }) => timeOf(at)))].slice(-MAX_TIMES);
    const list = times.length === 0 ? "There is none from there" : `There are those of ${times.join(", ")}`;
    throw new AppError("not_found", `replyTo: no input from ${to} is of ${time}. ${list}.`);
  }

  /** In the transcript too, also if an earlier sidecar was killed between the two. */
  async #note(threadId: ThreadId, callId: string, id: number): Promise<string> {
    const row = this.#options.store.spoken.find(id);
    if (!row || row.address === null) throw new Error(`the row of message ${id} is not there`);
    const { address, channelId, text, files } = row;
    const personId = this.#personIn(address);
    const told = { messageId: `m${id}`, callId, address, channelId, text };
    const event = {
      type: "voice_message" as const,
      ...told,
      ...(personId !== undefined && { personId }),
      ...(files.length > 0 && { files }),
    };
    await this.#options.agents.note(threadId, event, "callId", callId);
    return `${id}`;
  }

  #personIn(address: string): string | undefined {
    const person = parseAddress(address)?.person;
    return person === undefined ? undefined : this.#options.store.handles.findId("person", person);
  }

  /** @throws AppError `not_found`, which lists what is open */
  #resolve(threadId: ThreadId, to: string): Place {
    const { handles } = this.#options.store;
    const { channel, person } = parseAddress(to) ?? {};
    const channelId = this.channelsOf(threadId).find((id) => this.#sources.channelHandle(id) === channel);
    if (channelId === undefined) throw this.#closed(threadId, to);
    if (person === undefined) return { address: to, channelId };
    const personId = handles.findId("person", person);
    if (personId === undefined || !this.#mayHear(personId, channelId)) throw this.#closed(threadId, to);
    return { address: to, channelId, personId };
  }

  /** Who has lost their role is written to no more. */
  #mayHear(discordId: string, channelId: DiscordId): boolean {
    return this.#options.people.may(personPrincipal(discordId), "read", channelId);
  }

  #closed(threadId: ThreadId, to: string): AppError {
    const open = this.addressesOf(threadId);
    const list = open.length === 0 ? "No channel is open to you" : `Open to you are ${open.join(", ")}`;
    return new AppError(
      "not_found",
      `to: ${JSON.stringify(to)} is not open to you. ${list}; and ${printThreadAddress("#12")} for an agent of your family.`,
    );
  }

  #refuseMany(threadId: ThreadId, turnId: string, address: string, since: number): void {
    const { spoken } = this.#options.store;
    if (spoken.countTurn(threadId, turnId) >= MAX_A_TURN)
      throw new AppError("rate_limited", `You have said ${MAX_A_TURN} things in this turn; end it.`);
    if (spoken.countTo(threadId, address, since) >= MAX_UNHEARD)
      throw new AppError(
        "rate_limited",
        `You have written to ${address} ${MAX_UNHEARD} times without an input from there; wait for one.`,
      );
  }
}

/** Copies the files one after the other, because each copy counts against the bound that the last one used up. */
async function keepAll({ files = [], keepFile }: Said): Promise<string[]> {
  const names: string[] = [];
  for (const path of files) if (keepFile) names.push(await keepFile(path));
  return [...new Set(names)];
}

/** The name of a call whose engine names no calls. */
function nameOf(...parts: readonly string[]): string {
  return `text-${createHash("sha256").update(JSON.stringify(parts)).digest("hex").slice(0, 32)}`;
}
