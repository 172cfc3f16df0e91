/** An ask for a person at a terminal: all that is needed to decide. Pure. */
import type { AskReply } from "../../shared/agent/api.ts";
import { cleanLine, cleanLines } from "../../shared/clean-text.ts";

/** Of a command, a diff or a plan; the rest is counted. */
export const MAX_DETAIL_LINES = 60;

type Request = AskReply["request"];
type Question = Extract<Request, { type: "elicitation_request" }>["questions"][number];

export interface AskTextOptions {
  /** What names the thread in a command, fit for a shell. */
  thread: string;
  /** Of a command, a diff or a plan. */
  maxLines: number;
  /** Whether the thread has other open asks, so that this one must be named. */
  isOneOfMany: boolean;
}

/** Its lines: what is asked, what it is about, the choices, and how to answer from here. */
export function askLines(
  { request, call }: Pick<AskReply, "request" | "call">,
  options: AskTextOptions,
): string[] {
  const { thread, isOneOfMany, maxLines } = options;
  const flag = isOneOfMany ? ` --ask ${shortId(request.requestId)}` : "";
  if (request.type === "elicitation_request") {
    const many = request.questions.length > 1;
    return [
      ...request.questions.flatMap((question, i) => questionLines(question, many ? i + 1 : undefined)),
      `  → threadmux answer${flag} ${thread} ${request.questions.map(() => "<number or text>").join(" ")}`,
    ];
  }
  const title = request.plan === undefined ? `May it? ${cleanLine(request.title)}` : "A plan to approve:";
  const detail = clipLines(permissionDetail(request, call), maxLines);
  const always = request.options.find(({ kind }) => kind === "allow_always");
  const once = request.options.find(({ kind }) => kind === "allow_once");
  const approve = (option: string, name: string) => `  → threadmux approve${option}${flag} ${thread}${name}`;
  const forAlways = always && `    (${cleanLine(always.name)})`;
  return [
    `? ${title}`,
    ...detail.map((line) => `    ${line}`),
    ...wholeSize(call),
    ...(once ? [approve("", "")] : []),
    ...(forAlways ? [approve(request.trust ? "" : " --always", forAlways)] : []),
    `  → threadmux deny${flag} ${thread} --because "…"`,
  ];
}

/** So much of a request's id as people need to name it among a thread's. */
export function shortId(requestId: string): string {
  return cleanLine(requestId).slice(0, 8);
}

function questionLines({ question, multiSelect, options }: Question, number: number | undefined): string[] {
  const label = number === undefined ? "" : `${number}. `;
  return [
    `? ${label}${cleanLine(question)}${multiSelect ? " (several: 1,2)" : ""}`,
    ...options.map(({ label, description }, i) => {
      const more = description === undefined ? "" : `: ${cleanLine(description)}`;
      return `    ${i + 1}  ${cleanLine(label)}${more}`;
    }),
  ];
}

function permissionDetail(
  request: Extract<Request, { type: "permission_request" }>,
  call: AskReply["call"],
): string[] {
  if (request.plan !== undefined) return toLines(request.plan);
  if (request.trust) return toLines(request.description ?? "");
  const detail = callDetail(call ? call.rawInput : parsed(request.input));
  const description = cleanLine(request.description ?? "");
  return description === "" || detail.includes(description) ? detail : [...detail, description];
}

/** The part of a call's input that decides: the command, the change, the text; all of it for other tools. */
function callDetail(rawInput: unknown): string[] {
  const input = isRecord(rawInput) ? rawInput : {};
  const { command, file_path: path, old_string: before, new_string: after, content } = input;
  const head = typeof path === "string" ? [cleanLine(path)] : [];
  if (typeof command === "string") return toLines(command);
  if (typeof before === "string" && typeof after === "string") {
    return [
      ...head,
      ...toLines(before).map((line) => `- ${line}`),
      ...toLines(after).map((line) => `+ ${line}`),
    ];
  }
  if (typeof content === "string") return [...head, ...toLines(content).map((line) => `+ ${line}`)];
  const text = typeof rawInput === "string" ? rawInput : (JSON.stringify(rawInput, null, 1) ?? "");
  return text === "{}" || text === "" ? [] : toLines(text);
}

function parsed(input: string): unknown {
  try {
    return JSON.parse(input);
  } catch {
    return input; // it was cut
  }
}

/** A call's long texts are cut in the transcript: nobody is to take a part for the whole. */
function wholeSize(call: AskReply["call"]): string[] {
  const cut = Object.entries(call?.blobs ?? {});
  return cut.map(
    ([pointer, { bytes }]) =>
      `    ! ${cleanLine(pointer.replace(/^\/rawInput\//, ""))} is cut here: it has ${bytes} bytes`,
  );
}

function toLines(text: string): string[] {
  return cleanLines(text.replace(/\n+$/, "")).split("\n");
}

function clipLines(lines: readonly string[], max: number): string[] {
  if (lines.length <= max) return [...lines];
  return [...lines.slice(0, max), `… ${lines.length - max} more lines (threadmux asks --full)`];
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
