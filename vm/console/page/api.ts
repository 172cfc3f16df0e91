/** The sidecar's HTTP API as the page uses it: with the session's secret, from the same origin. */
import * as z from "zod";
import type {
  AnswerRequest,
  AskReply,
  BlobReply,
  InboxItem,
  TranscriptReply,
} from "../../../shared/agent/api.ts";
import { type CreateRequest, errorReplySchema, type LastWords, type Thread } from "../../../shared/api.ts";
import type { SentBrowserOp } from "../../../shared/browser/ops.ts";
import type { BrowserState } from "../../../shared/browser/state.ts";
import type { ChannelRow } from "../../../shared/channel-api.ts";
import type { EngineState } from "../../../shared/engines-api.ts";
import { ERROR_STATUS } from "../../../shared/errors.ts";
import type { InputReply } from "../../../shared/input-api.ts";
import type { Job, JobRun } from "../../../shared/jobs/job.ts";
import type { PersonRow } from "../../../shared/people-api.ts";
import { agents } from "../../../shared/protocol/agents.ts";
import { asks } from "../../../shared/protocol/asks.ts";
import { browsers } from "../../../shared/protocol/browsers.ts";
import { channels } from "../../../shared/protocol/channels.ts";
import { controls } from "../../../shared/protocol/controls.ts";
import { engines } from "../../../shared/protocol/engines.ts";
import { inputs } from "../../../shared/protocol/inputs.ts";
import { jobs } from "../../../shared/protocol/jobs.ts";
import { people } from "../../../shared/protocol/people.ts";
import { rooms } from "../../../shared/protocol/rooms.ts";
import { type ParamsOf, pathOf, type ReadReply, type Route } from "../../../shared/protocol/route.ts";
import { sidecar } from "../../../shared/protocol/sidecar.ts";
import { threads } from "../../../shared/protocol/threads.ts";
import { bodyOf, readTextAtMost } from "../../../shared/read-at-most.ts";
import type { Room, RoomLine } from "../../../shared/rooms/api.ts";
import { isOfType, strangeWords } from "../../../shared/strange-answer.ts";
import { authorizationOf, findSecret, forgetSecret, keepSecret } from "./session.ts";

/** `status` 0: no sidecar answered. */
export class ApiError extends Error {
  readonly status: number;

  /** The sidecar did not do it for now, or nobody knows whether it did: the same may be tried again. */
  get isPassing(): boolean {
    return this.status === 0 || this.status >= 500;
  }

  constructor(status: number, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = "ApiError";
    this.status = status;
  }
}

/** Takes the token once; from then on the session's secret does. */
export async function signIn(token: string): Promise<void> {
  const schema = z.object({ secret: z.string() });
  keepSecret((await call("POST", "/console/session", schema, { authorization: `Bearer ${token}` })).secret);
}

export async function signOut(): Promise<void> {
  const secret = findSecret();
  try {
    await call("DELETE", "/console/session", z.undefined());
  } finally {
    forgetSecret(secret);
  }
}

export async function listThreads(status: "open" | "ended"): Promise<Thread[]> {
  return (await callRoute(threads.list, {}, { query: { status } })).threads;
}

export async function getThread(threadId: string): Promise<Thread> {
  return callRoute(threads.get, { id: threadId });
}

/** What the newest threads printed last, to search in. */
export async function listLastWords(): Promise<LastWords[]> {
  return (await callRoute(threads.listLastWords, {})).threads;
}

/** Who in Discord has a role, and what they are called. */
export async function listPeople(): Promise<PersonRow[]> {
  return (await callRoute(people.list, {})).people;
}

/** Those that the relay serves, the first one first. */
export async function listChannels(): Promise<ChannelRow[]> {
  return (await callRoute(channels.list, {})).channels;
}

/** Open asks, failures, and the turns that ended in the last day, over all agents. */
export async function listInbox(): Promise<InboxItem[]> {
  return (await callRoute(agents.listInbox, {})).items;
}

