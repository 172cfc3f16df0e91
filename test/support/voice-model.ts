/**
 * The scripted model of a channel's agent under faults: it answers by the tool, forgets, answers twice, answers a wrong
 * address, thinks aloud, asks people, spawns children and runs long commands. Its next answer follows from the
 * conversation alone.
 */
import { join } from "node:path";
import type { Call, Round } from "../../agent/engines/demo/script.ts";
import type { ApiMessage } from "../agents/model.ts";

/** A message has its kind in its text; the right end of each is known before it is sent. */
export const KINDS = [
  ...(["answer", "twice", "wrong", "aloud", "late", "forget", "done", "all"] as const),
  ...(["ask", "spawn", "slow"] as const),
] as const;
/** `told`: it is no person's, so that nobody waits for an answer. */
export type Kind = (typeof KINDS)[number] | "told";
/** Kinds after which something stays open: a question to people, a child, a command. */
export const HOLDERS = ["ask", "spawn", "slow"] as const satisfies readonly Kind[];
export type Holder = (typeof HOLDERS)[number];
export const isHolder = (kind: Kind): kind is Holder => HOLDERS.some((one) => one === kind);

/** Stands in all that the model writes for itself. */
export const PRIVATE = "PRIVATE-WORDS";
/** A call of `bash` waits so long for its command, which goes on in the background then. */
const FOREGROUND_EVERY = 6;
/** Delays answers, so that a kill often comes in the middle of a turn. */
const THINKS_MS = 60;
const TOOL = "mcp__threadmux__";

export const nameOf = (n: number) => `n${n}n`;
export const answerOf = (n: number) => `Answer to ${nameOf(n)}.`;
export const moreOf = (n: number) => `More for ${nameOf(n)}.`;
export const endOf = (n: number) => `The child of ${nameOf(n)} is back.`;
export const nothingFor = (n: number) => `${PRIVATE}: nothing for ${nameOf(n)}`;
/** Once this file is there, what {@link HOLDERS} keep open ends. */
export const goFile = (folder: string, n: number) => join(folder, `${nameOf(n)}.go`);

interface Heard {
  n: number;
  kind: Kind;
  address: string;
  isReminded: boolean;
}

interface Done {
  name: string;
  text: string;
  /** Undefined while the call has no result. */
  result: string | undefined;
  isError: boolean;
}

/** All that the conversation holds, by the message's number. */
interface Talk {
  heard: Heard[];
  done: Map<number, Done[]>;
  /** How often a person has allowed a call that was put aside. */
  allowed: Map<number, number>;
  ended: Set<number>;
}

export interface ModelScript {
  /** The files that end what is kept open. */
  folder: string;
  /** Some commands are waited for until they go on in the background by themselves, after a minute. */
  hasForeground: boolean;
}

export function chaoticModel(script: ModelScript): (messages: readonly ApiMessage[]) => Round {
  return (messages) => {
    const work = childWork(messages);
    if (work) return { text: `Child of ${work.name} ended.`, waitFor: work.file };
    const talk = read(messages);
    for (const one of talk.heard) {
      const round = nextFor(one, talk, script);
      if (round) return { delayMs: THINKS_MS, thinking: `${PRIVATE} thought`, ...round };
    }
    return { text: `${PRIVATE}: nothing is left.`, delayMs: THINKS_MS };
  };
}

function blocksOf({ content }: ApiMessage): { type: string; text?: string; [field: string]: unknown }[] {
  return typeof content === "string" ? [{ type: "text", text: content }] : content;
}

function childWork(messages: readonly ApiMessage[]): { name: string; file: string } | undefined {
  for (const message of messages.slice(0, 3)) {
    const text = message.role === "assistant" ? "" : JSON.stringify(message.content);
    const [, name, file] = /Work for (n\d+n) until (\/[\w./-]+\.go)/.exec(text) ?? [];
    if (name !== undefined && file !== undefined) return { name, file };
  }
  return undefined;
}

function read(messages: readonly ApiMessage[]): Talk {
  const talk: Talk = { heard: [], done: new Map(), allowed: new Map(), ended: new Set() };
  const calls = new Map<string, Done>();
  for (const message of messages)
    for (const block of blocksOf(message)) {
      const { type, text = "" } = block;
      if (message.role === "assistant") {
        if (type === "tool_use") beginCall(talk, calls, block as unknown as Call & { id: string });
      } else if (type === "text") hear(text, talk);
      else if (type === "tool_result") endCall(calls, block);
    }
  return talk;
}

