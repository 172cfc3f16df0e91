/** What callers ask of agent threads, as the lines and files that a runner reads. Pure. */
import type { AmendRequest, AnswerRequest, AskReply, ControlRequest } from "../../shared/agent/api.ts";
import type { AgentConfig, ThreadConfig } from "../../shared/agent/config.ts";
import { ENGINES } from "../../shared/agent/engines/engines.ts";
import type { InboxLine, OpLine } from "../../shared/agent/inbox.ts";
import type { InitialMessage } from "../../shared/agent/initial-messages.ts";
import type { HoldReason } from "../../shared/agent/message-fields.ts";
import { unaskedTools } from "../../shared/agent/tools-of-ours.ts";
import type { Block } from "../../shared/agent/values.ts";
import { AppError } from "../../shared/errors.ts";
import { formatCount } from "../../shared/format-count.ts";
import type { ThreadId } from "../../shared/ids.ts";
import { job, type Principal, printPrincipal } from "../../shared/principal.ts";
import type { Launch } from "./launch.ts";
import { MCP_SERVER } from "./mcp-files.ts";
import type { Place } from "./sources.ts";

/** A message lies in a file, so only the inbox's reader bounds it. */
const MAX_MESSAGE_BYTES = 512 * 1024;

export function threadConfig(
  thread: { threadId: ThreadId; path: string; createdBy: Principal; createdAt: number },
  {
    number,
    agent,
    launch,
    timeouts,
    origin,
    taken,
    mcpConfigFile,
  }: {
    number: number;
    agent: Omit<AgentConfig, "engine">;
    launch: Launch;
    timeouts: ThreadConfig["timeouts"];
    origin?: ThreadConfig["origin"];
    taken?: ThreadConfig["taken"];
    /** Where the engine finds the thread's own tools. */
    mcpConfigFile?: string;
  },
): ThreadConfig {
  const { engine, program, args } = launch;
  const hasTools = ENGINES[engine].capabilities.tools && mcpConfigFile !== undefined;
  return {
    v: 1,
    threadId: thread.threadId,
    number,
    createdBy: printPrincipal(thread.createdBy),
    createdAt: new Date(thread.createdAt).toISOString(),
    dir: thread.path,
    agent: { ...agent, engine },
    launch: {
      program,
      args: [...args],
      allowedTools: hasTools ? unaskedTools(MCP_SERVER) : [],
      ...(hasTools && { mcpConfigFile }),
    },
    timeouts,
    ...(origin === undefined ? {} : { origin }),
    ...(taken === undefined ? {} : { taken }),
  };
}

interface Beginning {
  /** The messages of a conversation that was held elsewhere. */
  initialMessages?: readonly InitialMessage[] | undefined;
  /** What of the thread's directive is not honoured. */
  notes?: readonly string[];
}

/** What comes before the first message. */
export function beginningLines({ initialMessages = [], notes = [] }: Beginning, now: number): InboxLine[] {
  const ts = at(now);
  const lines: InboxLine[] = initialMessages.map((message) => ({
    ts,
    op: "event",
    event: { type: "initial_message", ...message },
  }));
  if (notes.length === 0) return lines;
  const title = "Not all of the directive is honoured";
  const event = { type: "notice", severity: "info", title, description: notes.join("\n") } as const;
  return [...lines, { ts, op: "event", event }];
}

export function messageLine(
  text: string,
  more: {
    messageId: string;
    by: Principal;
    when?: "now" | "next_turn" | undefined;
    plain?: boolean | undefined;
    /** Attachments. */
    files?: readonly Block[];
    /** How many agents a child's first message has come through. */
    hops?: number | undefined;
    /** The jobs that led to it. */
    causes?: readonly string[] | undefined;
    held?: HoldReason | undefined;
    place?: Place | undefined;
  },
  now: number,
): InboxLine {
  const { messageId, by, when, plain, files = [], hops, causes = [], held, place } = more;
  const content = contentOf(text, files);
  const line = { ts: at(now), op: "message" as const, messageId, source: printPrincipal(by), content };
  return {
    ...line,
    ...(when !== undefined && { when }),
    ...(plain && { plain }),
    ...(hops !== undefined && { hops }),
    ...(causes.length > 0 && { causes: [...causes] }),
    ...(held && { held }),
    ...place,
  };
}

/** @throws AppError `invalid_request` naming the field that does not fit the ask. */
export function answerLine(
  ask: AskReply,
  answer: AnswerRequest,
  principal: Principal,
  now: number,
): InboxLine {
  const { requestId, request } = ask;
  const by = printPrincipal(principal);
  if (request.type === "permission_request") {
    if (!("optionId" in answer)) throw invalid("optionId: is needed, this ask is about a permission.");
    const { optionId, message } = answer;
    if (!request.options.some((option) => option.optionId === optionId)) {
      const known = request.options.map((option) => option.optionId).join(", ");
      throw invalid(`optionId: must be one of ${known}.`);
    }
    return {
      ts: at(now),
      op: "permission",
      requestId,
      optionId,
      by,
      ...(message === undefined ? {} : { message }),
    };
  }
  if (!("action" in answer)) throw invalid("action: is needed, this ask is a question.");
  const { action, content } = answer;
  if (action === "accept") {
    const questions = request.questions.map(({ question }) => question);
    const unknown = Object.keys(content ?? {}).find((question) => !questions.includes(question));
    if (unknown !== undefined)
      throw invalid(`content: ${JSON.stringify(unknown)} is no question of this ask.`);
    if (Object.keys(content ?? {}).length === 0) throw invalid("content: must answer at least one question.");
  }
  return {
    ts: at(now),
    op: "elicitation",
    requestId,
    action,
    by,
    ...(content === undefined ? {} : { content }),
  };
}

export function controlLine(request: ControlRequest, principal: Principal, now: number): OpLine {
  const line = { ts: at(now), by: printPrincipal(principal) };
  if (request.control === "resume") return { ...line, op: "resume" };
  const { control: op, ...fields } = request;
  return { ...line, op, ...fields } as OpLine;
}

/** @param by who ends the thread; the sidecar itself, if it was killed after it was told and no longer knows by whom */
export function killLine(now: number, by: Principal = job("kill")): OpLine {
  return { ts: at(now), op: "kill", by: printPrincipal(by) };
}

/** A `text` that is null takes the message back. @param files of the message, which stay */
export function amendLine(
  messageId: string,
  { text, plain }: AmendRequest,
  { by, files }: { by: Principal; files: readonly Block[] },
  now: number,
): InboxLine {
  const line = { ts: at(now), messageId, by: printPrincipal(by) };
  return text === null
    ? { ...line, op: "withdraw" }
    : { ...line, op: "edit", content: contentOf(text, files), ...(plain && { plain }) };
}

/** A message may be its files alone. */
function contentOf(text: string, files: readonly Block[]): Block[] {
  const isEmpty = text.trim() === "" && files.length > 0;
  return [...(isEmpty ? [] : [{ type: "text" as const, text }]), ...files];
}

/** @throws AppError `invalid_request`, `too_large` */
export function checkMessage(text: string, files: readonly Block[] = []): void {
  if (text.trim() === "" && files.length === 0)
    throw new AppError("invalid_request", "text: must not be empty for an agent.");
  if (Buffer.byteLength(text) > MAX_MESSAGE_BYTES) {
    const limit = formatCount(MAX_MESSAGE_BYTES);
    throw new AppError("too_large", `text: an agent's message may have at most ${limit} bytes.`);
  }
}

function at(now: number): string {
  return new Date(now).toISOString();
}

function invalid(message: string): AppError {
  return new AppError("invalid_request", message);
}
