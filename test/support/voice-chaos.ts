/**
 * A channel's agent before a scripted model that answers, forgets, answers twice or to a wrong address, and thinks aloud,
 * while runner, sidecar and relay are killed; and what must be true at the end.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { Call, Round } from "../../agent/engines/demo/script.ts";
import type { FaultRequest } from "../../local-discord/faults.ts";
import type { LocalDiscord } from "../../local-discord/run.ts";
import type { SeenMessage } from "../../local-discord/seen.ts";
import { UNANSWERED } from "../../shared/voice-api.ts";
import { VoiceClient } from "../../shared/voice-client.ts";
import type { ApiMessage } from "../agents/model.ts";
import { engineOf, folderOf, runnersOf } from "./agent-siege.ts";
import { signal } from "./processes.ts";
import type { RelayProcess } from "./relay-process.ts";
import type { SpawnedSidecar } from "./sidecar.ts";
import { until } from "./wait.ts";

/** Ends of messages as their names have it: the person who writes it, and the kind, say which one is right. */
export const KINDS = ["answer", "twice", "wrong", "aloud", "late", "forget", "done", "told"] as const;
type Kind = (typeof KINDS)[number];
/** `done` settles all that was read, so a message that is to be forgotten is not written while it may be called. */
const BURSTS: readonly (readonly Kind[])[] = [
  ["answer", "twice", "wrong", "aloud", "late", "forget", "told"],
  ["answer", "twice", "wrong", "aloud", "done", "told"],
];

/** Stands in all that the model writes for itself. */
const PRIVATE = "PRIVATE-WORDS";
/** Delays answers, so that a kill often comes in the middle of a turn. */
const THINKS_MS = 60;
const TOOL = "mcp__threadmux__";
const nameOf = (n: number) => `n${n}n`;
const nothingFor = (n: number) => `nothing for ${nameOf(n)}`;
const answerOf = (n: number) => `Answer to ${nameOf(n)}.`;

interface Heard {
  n: number;
  kind: Kind;
  address: string;
  isReminded: boolean;
}

/** The scripted model: its next answer follows from the conversation alone. */
export function chaoticModel(messages: readonly ApiMessage[]): Round {
  const heard: Heard[] = [];
  const calls = new Map<string, Call>();
  const errors = new Map<string, string>();
  for (const { role, content } of messages) {
    const blocks = typeof content === "string" ? [{ type: "text", text: content }] : content;
    for (const block of blocks) {
      const { type, text = "" } = block;
      if (role === "assistant" && type === "tool_use")
        calls.set(String(block["id"]), block as unknown as Call);
      if (role !== "assistant" && type === "text") hear(text, heard);
      const wrong =
        type === "tool_result" && (block["is_error"] || !/Queued as|Noted/.test(JSON.stringify(block)));
      if (wrong) errors.set(String(block["tool_use_id"]), JSON.stringify(block["content"]));
    }
  }
  const done = [...calls].map(([id, call]) => ({ text: JSON.stringify(call.input), error: errors.get(id) }));
  for (const one of heard) {
    const round = nextFor(one, done);
    if (round) return { delayMs: THINKS_MS, ...round };
  }
  return { text: `${PRIVATE}: nothing is left.`, delayMs: THINKS_MS };
}

function hear(text: string, heard: Heard[]): void {
  if (text.includes("have no answer yet")) for (const one of heard) one.isReminded = true;
  for (const [, address = "", n, kind] of text.matchAll(/\[(\S+) \d\d:\d\d\] n(\d+)n (\w+)/g))
    heard.push({ n: Number(n), kind: kind as Kind, address, isReminded: false });
}

type Done = { text: string; error: string | undefined };

function nextFor({ n, kind, address, isReminded }: Heard, done: readonly Done[]): Round | undefined {
  const isDone = (what: string) => done.some(({ text, error }) => text.includes(what) && error === undefined);
  const tried = (what: string) => done.filter(({ text }) => text.includes(what)).length;
  const call = (name: string, input: Record<string, unknown>): Call => ({ name: `${TOOL}${name}`, input });
  const answer = call("message", { to: address, content: answerOf(n) });
  // A call that found nobody is made again a moment later, as a model would.
  const after = (what: string) => (tried(what) > 0 ? { delayMs: 150 } : {});
  if (kind === "forget" || kind === "told" || (kind === "late" && !isReminded)) return undefined;
  if (kind === "done") {
    const why = nothingFor(n);
    return isDone(why) ? undefined : { tools: [call("done", { why })], ...after(why) };
  }
  if (isDone(answerOf(n))) return undefined;
  const wrong = `Wrong for ${nameOf(n)}.`;
  if (kind === "wrong" && tried(wrong) === 0)
    return { tools: [call("message", { to: "discord:#nowhere/you", content: wrong })] };
  if (kind === "twice") return { tools: [answer, answer], ...after(answerOf(n)) };
  const aloud = kind === "aloud" ? { text: `${PRIVATE} about ${nameOf(n)}` } : {};
  return { ...aloud, tools: [answer], ...after(answerOf(n)) };
}

export type VoiceVictim = "runner" | "engine" | "sidecar" | "relay";

export interface VoiceChaosOptions {
  sidecar: SpawnedSidecar;
  relay: RelayProcess;
  discord: LocalDiscord;
  channels: readonly string[];
  inputs: number;
  kills: readonly VoiceVictim[];
  random: () => number;
  /** The newest request's messages that the model got. */
  context: () => string;
}

interface Sent {
  n: number;
  kind: Kind;
  /** The channel in Discord; undefined if it was not written there. */
  message?: SeenMessage;
}

export class VoiceChaos {
  readonly #options: VoiceChaosOptions;
  readonly sent: Sent[] = [];
  /** All that the bot sent to Discord. */
  readonly requests: string[] = [];
  #threadId = "";

