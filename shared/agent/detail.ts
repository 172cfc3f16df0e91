/**
 * What an ask is about, or what a call was given, in parts: the one place that says what decides, for everybody who
 * shows it to people. Nothing of the input may be left out. Pure.
 */
import { writeOutHidden } from "../clean-text.ts";
import type { EventOf } from "./events.ts";

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

/** The fields of a tool's input that can say what it is about: the first one that is there makes the title. */
const SUBJECTS = ["command", "file_path", "notebook_path", "pattern", "url", "query", "description"];
/** Where an excerpt of a long string leaves out its middle, in JSON. */
const CUT = /(?:\\n|\n)… \d+ bytes left out …/;
/** A longer value may be cut where its title is shown. */
const MAX_TITLE_VALUE_UNITS = 150;

/** The field that makes the title of a call. */
export function subjectField(input: Record<string, unknown>): string | undefined {
  return SUBJECTS.find((field) => typeof input[field] === "string" && input[field] !== "");
}

/** A longer description is no line beside the title any more, where it would be cut. A sign may be escaped there. */
const MAX_DESCRIPTION_UNITS = 200;
/** A plan's text is told; nobody decides where claude keeps it on the VM. */
const TOLD_OF_PLAN = ["plan", "planFilePath"];

/** All that decides, whole: what matters most comes first. */
export function detailParts(request: Permission, told: Call | undefined): DetailPart[] {
  // What a directory brings is a list: nothing in it may be skipped over.
  if (request.limit) return [];
  if (request.trust) return [{ name: "", language: "", text: request.description ?? "" }];
  const asked = parsed(request.input);
  // Too long for the ask, it is cut there; the call has it whole, if it is the call that the ask is about.
  const call = isRecord(asked) || !told || !isAskedAbout(told, request.input) ? undefined : told;
  const input = call ? call.rawInput : asked;
  if (request.plan !== undefined) return planParts(request.plan, input);
  if (!isRecord(input)) return [{ name: "", language: "", text: typeof input === "string" ? input : "" }];
  const main = findMain(input);
  const { description, title } = request;
  const isDescribed =
    description !== undefined && input["description"] === description && isShownBeside(description, title);
  const shown = [...(main?.told ?? []), ...(isDescribed ? ["description"] : [])];
  const parts = [...(main ? [main.part] : []), ...otherFields(input, title, shown, main ? "With" : "")];
  const missing = missingBytes(call, input);
  if (missing === 0) return parts;
  return parts.map((part) => ({ ...part, wholeBytes: Buffer.byteLength(part.text) + missing }));
}

/** Whether the call begins as the ask's own input, up to where either was cut. */
function isAskedAbout({ rawInput, blobs = {} }: Call, input: string): boolean {
  const isText = typeof rawInput === "string" && blobs["/rawInput"]?.isJson;
  const call = isText ? rawInput : (JSON.stringify(rawInput) ?? "");
  const cuts = [
    call.search(CUT),
    ...Object.entries(blobs).map(([pointer, { isJson }]) => {
      const name = `${JSON.stringify(pointer.split("/").at(-1))}:`;
      return isJson && !isText && call.includes(name) ? call.indexOf(name) + name.length : -1;
    }),
  ].filter((at) => at >= 0);
  const end = Math.min(input.length - 1, ...cuts);
  return call.slice(0, end) === input.slice(0, end);
}

/** An ask about a plan has no title. */
function planParts(plan: string, input: unknown): DetailPart[] {
  const others = isRecord(input) ? otherFields(input, "", TOLD_OF_PLAN, "With") : [];
  return [{ name: "", language: "md", text: plan }, ...others];
}

/** Whether the line beside the title shows all of a description: on one line, and it is left out if the title has it. */
function isShownBeside(description: string, title: string): boolean {
  if (description.length > MAX_DESCRIPTION_UNITS) return false;
  const shown = writeOutHidden(description);
  const signs = shown.match(/[^\p{L}\p{N} ]/gu)?.length ?? 0;
  return (
    shown.length + signs <= MAX_DESCRIPTION_UNITS && isOneLine(description) && !title.includes(description)
  );
}

