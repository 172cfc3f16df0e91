/** An ask for a person at a terminal: all that is needed to decide. Pure. */
import type { AskReply } from "../../shared/agent/api.ts";
import { detailParts } from "../../shared/agent/detail.ts";
import { writeOutHidden, writeOutLine } from "../../shared/clean-text.ts";
import { trimEndOf } from "../../shared/trim-end.ts";

/** How many lines of a command, a diff or a plan are shown; the rest is counted. */
export const MAX_DETAIL_LINES = 60;

type Request = AskReply["request"];
type Permission = Extract<Request, { type: "permission_request" }>;
type Question = Extract<Request, { type: "elicitation_request" }>["questions"][number];

export interface AskTextOptions {
  /** What names the thread in a command, fit for a shell. */
  thread: string;
  /** How many lines of a command, a diff or a plan are shown. */
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
  const asked = `${request.limit ? "" : "May it? "}${writeOutLine(request.title)}`;
  const title = request.plan === undefined ? asked : "A plan to approve:";
  const detail = clipLines(permissionDetail(request, call), maxLines);
  const always = request.options.find(({ kind }) => kind === "allow_always");
  const once = request.options.find(({ kind }) => kind === "allow_once");
  const approve = (option: string, name: string) => `  → threadmux approve${option}${flag} ${thread}${name}`;
  const resetsAt = request.limit?.resetsAt;
  const forAlways = always && `    (${writeOutLine(always.name)})`;
  return [
    `? ${title}`,
    ...detail.map((line) => `    ${line}`),
    ...wholeSize(call),
    ...(once ? [approve("", resetsAt === undefined ? "" : `    (${writeOutLine(once.name)})`)] : []),
    ...(resetsAt === undefined ? [] : [`  → threadmux resume ${thread}    (Go on now)`]),
    ...(forAlways ? [approve(request.trust ? "" : " --always", forAlways)] : []),
    `  → threadmux deny${flag} ${thread}${request.limit ? "" : ' --because "…"'}`,
  ];
}

/** So much of a request's id as people need to name it among a thread's. */
export function shortId(requestId: string): string {
  return writeOutLine(requestId).slice(0, 8);
}

function questionLines({ question, multiSelect, options }: Question, number: number | undefined): string[] {
  const label = number === undefined ? "" : `${number}. `;
  return [
    `? ${label}${writeOutLine(question)}${multiSelect ? " (several: 1,2)" : ""}`,
    ...options.map(({ label, description }, i) => {
      const more = description === undefined ? "" : `: ${writeOutLine(description)}`;
      return `    ${i + 1}  ${writeOutLine(label)}${more}`;
    }),
  ];
}

function permissionDetail(request: Permission, call: AskReply["call"]): string[] {
  const { plan, trust, description = "", reason = "", agentId } = request;
  const detail = detailParts(request, call ?? undefined).flatMap(({ name, text }) => [
    ...(name === "" ? [] : [`${writeOutLine(name)}:`]),
    ...toLines(text),
  ]);
  if (plan !== undefined || trust) return detail;
  const why = [agentId === undefined ? "" : "asked by a sub-agent", description, reason].map(writeOutLine);
  return [...detail, ...why.filter((line) => line !== "" && !detail.includes(line))];
}

/** A call's long texts are cut in the transcript: nobody is to take a part for the whole. */
function wholeSize(call: AskReply["call"]): string[] {
  const cut = Object.entries(call?.blobs ?? {});
  return cut.map(
    ([pointer, { bytes }]) =>
      `    ! ${writeOutLine(pointer.replace(/^\/rawInput\//, ""))} is cut here: it has ${bytes} bytes`,
  );
}

function toLines(text: string): string[] {
  const lines = writeOutHidden(trimEndOf(text.replaceAll("\r\n", "\n"), "\n"));
  return lines === "" ? [] : lines.split("\n");
}

function clipLines(lines: readonly string[], max: number): string[] {
  if (lines.length <= max) return [...lines];
  return [...lines.slice(0, max), `… ${lines.length - max} more lines (threadmux asks --full)`];
}
