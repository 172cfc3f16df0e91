/** A job, as `job add` takes it from its options. */
import type { SidecarClient } from "../../shared/client.ts";
import { AppError } from "../../shared/errors.ts";
import type { JobRequest } from "../../shared/jobs/job.ts";
import { withTypedInputs, wordsOf } from "../agents/config.ts";
import { findThread } from "../find-thread.ts";

export interface AddOptions {
  when?: string;
  cron?: string;
  every?: string;
  at?: string;
  in?: string;
  on?: string;
  zone?: string;
  agent?: string;
  terminal?: string;
  command?: string;
  input?: string;
  dir: string;
  thread?: string;
  main?: string;
  discord?: boolean;
  as?: string;
  with?: string[];
  model?: string;
  engine?: string;
  mode?: string;
  worktree?: boolean;
  maxUsd?: string;
  maxSeconds?: string;
  maxCalls?: string;
  maxUsdPerDay?: string;
  check?: string;
  missed?: string;
  overlap?: string;
  idleOnly?: boolean;
  expires?: string;
  report?: string;
  heartbeat?: boolean;
  hours?: string;
}

/** The options by the names that the sidecar has for them; the longest one counts. */
const NAMES: readonly (readonly [field: string, option: string])[] = [
  ["when.cron", "--cron"],
  ["when.zone", "--zone"],
  ["when.at", "--at"],
  ["when.every", "--every"],
  ["when.threadId", "--on"],
  ["what.agent.directive", "--as"],
  ["what.agent.inputs", "--with"],
  ["what.agent.permissionMode", "--mode"],
  ["what.agent.engine", "--engine"],
  ["what.agent.model", "--model"],
  ["what.threadId", "--thread"],
  ["what.main", "--main"],
  ["what.prompt", "--agent"],
  ["what.text", "--input"],
  ["what.command", "--command"],
  ["what.dir", "--dir"],
  ["dir", "--dir"],
  ["limits.spendUsdPerDay", "--max-usd-per-day"],
  ["limits.spendUsd", "--max-usd"],
  ["limits.seconds", "--max-seconds"],
  ["limits.calls", "--max-calls"],
  ["check", "--check"],
  ["missed", "--missed"],
  ["overlap", "--overlap"],
  ["expiresAt", "--expires"],
  ["report", "--report"],
  ["heartbeat", "--heartbeat"],
  ["hours.from", "--hours"],
  ["hours.to", "--hours"],
  ["hours", "--hours"],
];

/** @throws AppError `invalid_request` naming the option */
export async function jobRequest(
  client: SidecarClient,
  name: string,
  options: AddOptions,
): Promise<JobRequest> {
  const { check, missed, overlap, idleOnly, expires, report, heartbeat, hours } = options;
  const when = whenOf(options);
  const what = await whatOf(client, options);
  if (!("prompt" in what) && (options.as !== undefined || options.with !== undefined))
    throw new AppError("invalid_request", `${options.as === undefined ? "--with" : "--as"}: is for --agent`);
  const request = {
    ...{ name, when, what },
    limits: limitsOf(options),
    ...(check !== undefined && { check }),
    ...(missed !== undefined && { missed }),
    ...(overlap !== undefined && { overlap }),
    ...(idleOnly && { idleOnly }),
    ...(report !== undefined && { report }),
    ...(heartbeat && { heartbeat: true }),
    ...(hours !== undefined && { hours: hoursOf(hours) }),
    ...(expires !== undefined && { expiresAt: expires }),
  };
  // The sidecar's schema says what may stand there, and its words name the field.
  return request as JobRequest;
}

/** What the sidecar says of a field, said of the option that stands for it. */
export async function nameOptions<T>(reply: Promise<T>, options: AddOptions): Promise<T> {
  try {
    return await reply;
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    const names = [...NAMES, ...timesIn(options).map(([option]) => ["when", `--${option}`] as const)];
    const named = names.find(
      ([field]) => error.message.startsWith(field) && /^[.:]/.test(error.message.slice(field.length)),
    );
    if (!named) throw error;
    const [field, option] = named;
    throw new AppError(error.code, `${option}${error.message.slice(field.length)}`, { cause: error });
  }
}

/** `08:00-22:00` */
function hoursOf(text: string): { from: string; to: string } {
  const [from = "", to = ""] = text.split("-", 2);
  return { from, to };
}