/** Blanks that follow each other become one where a line is shown. */
function isOneLine(text: string): boolean {
  return text.replace(/\s+/g, " ").trim() === text;
}

/**
 * What a call was given and its title does not say.
 * @param isChangeShown its result shows what it changed: the texts for that are left out.
 */
export function inputParts({ rawInput, title }: Call, isChangeShown: boolean): DetailPart[] {
  if (!isRecord(rawInput))
    return typeof rawInput === "string" ? [{ name: "Input", language: "", text: rawInput }] : [];
  const main = findMain(rawInput);
  const isTitle = main?.told.length === 1 && main.told[0] === fieldInTitle(rawInput, title);
  const isMainShown = main && !isChangeShown && !isTitle;
  const { description } = rawInput;
  const why = typeof description === "string" ? [{ name: "For", language: "", text: description }] : [];
  const told = [...(main?.told ?? []), ...(why.length > 0 ? ["description"] : [])];
  const others = otherFields(rawInput, title, told, main ? "With" : "");
  return [...(isMainShown ? [main.part] : []), ...others, ...why];
}

/** How much is missing of a long call: the transcript has an excerpt in place of each long string. */
function missingBytes(call: Call | undefined, input: Record<string, unknown>): number {
  return Object.entries(call?.blobs ?? {}).reduce((sum, [pointer, { bytes }]) => {
    const excerpt = input[pointer.replace(/^\/rawInput\//, "")];
    return sum + bytes - (typeof excerpt === "string" ? Buffer.byteLength(excerpt) : 0);
  }, 0);
}

/** What a call is about above all, and the fields of its input that say it. */
function findMain(input: Record<string, unknown>): { part: DetailPart; told: string[] } | undefined {
  const { command, old_string: before, new_string: after, content, url, plan, patch } = input;
  const main = (language: string, text: string, ...told: string[]) => ({
    part: { name: "", language, text },
    told,
  });
  if (typeof command === "string") return main("sh", command, "command");
  if (typeof before === "string" && typeof after === "string") {
    const text = [...prefixed("- ", before), ...prefixed("+ ", after)].join("\n");
    return main("diff", text, "old_string", "new_string");
  }
  if (typeof content === "string") return main("", content, "content");
  if (typeof url === "string") return main("", url, "url");
  if (typeof plan === "string") return main("md", plan, "plan");
  if (typeof patch === "string") return main("diff", patch, "patch");
  return undefined;
}

/**
 * What else the call is given: `run_in_background`, `replace_all`, a path that the title had to cut.
 * @param told fields that are shown elsewhere, whole.
 */
function otherFields(
  input: Record<string, unknown>,
  title: string,
  told: readonly string[],
  name: string,
): DetailPart[] {
  const inTitle = fieldInTitle(input, title);
  const rest = Object.entries(input).filter(([field]) => !told.includes(field) && field !== inTitle);
  if (rest.length === 0) return [];
  const lines = rest.map(([field, value]) => `${field}: ${JSON.stringify(value) ?? ""}`);
  return [{ name, language: "", text: lines.join("\n") }];
}

/** The field that the title shows, if it shows the whole of it: a path in the thread's directory from there on. */
function fieldInTitle(input: Record<string, unknown>, title: string): string | undefined {
  const field = subjectField(input);
  const value = field === undefined ? undefined : input[field];
  if (typeof value !== "string" || value.length > MAX_TITLE_VALUE_UNITS) return undefined;
  const subject = title.slice(title.indexOf(" ") + 1);
  // A path that leads up again is shown without that, and leads elsewhere if what it leads up from is a link.
  const isInside = value.startsWith("/") && value.endsWith(`/${subject}`) && !/\/\.\.(?:\/|$)/.test(value);
  const isSame = value === subject || isInside;
  // Written out, it is longer, and may be cut. Backticks in a row are shown as others.
  const isShown = writeOutHidden(value) === value && isOneLine(value) && !value.includes("``");
  return isSame && isShown ? field : undefined;
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