export async function listJobs(): Promise<Job[]> {
  return (await callRoute(jobs.list, {})).jobs;
}

/** The newest first. */
export async function listJobRuns(job: string, limit: number): Promise<JobRun[]> {
  return (await callRoute(jobs.listRuns, { job }, { query: { limit } })).runs;
}

/** Directories below `REPOS_DIR` whose paths begin so. */
export async function listDirs(prefix: string): Promise<string[]> {
  return (await callRoute(sidecar.listRepos, {}, { query: { prefix } })).repos.map(({ dir }) => dir);
}

/** The sidecar may have to ask each engine's program first. */
export async function listEngines(): Promise<EngineState[]> {
  return (await callRoute(engines.list, {}, { timeoutMs: SLOW_MS })).engines;
}

/** Finds what a browser shows; undefined while it starts. */
export async function findBrowserState(threadId: string): Promise<BrowserState | undefined> {
  try {
    return await callRoute(browsers.get, { id: threadId });
  } catch (error) {
    if (error instanceof ApiError && error.status === ERROR_STATUS.unavailable) return undefined;
    throw error;
  }
}

export async function actInBrowser(threadId: string, op: SentBrowserOp): Promise<BrowserState> {
  return callRoute(browsers.act, { id: threadId }, { body: op, timeoutMs: SLOW_MS });
}

/** The newest picture of a browser, a PNG; undefined if there is none. */
export async function findPicture(threadId: string): Promise<Blob | undefined> {
  const secret = findSecret();
  const response = await fetch(pathOf(browsers.picture, { id: threadId }), {
    cache: "no-store",
    signal: AbortSignal.timeout(TIMEOUT_MS),
    headers: secret === undefined ? {} : { authorization: authorizationOf(secret) },
  });
  return response.ok && isOfType(response.headers.get("content-type"), [browsers.picture.reply])
    ? response.blob()
    : undefined;
}

/** Who is in a room, who has the turn, what it has cost. */
export async function findRoom(threadId: string): Promise<Room> {
  return callRoute(rooms.get, { id: threadId });
}

/** The oldest first of those after a line. */
export async function listRoomLines(threadId: string, since: number): Promise<RoomLine[]> {
  return (await callRoute(rooms.lines, { id: threadId }, { query: { since } })).lines;
}

/** Ends the round, and interrupts whoever has the turn. */
export async function stopRoom(threadId: string): Promise<void> {
  await callRoute(rooms.stop, { id: threadId });
}

export async function createThread(wanted: CreateRequest): Promise<void> {
  await callRoute(threads.create, {}, { body: wanted, timeoutMs: SLOW_MS });
}

/** With the threads that it spawned. */
export async function endThread(threadId: string): Promise<void> {
  await callRoute(threads.kill, { id: threadId }, { body: {}, timeoutMs: SLOW_MS });
}

export interface TranscriptQuery {
  since: number;
  limit: number;
  waitMs?: number;
  /** What the caller knows: anything else is news. */
  status?: string;
  live?: string;
}

/** @param signal ends a request that waits. */
export async function readTranscript(
  threadId: string,
  { since, limit, waitMs = 0, status, live }: TranscriptQuery,
  signal?: AbortSignal,
): Promise<TranscriptReply> {
  const query = { since, limit, waitMs, status, live };
  const timeoutMs = TIMEOUT_MS + waitMs;
  return callRoute(agents.readTranscript, { id: threadId }, { query, timeoutMs, signal });
}

export async function listAsks(threadId: string): Promise<AskReply[]> {
  return (await callRoute(asks.list, { id: threadId })).asks;
}

export async function readBlob(threadId: string, sha256: string, since: number): Promise<BlobReply> {
  return callRoute(agents.readBlob, { id: threadId, sha256 }, { query: { since } });
}

export async function answerAsk(threadId: string, requestId: string, answer: AnswerRequest): Promise<void> {
  await callRoute(asks.answer, { id: threadId, requestId }, { body: answer });
}

