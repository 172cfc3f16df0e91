/** Whether a call is one that a gate is for. In doubt it is: a gate only narrows. Pure. */
import { relative, resolve } from "node:path";
import { fitsWildcard } from "../wildcard.ts";
import type { Gate } from "./gates.ts";

/** A call as gates see it. */
export interface GatedCall {
  name: string;
  /** The command line, if the call runs one. */
  command?: string;
  /** That the call names, as it names them. */
  paths: readonly string[];
}

export interface Place {
  /** Absolute. */
  dir: string;
  /** Where a path leads through links, also if nothing is there yet. */
  real: (path: string) => string;
}

/** A longer one fits every pattern: nobody waits for it to be looked at. */
const MAX_COMMAND = 20_000;
/** Words of the shell that a command may follow, and variables that are set for it. */
const BEFORE_COMMAND =
  /^(?:(?:then|do|else|elif|if|while|until|time|!|[A-Za-z_]\w*\+?=(?:"[^"]*"|'[^']*'|[^\s"'])*)\s+)+/;
const SIGNS = /^(?:[;&|\n(){}`]|\$\()$/;
const TOKEN = /"(?:[^"\\]|\\[\s\S])*"|'[^']*'|\\[\s\S]|\$\(|[\s\S]/g;

const PATH_FIELDS = ["file_path", "notebook_path", "path"];

/** @param paths that the engine tells besides */
export function gatedCall(name: string, input: unknown, paths: readonly string[] = []): GatedCall {
  const fields = typeof input === "object" && input !== null ? (input as Record<string, unknown>) : {};
  const named = PATH_FIELDS.map((field) => fields[field]).filter((value) => typeof value === "string");
  const { command } = fields;
  const all = [...new Set([...named, ...paths])];
  return { name, paths: all, ...(typeof command === "string" && { command }) };
}

export function fitsCall(fit: Gate["if"], call: GatedCall, place: Place): boolean {
  const { tool, command, path } = fit ?? {};
  if (tool !== undefined && !fitsWildcard(tool, call.name)) return false;
  if (command !== undefined && !(call.command !== undefined && fitsCommand(command, call.command)))
    return false;
  return path === undefined || call.paths.some((named) => fitsPath(path, named, place));
}

/** The whole command, or a part of it that the shell runs by itself, without the shell's words and the variables before it. */
export function fitsCommand(pattern: string, command: string): boolean {
  if (command.length > MAX_COMMAND) return true;
  // A quoted sign of the shell's splits too: what a shell within quotes runs is a part. In doubt it is one more.
  const parts = [...command.split(/[;&|\n(){}`]+|\$\(/), ...unquotedParts(command)].map((part) =>
    part.trim(),
  );
  const bare = parts.map((part) => part.replace(BEFORE_COMMAND, ""));
  const all = new Set([command.trim(), ...parts, ...bare].map((text) => text.replace(/\s+/g, " ")));
  return [...all].some((text) => fitsWildcard(pattern, text));
}

/** Parts between the shell's signs that no quotes hold. A quote that is not closed holds nothing. */
function unquotedParts(command: string): string[] {
  const parts = [""];
  for (const [token] of command.matchAll(TOKEN)) {
    if (SIGNS.test(token)) parts.push("");
    else parts[parts.length - 1] += token;
  }
  return parts;
}

/** A file by the name that the call uses, or by the one that it leads to. */
function fitsPath(pattern: string, named: string, { dir, real }: Place): boolean {
  const absolute = resolve(dir, named);
  // As it is named: the real path is the one to know whose home folder a name may begin with.
  return [absolute, real(named)].some((path) => {
    const inside = relative(real(dir), path);
    const names = [path, relative(dir, path), inside];
    return names.some((name) => fitsParts(pattern.split("/"), name.split("/")));
  });
}

/** `*` and `?` within a name, `**` for any folders. */
function fitsParts(pattern: readonly string[], names: readonly string[]): boolean {
  const reach = new Set([0]);
  for (const part of pattern) {
    const next = new Set<number>();
    for (const at of reach) {
      if (part === "**") for (let to = at; to <= names.length; to++) next.add(to);
      else if (at < names.length && fitsWildcard(part, names[at] ?? "")) next.add(at + 1);
    }
    if (next.size === 0) return false;
    reach.clear();
    for (const at of next) reach.add(at);
  }
  return reach.has(names.length);
}
