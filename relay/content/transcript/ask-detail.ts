/** What is asked about, in full view: the command, the change, the plan, with what eyes would miss written out. Pure. */

import type { EventOf } from "../../../shared/agent/events.ts";
import { writeOutHidden } from "../../../shared/clean-text.ts";
import { clipEnd, codeBlock, inline } from "./inline.ts";

type Permission = EventOf<"permission_request">;
type Call = EventOf<"tool_call">;

/** A part of what is asked about; its text is as it came. */
export interface DetailPart {
  /** What it is, if that does not go without saying. */
  readonly name: string;
  /** The language of its code block. */
  readonly language: string;
  readonly text: string;
  /** The text is an excerpt; this is the length of the whole. */
  readonly wholeBytes?: number;
}

/** The fields of a call's input that its title and its parts show already. */
const SHOWN = new Set(["command", "old_string", "new_string", "content", "url", "description", "plan"]);
/** So little room is worth no block of its own. */
const MIN_BLOCK_UNITS = 60;

/** All that decides, whole: what matters most comes first. */
export function detailParts(request: Permission, call: Call | undefined): DetailPart[] {
  if (request.plan !== undefined) return [{ name: "", language: "md", text: request.plan }];
  // What a directory brings is a list: nothing in it may be skipped over.
  if (request.trust) return [{ name: "", language: "", text: request.description ?? "" }];
  const input = call ? call.rawInput : parsed(request.input);
  if (!isRecord(input)) return [{ name: "", language: "", text: typeof input === "string" ? input : "" }];
  const parts = [...mainParts(input), ...otherFields(input, request.title)];
  const missing = missingBytes(call, input);
  if (missing === 0) return parts;
  return parts.map((part) => ({ ...part, wholeBytes: Buffer.byteLength(part.text) + missing }));
}

/**
 * What a call was given and its title does not say.
 * @param isChangeShown its result shows what it changed: the texts for that are left out.
 */
export function inputParts({ rawInput, title }: Call, isChangeShown: boolean): DetailPart[] {
  if (!isRecord(rawInput))
    return typeof rawInput === "string" ? [{ name: "Input", language: "", text: rawInput }] : [];
  const main = isChangeShown ? [] : mainParts(rawInput).filter(({ text }) => !title.endsWith(` ${text}`));
  const { description } = rawInput;
  const why = typeof description === "string" ? [{ name: "For", language: "", text: description }] : [];
  return [...main, ...otherFields(rawInput, title), ...why];
}

/** Of a long call the transcript has an excerpt in place of each long string: so much more there was. */
function missingBytes(call: Call | undefined, input: Record<string, unknown>): number {
  return Object.entries(call?.blobs ?? {}).reduce((sum, [pointer, { bytes }]) => {
    const excerpt = input[pointer.replace(/^\/rawInput\//, "")];
    return sum + bytes - (typeof excerpt === "string" ? Buffer.byteLength(excerpt) : 0);
  }, 0);
}

/**
 * The parts as code blocks of at most `max` units together.
 * @returns `isClipped` if a person does not see all of it here.
 */
export function renderParts(parts: readonly DetailPart[], max: number): { text: string; isClipped: boolean } {
  const blocks: string[] = [];
  let room = max;
  let isClipped = false;
  for (const { name, language, text, wholeBytes } of parts) {
    if (text.trim() === "" && name === "") continue;
    const head = name === "" ? "" : `-# ${inline(name, 60)}\n`;
    if (room < MIN_BLOCK_UNITS + head.length) {
      isClipped = true;
      break;
    }
    const block = codeBlock(text, room - head.length, language, wholeBytes);
    blocks.push(head + block.text);
    isClipped ||= block.isClipped;
    room -= head.length + block.text.length + 1;
  }
  return { text: blocks.join("\n"), isClipped };
}

/** All of it as plain text, for a file. */
export function plainParts(parts: readonly DetailPart[]): string {
  return parts
    .map(({ name, text }) =>
      name === "" ? writeOutHidden(text) : `${writeOutHidden(name)}:\n${writeOutHidden(text)}`,
    )
    .join("\n\n");
}

function mainParts(input: Record<string, unknown>): DetailPart[] {
  const { command, old_string: before, new_string: after, content, url } = input;
  const part = (language: string, text: string): DetailPart[] => [{ name: "", language, text }];
  if (typeof command === "string") return part("sh", command);
  if (typeof before === "string" && typeof after === "string") {
    return part("diff", [...prefixed("- ", before), ...prefixed("+ ", after)].join("\n"));
  }
  if (typeof content === "string") return part("", content);
  if (typeof url === "string") return part("", url);
  return [];
}

/** What else the call is given: `run_in_background`, `replace_all`, a path that the title had to cut. */
function otherFields(input: Record<string, unknown>, title: string): DetailPart[] {
  const isMain = mainParts(input).length > 0;
  const subject = title.slice(title.indexOf(" ") + 1);
  const isInTitle = (value: unknown) =>
    typeof value === "string" && (value === subject || value.endsWith(`/${subject}`));
  const rest = Object.entries(input).filter(
    ([name, value]) => !(isMain ? SHOWN.has(name) : name === "description") && !isInTitle(value),
  );
  if (rest.length === 0) return [];
  const lines = rest.map(([name, value]) => `${name}: ${JSON.stringify(value) ?? ""}`);
  return [{ name: isMain ? "With" : "", language: "", text: lines.join("\n") }];
}

function prefixed(prefix: string, text: string): string[] {
  return text.split("\n").map((line) => prefix + line);
}

function parsed(input: string): unknown {
  try {
    return JSON.parse(input);
  } catch {
    return input; // it was cut
  }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A line below it: where, for what, and why it is asked. */
export function circumstances(request: Permission, where: string | undefined): string {
  const { description, reason, agentId, title, trust } = request;
  const isSaid = description === undefined || trust || title.includes(description);
  const parts = [
    where === undefined ? "" : `in ${inline(where, 100)}`,
    agentId === undefined ? "" : "asked by a sub-agent",
    isSaid ? "" : inline(description, 200),
    reason === undefined ? "" : inline(reason, 200),
  ];
  const line = parts.filter((part) => part !== "").join(" · ");
  return line === "" ? "" : `-# ${clipEnd(line, 450)}`;
}
