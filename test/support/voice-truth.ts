/** What must be true of a channel's agent after a siege: each message has its right end, and nothing else was said. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { FaultRequest } from "../../local-discord/faults.ts";
import type { LocalDiscord } from "../../local-discord/run.ts";
import type { SeenMessage } from "../../local-discord/seen.ts";
import type { ThreadEvent } from "../../shared/agent/events.ts";
import { emptyFold, foldEvent } from "../../shared/agent/fold.ts";
import { UNANSWERED } from "../../shared/voice-api.ts";
import { answerOf, endOf, type Kind, moreOf, nameOf, nothingFor, PRIVATE } from "./voice-model.ts";

/** Discord's types of messages. */
const DEFAULT = 0;
const REPLY = 19;
/** What needs a person, over all agents. */
const INBOX = /^(?:\u{1f4ed}|\u{1f4e5})/u;

export interface Sent {
  n: number;
  kind: Kind;
  /** In Discord; undefined if it was not written there. */
  message?: SeenMessage;
}

export interface TruthOptions {
  discord: LocalDiscord;
  channels: readonly string[];
  /** Where the agent's commands leave their traces. */
  reposDir: string;
  /** The newest request's messages that the agent's model got. */
  context: () => string;
}

export class VoiceTruth {
  readonly #options: TruthOptions;
  readonly sent: Sent[] = [];
  /** All that the bot sent to Discord. */
  readonly requests: string[] = [];

  constructor(options: TruthOptions) {
    this.#options = options;
    options.discord.driver.faults.rest = ({ method, path, body }: FaultRequest) => {
      this.requests.push(`${method} ${path} ${JSON.stringify(body)}`);
      return undefined;
    };
  }

  /** Each thing that is not as the script names it, a line each. */
  findFaults(events: readonly ThreadEvent[]): string[] {
    const heard = this.#options.context();
    const unheard = this.sent.flatMap(({ n, kind }) => {
      const times = heard.split(`${nameOf(n)} ${kind}`).length - 1;
      return times === 1 ? [] : [`${nameOf(n)} ${kind} was heard ${times} times`];
    });
    const leaked = [...this.requests, ...this.#files()].filter((text) => text.includes(PRIVATE));
    return [
      ...this.sent.flatMap((sent) => this.#faultsOf(sent)),
      ...unheard,
      ...leaked.map((request) => `private text in ${request.slice(0, 300)}`),
      ...this.#strays(events),
      ...this.#effects(),
    ];
  }

  /** The model has heard these and was asked again after each `done`, and the last word is in Discord. */
  isSeen(isMeant: (sent: Sent) => boolean): boolean {
    const heard = this.#options.context();
    return this.sent.filter(isMeant).every((sent) => {
      const word = sent.kind === "done" ? nothingFor(sent.n) : `${nameOf(sent.n)} ${sent.kind}`;
      return heard.includes(word) && this.#faultsOf(sent).length === 0;
    });
  }

  /** Whoever's child has ended hears so, once. A child whose making was cut off is nobody's. */
  areChildrenBack(): boolean {
    const heard = this.#options.context();
    return this.sent.every(({ n, kind }) => {
      const ends = heard.split(`Child of ${nameOf(n)} ended.`).length - 1;
      return kind !== "spawn" || (ends <= 1 && this.said(endOf(n)).length === ends);
    });
  }

  #faultsOf({ n, kind, message }: Sent): string[] {
    const name = `${nameOf(n)} ${kind}`;
    const answers = this.said(answerOf(n));
    if (!message) return answers.length === 0 ? [] : [`${name} was answered in Discord`];
    const isAnswered = kind !== "forget" && kind !== "done";
    const lines = this.#bot().filter(
      ({ replyTo, content }) => replyTo?.id === message.id && content === UNANSWERED,
    );
    const faults: string[] = [];
    if (answers.length !== (isAnswered ? 1 : 0)) faults.push(`${name} has ${answers.length} answers`);
    if (lines.length !== (kind === "forget" ? 1 : 0))
      faults.push(`${name} is said to be unanswered ${lines.length} times`);
    const more = this.said(moreOf(n));
    if (more.length !== (kind === "twice" ? 1 : 0)) faults.push(`${name} has ${more.length} second answers`);
    for (const answer of [...answers, ...more]) {
      const to = answer.replyTo?.author;
      if (answer.channelId !== message.channelId) faults.push(`${name} was answered in another channel`);
      if (to !== (kind === "all" ? undefined : message.author.name))
        faults.push(`${name} was answered below ${to}`);
    }
    return faults;
  }

  /** What stands in the channels is what the tool was called for, each call's once, and the lines below what has no answer. */
  #strays(events: readonly ThreadEvent[]): string[] {
    const called = new Map<string, string>();
    for (const event of events) {
      if (event.type === "voice_message") called.set(event.messageId, `${event.channelId} ${event.text}`);
    }
    const wanted = [...called.values()];
    const found = this.#bot()
      .filter(({ content }) => content !== UNANSWERED)
      .map(({ channelId, content }) => `${channelId} ${content}`);
    return [
      ...found.filter((one) => !wanted.includes(one)).map((one) => `nobody called for: ${one}`),
      ...wanted.flatMap((one) => {
        const times = found.filter((other) => other === one).length;
        const due = wanted.filter((other) => other === one).length;
        return times === due ? [] : [`called for ${due} times, there ${times} times: ${one}`];
      }),
    ];
  }

  /** A person's yes counts for one call. */
  #effects(): string[] {
    const file = join(this.#options.reposDir, "effects");
    const lines = existsSync(file) ? readFileSync(file, "utf8").trimEnd().split("\n") : [];
    return lines.filter((line, at) => lines.indexOf(line) !== at).map((line) => `${line} ran twice`);
  }

  #files(): string[] {
    const { driver } = this.#options.discord;
    const places = [...this.#options.channels, ...driver.threads().map(({ id }) => id)];
    const files = places.flatMap((id) => driver.messages(id).flatMap(({ attachments }) => attachments));
    return files.map(({ id, name }) => `the file ${name}: ${driver.attachment(id).toString()}`);
  }

  said(text: string): SeenMessage[] {
    return this.#bot().filter(({ content }) => content === text);
  }

  #bot(): SeenMessage[] {
    const { discord, channels } = this.#options;
    const all = channels.flatMap((id) => discord.driver.messages(id));
    // Others are Discord's own lines, such as the one that a thread was begun, and what the bot keeps for each person.
    const isSaid = ({ type, content }: SeenMessage) =>
      (type === DEFAULT || type === REPLY) && !INBOX.test(content);
    return all.filter((message) => message.author.isBot && isSaid(message));
  }
}

/** How many turns of the agent have ended, and during how many a question was open, or a child or a command at work. */
export function countTurns(events: readonly ThreadEvent[]): { turns: number; heldTurns: number } {
  let [fold, turns, heldTurns, isHeld] = [emptyFold(), 0, 0, false];
  for (const event of events) {
    fold = foldEvent(fold, event);
    if (event.type === "turn_start") isHeld = false;
    const isCommand = fold.toolCalls.some(({ kind }) => kind === "execute");
    const open = fold.asks.length + fold.children.length + fold.backgroundTasks.length;
    isHeld ||= fold.turn !== null && (open > 0 || isCommand);
    if (event.type !== "turn_end") continue;
    turns++;
    if (isHeld) heldTurns++;
  }
  return { turns, heldTurns };
}