function beginCall({ done }: Talk, calls: Map<string, Done>, { id, name, input }: Call & { id: string }) {
  const text = JSON.stringify(input);
  const n = Number(/n(\d+)n/.exec(text)?.[1]);
  const begun: Done = { name, text, result: undefined, isError: false };
  calls.set(id, begun);
  done.set(n, [...(done.get(n) ?? []), begun]);
}

function endCall(calls: Map<string, Done>, block: Record<string, unknown>): void {
  const call = calls.get(String(block["tool_use_id"]));
  if (!call) return;
  call.result = JSON.stringify(block["content"] ?? "");
  call.isError = Boolean(block["is_error"]);
}

function hear(text: string, { heard, allowed, ended }: Talk): void {
  if (text.includes("have no answer yet")) for (const one of heard) one.isReminded = true;
  for (const [, n] of text.matchAll(/is allowed now: .*?n(\d+)n/g))
    allowed.set(Number(n), (allowed.get(Number(n)) ?? 0) + 1);
  for (const [, n] of text.matchAll(/^Child of n(\d+)n ended/gm)) ended.add(Number(n));
  for (const [, address = "", n, kind] of text.matchAll(/(?:\[(\S+) \d\d:\d\d\] |^)n(\d+)n (\w+)/gm))
    heard.push({ n: Number(n), kind: kind as Kind, address, isReminded: false });
}

const call = (name: string, input: Record<string, unknown>): Call => ({ name: `${TOOL}${name}`, input });

function nextFor(one: Heard, talk: Talk, script: ModelScript): Round | undefined {
  const { n, kind, address, isReminded } = one;
  const done = talk.done.get(n) ?? [];
  const tried = (what: string) => done.filter(({ text }) => text.includes(what));
  const isTaken = ({ result = "", isError }: Done) => !isError && /Queued as|Noted/.test(result);
  const isDone = (what: string) => tried(what).some(isTaken);
  // A call that found nobody is made again a moment later, as a model would.
  const after = (what: string) => (tried(what).length > 0 ? { delayMs: 150 } : {});
  const say = (content: string, to = address): Round | undefined =>
    isDone(content) ? undefined : { tools: [call("message", { to, content })], ...after(content) };
  switch (kind) {
    case "told":
    case "forget":
      return undefined;
    case "late":
      return isReminded ? say(answerOf(n)) : undefined;
    case "done": {
      const why = nothingFor(n);
      return isDone(why) ? undefined : { tools: [call("done", { why })], ...after(why) };
    }
    case "wrong": {
      const wrong = `Wrong for ${nameOf(n)}.`;
      const to = "discord:#nowhere/you";
      return tried(wrong).length === 0
        ? { tools: [call("message", { to, content: wrong })] }
        : say(answerOf(n));
    }
    case "twice": {
      if (isDone(answerOf(n)) && isDone(moreOf(n))) return undefined;
      const [answer, more] = [answerOf(n), moreOf(n)].map((content) =>
        call("message", { to: address, content }),
      );
      return { tools: [answer, answer, more].flatMap((one) => one ?? []), ...after(answerOf(n)) };
    }
    case "all":
      return say(answerOf(n), address.replace(/\/.*/, ""));
    case "aloud": {
      const round = say(answerOf(n));
      return round && { ...round, text: `${PRIVATE} about ${nameOf(n)}` };
    }
    case "answer":
      return say(answerOf(n));
    case "ask":
    case "slow":
      return nextCommand(one, talk, script) ?? say(answerOf(n));
    case "spawn": {
      const isSpawned = done.some(({ name }) => name.endsWith("spawn_thread"));
      const prompt = `Work for ${nameOf(n)} until ${goFile(script.folder, n)}`;
      if (!isSpawned) return { tools: [call("spawn_thread", { prompt, mode: "async" })] };
      return say(answerOf(n)) ?? (talk.ended.has(n) ? say(endOf(n)) : undefined);
    }
  }
}

/** A call that was put aside is made again once a person has allowed it. One that was cut off is not. */
function nextCommand({ n, kind }: Heard, { done, allowed }: Talk, script: ModelScript): Round | undefined {
  const tries = (done.get(n) ?? []).filter(({ name }) => name === "bash");
  const aside = tries.filter(({ result = "" }) => result.includes("Not run: a person is asked")).length;
  if (tries.length > aside || aside > (allowed.get(n) ?? 0)) return undefined;
  const isForeground = script.hasForeground && n % FOREGROUND_EVERY === 0;
  const waits = isForeground ? { timeout_seconds: 600 } : { background: true };
  const wait = `until [ -e ${goFile(script.folder, n)} ]; do sleep 0.2; done`;
  const input = kind === "ask" ? { command: `echo ${nameOf(n)} >> effects` } : { command: wait, ...waits };
  return { tools: [{ name: "bash", input }] };
}