/** The options that say when it is due, with what they say. */
function timesIn({ when, cron, every, at, in: later, on }: AddOptions): [option: string, value: string][] {
  return Object.entries({ when, cron, every, at, in: later, on }).filter(
    (given): given is [string, string] => given[1] !== undefined,
  );
}

function whenOf(options: AddOptions): JobRequest["when"] {
  const given = timesIn(options);
  const [[kind = "", value = ""] = []] = given;
  if (given.length !== 1) {
    const said = given.length === 0 ? "missing" : "take one of them";
    throw new AppError(
      "invalid_request",
      `--when, --cron, --every, --at, --in, --on: ${said}; when is it due?`,
    );
  }
  const named = options.zone === undefined ? {} : { zone: options.zone };
  if (kind === "cron") return { type: "cron", cron: value, ...named };
  return { type: "words", words: kind === "when" ? value : `${kind} ${value}`, ...named };
}

async function whatOf(client: SidecarClient, options: AddOptions): Promise<JobRequest["what"]> {
  const { agent, terminal, command, input, dir, thread, main, discord } = options;
  const given = [agent, terminal, command, input].filter((value) => value !== undefined);
  if (given.length !== 1) {
    const said = given.length === 0 ? "missing" : "take one of them";
    throw new AppError(
      "invalid_request",
      `--agent, --terminal, --command, --input: ${said}; what does it start?`,
    );
  }
  const home = discord ? { home: "discord" as const } : {};
  if (main !== undefined && input === undefined)
    throw new AppError("invalid_request", "--main: is for --input");
  if (agent !== undefined) return agentOf(client, agent, options, home);
  if (thread !== undefined && input === undefined)
    throw new AppError("invalid_request", "--thread: is for --input, and for --agent");
  if (terminal !== undefined) return { type: "terminal", dir, command: terminal, ...home };
  if (command !== undefined) return { type: "command", dir, command };
  if (main !== undefined && thread === undefined) return { type: "input", main, text: input ?? "" };
  if (thread !== undefined && main !== undefined)
    throw new AppError("invalid_request", "--thread, --main: take one of them; --input goes into which one?");
  if (thread === undefined)
    throw new AppError(
      "invalid_request",
      "--thread: missing; --input goes into which one? Or --main, an agent",
    );
  const { threadId } = await findThread(client, thread);
  return { type: "input", threadId, text: input ?? "" };
}

async function agentOf(
  client: SidecarClient,
  prompt: string,
  options: AddOptions,
  home: { home?: "discord" },
): Promise<JobRequest["what"]> {
  const { dir, thread, as, with: words, model, engine, mode, worktree } = options;
  if (thread !== undefined && thread !== "one" && thread !== "each")
    throw new AppError("invalid_request", "--thread: of an agent, one or each; --input goes into a thread");
  const made = {
    ...(as !== undefined && { directive: as }),
    ...(words !== undefined && { inputs: wordsOf(words, "--with") }),
  };
  const agent = {
    ...(await withTypedInputs(client, dir, made)),
    ...(model !== undefined && { model }),
    ...(engine !== undefined && { engine }),
    ...(mode !== undefined && { permissionMode: mode }),
    ...(worktree && { workspace: "worktree" }),
  };
  const named = Object.keys(agent).length === 0 ? {} : { agent };
  const request = { type: "agent", dir, prompt, ...(thread && { thread }), ...named, ...home };
  return request as JobRequest["what"];
}

function limitsOf({
  maxUsd,
  maxSeconds,
  maxCalls,
  maxUsdPerDay,
}: AddOptions): NonNullable<JobRequest["limits"]> {
  const number = (option: string, text: string): number | null => {
    if (text === "none") return null;
    if (!/^\d+(\.\d+)?$/.test(text))
      throw new AppError("invalid_request", `${option}: must be a number, or none`);
    return Number(text);
  };
  return {
    ...(maxUsd !== undefined && { spendUsd: number("--max-usd", maxUsd) }),
    ...(maxSeconds !== undefined && { seconds: number("--max-seconds", maxSeconds) }),
    ...(maxCalls !== undefined && { calls: number("--max-calls", maxCalls) }),
    ...(maxUsdPerDay !== undefined && { spendUsdPerDay: number("--max-usd-per-day", maxUsdPerDay) }),
  };
}