  constructor(options: VoiceChaosOptions) {
    this.#options = options;
    options.discord.driver.faults.rest = ({ method, path, body }: FaultRequest) => {
      this.requests.push(`${method} ${path} ${JSON.stringify(body)}`);
      return undefined;
    };
  }

  /** The agent is made by the first message. */
  async begin(findMain: () => Promise<string>): Promise<void> {
    this.#write("answer");
    await until("the first answer", () => this.#answers(0).length > 0, { timeoutMs: 60_000 });
    this.#threadId = await findMain();
  }

  async run(): Promise<void> {
    const { inputs, kills, random } = this.#options;
    const left = [...kills];
    const every = Math.floor(inputs / (kills.length + 1));
    for (let burst = 0; this.sent.length < inputs; burst++) {
      const kinds = BURSTS[burst % BURSTS.length] ?? [];
      const until = Math.min(inputs, this.sent.length + 4 + Math.floor(random() * 5));
      while (this.sent.length < until) {
        await this.#send(kinds[Math.floor(random() * kinds.length)] ?? "answer");
        await sleep(random() < 0.5 ? 0 : random() * 250);
        if (left.length > 0 && this.sent.length % every === 0) await this.#kill(left.shift() ?? "relay");
      }
      await this.#settle();
    }
  }

  /** A line for each thing that is not as the script names it. */
  findFaults(): string[] {
    const { context } = this.#options;
    const heard = context();
    const faults = this.sent.flatMap((sent) => {
      const times = heard.split(`${nameOf(sent.n)} ${sent.kind}`).length - 1;
      return [
        ...this.#faultsOf(sent),
        ...(times === 1 ? [] : [`${nameOf(sent.n)} was heard ${times} times`]),
      ];
    });
    const leaked = this.requests.filter((request) => request.includes(PRIVATE));
    return [...faults, ...leaked.map((request) => `private text in ${request.slice(0, 300)}`)];
  }

  #faultsOf({ n, kind, message }: Sent): string[] {
    const answers = this.#answers(n);
    const name = `${nameOf(n)} ${kind}`;
    if (!message) return answers.length === 0 ? [] : [`${name} was answered in Discord`];
    const isAnswered = kind !== "forget" && kind !== "done";
    const lines = this.#below(message.id).filter(({ content }) => content === UNANSWERED).length;
    const faults: string[] = [];
    if (answers.length !== (isAnswered ? 1 : 0)) faults.push(`${name} has ${answers.length} answers`);
    if (lines !== (kind === "forget" ? 1 : 0)) faults.push(`${name} is said to be unanswered ${lines} times`);
    for (const answer of answers) {
      const to = answer.replyTo?.author;
      if (answer.channelId !== message.channelId) faults.push(`${name} was answered in another channel`);
      if (to !== message.author.name) faults.push(`${name} was answered below ${to}`);
    }
    return faults;
  }

  /** Nothing waits: all was read, settled and said. */
  async #settle(): Promise<void> {
    const { sidecar } = this.#options;
    const isSettled = async () => {
      const { messages } = await new VoiceClient(sidecar.client).listSpoken();
      const { status, waiting } = await sidecar.client.getThread(this.#threadId);
      return messages.length === 0 && status === "idle" && waiting === 0 && this.#isSeen();
    };
    await until("all to be settled", isSettled, { timeoutMs: 60_000 }).catch((cause: unknown) => {
      throw new Error(`it does not settle: ${this.findFaults().join("; ")}`, { cause });
    });
  }

  /** The model has heard each message and was asked again after each `done`, and the last word is in Discord. */
  #isSeen(): boolean {
    const heard = this.#options.context();
    return this.sent.every((sent) => {
      const word = sent.kind === "done" ? nothingFor(sent.n) : nameOf(sent.n);
      return heard.includes(word) && this.#faultsOf(sent).length === 0;
    });
  }

  async #send(kind: Kind): Promise<void> {
    if (kind !== "told") return this.#write(kind);
    const n = this.sent.length;
    this.sent.push({ n, kind });
    const input = { text: `${nameOf(n)} ${kind}`, inputId: nameOf(n) };
    await this.#options.sidecar.client.sendInput(this.#threadId, input);
  }

  /** Each kind has a person of its own, whom no other kind's answer settles. */
  #write(kind: Kind): void {
    const { discord, channels, random } = this.#options;
    const n = this.sent.length;
    const person = discord.users.find(({ name }) => name === kind)?.id ?? "";
    const channel = channels[Math.floor(random() * channels.length)] ?? "";
    const message = discord.driver.post(person, channel, `${nameOf(n)} ${kind}`);
    this.sent.push({ n, kind, message });
  }

  async #kill(victim: VoiceVictim): Promise<void> {
    const { sidecar, relay } = this.#options;
    const folder = folderOf(sidecar, this.#threadId);
    if (victim === "runner") {
      for (const pid of runnersOf(folder)) signal(pid, "SIGKILL");
    } else if (victim === "engine") {
      const pid = engineOf(folder, "engines/own");
      if (pid !== undefined) signal(pid, "SIGKILL");
    } else if (victim === "sidecar") {
      await sidecar.kill9();
      await sidecar.start();
    } else {
      await relay.kill9();
      relay.start();
      await relay.untilReady();
    }
  }

  #answers(n: number): SeenMessage[] {
    return this.#said().filter(({ content }) => content === answerOf(n));
  }

  #below(id: string): SeenMessage[] {
    return this.#said().filter(({ replyTo }) => replyTo?.id === id);
  }

  #said(): SeenMessage[] {
    const { discord, channels } = this.#options;
    return channels.flatMap((id) => discord.driver.messages(id)).filter(({ author }) => author.isBot);
  }
}