export async function sendMessage(threadId: string, text: string, inputId: string): Promise<InputReply> {
  return callRoute(inputs.send, { id: threadId }, { body: { text, inputId } });
}

/** @param turnId of the turn that the person sees: another one is left alone. */
export async function stopTurn(threadId: string, turnId: string | undefined): Promise<void> {
  const body = turnId === undefined ? {} : { turnId };
  await callRoute(controls.interrupt, { id: threadId }, { body });
}

/** Puts back the files that a turn changed. */
export async function undoTurn(threadId: string, turnId: string): Promise<void> {
  await callRoute(controls.undo, { id: threadId }, { body: { turnId } });
}

export async function setMode(threadId: string, modeId: string): Promise<void> {
  await callRoute(controls.mode, { id: threadId }, { body: { modeId } });
}

export async function setModel(threadId: string, model: string): Promise<void> {
  await callRoute(controls.model, { id: threadId }, { body: { model } });
}

export async function setTitle(threadId: string, title: string): Promise<void> {
  await callRoute(threads.setTitle, { id: threadId }, { body: { title } });
}

/** After a pause or a failure. */
export async function goOn(threadId: string): Promise<void> {
  await callRoute(controls.resume, { id: threadId }, { body: {} });
}

const TIMEOUT_MS = 10_000;
/** As the client of Node takes it. What is longer comes from something between, and is no answer. */
const MAX_ANSWER_BYTES = 64 * 1024 * 1024;
/** How long a request that starts or ends programs may take. */
const SLOW_MS = 60_000;

interface CallOptions {
  /** Instead of the session's secret. */
  authorization?: string;
  body?: unknown;
  timeoutMs?: number;
  signal?: AbortSignal | undefined;
}

interface Query {
  query?: Readonly<Record<string, string | number | undefined>>;
}

/** Calls a route of the API by its definition. */
async function callRoute<const R extends Route>(
  route: R,
  params: ParamsOf<R>,
  { query = {}, ...options }: CallOptions & Query = {},
): Promise<ReadReply<R>> {
  const sent = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined) sent.set(name, String(value));
  const path = pathOf(route, params) + (sent.size > 0 ? `?${sent}` : "");
  const schema = typeof route.reply === "object" ? route.reply : z.undefined();
  return (await call(route.method.toUpperCase(), path, schema, options)) as ReadReply<R>;
}

async function call<S extends z.ZodType>(
  method: string,
  path: string,
  schema: S,
  { authorization, body, timeoutMs = TIMEOUT_MS, signal }: CallOptions = {},
): Promise<z.output<S>> {
  const secret = authorization === undefined ? findSecret() : undefined;
  const sent = authorization ?? (secret === undefined ? undefined : authorizationOf(secret));
  let response: Response;
  let text: string;
  try {
    response = await fetch(path, {
      method,
      cache: "no-store",
      signal: signal
        ? AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)])
        : AbortSignal.timeout(timeoutMs),
      headers: {
        ...(sent === undefined ? {} : { authorization: sent }),
        ...(body === undefined ? {} : { "content-type": "application/json" }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    text = (await readTextAtMost(bodyOf(response), MAX_ANSWER_BYTES)) ?? "(too long)";
  } catch (cause) {
    throw new ApiError(0, "The sidecar does not answer.", { cause });
  }
  const json = parseJson(text);
  if (response.ok && json === undefined && text !== "") {
    // A sign-in page, say: the same may be tried again once it is passed.
    const { status, headers } = response;
    const url = new URL(path, location.href).href;
    const contentType = headers.get("content-type") ?? undefined;
    throw new ApiError(0, strangeWords({ method, url, status, contentType, wanted: "JSON" }));
  }
  if (response.ok) return schema.parse(json);
  if (response.status === 401) forgetSecret(secret);
  const error = errorReplySchema.safeParse(json);
  throw new ApiError(
    response.status,
    error.success ? error.data.error : `The sidecar answered ${response.status}.`,
  );
}

export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // not JSON: the schemas say what is wrong with it
  }
}
