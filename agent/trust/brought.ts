/** What files of a directory make an agent run or obey, in words. Pure. */
import type { Brings } from "../../shared/agent/engines/declaration.ts";
import type { ShownText } from "../../shared/directives/trusted.ts";
import { visible } from "./visible.ts";

/** What a directory brings that an engine would run or obey before anybody is asked. */
export interface Brought {
  /** Its real path. */
  dir: string;
  /** A hash of the path and of everything that was found: another content has another key. */
  key: string;
  items: BroughtItem[];
  /** Directives whose text is shown whole; left out if there are none. */
  directives?: ShownText[];
  /** Everything was looked at. What was not can't be trusted. */
  isWhole: boolean;
  /** The engine's folder and file of instructions. */
  names: Brings;
  /** The engine can't leave it out: without a person's trust it is not started. */
  isNeeded?: true;
}

export interface BroughtItem {
  kind: "hook" | "server" | "setting" | "file" | "instruction" | "link";
  /** Whole: hidden characters are written out, further lines are indented. */
  text: string;
}

/** @param name of the file, for people; undefined if it can't be told what the engine reads in it */
export function itemsOfSettings(name: string, text: string): BroughtItem[] | undefined {
  if (text.trim() === "") return [];
  const settings = parse(text);
  if (!settings) return undefined;
  const { hooks, ...others } = settings;
  return [
    ...hooksOf(name, hooks),
    ...Object.entries(others)
      .filter(([key]) => key !== "$schema")
      .map(([key, value]) => item("setting", `${name}: ${key} ${textOf(value)}`)),
  ];
}

/** @param name of the file, for people; undefined if it can't be told what the engine reads in it */
export function itemsOfServers(name: string, text: string): BroughtItem[] | undefined {
  if (text.trim() === "") return [];
  const file = parse(text);
  if (!file) return undefined;
  const servers = asRecord(file["mcpServers"]) ?? file;
  return Object.entries(servers).map(([server, value]) =>
    item("server", `${name}: MCP server ${server}: ${textOfServer(value)}`),
  );
}

function textOfServer(value: unknown): string {
  const { command, args, url, ...others } = asRecord(value) ?? {};
  if (typeof command === "string" && url === undefined)
    return [command, ...asList(args).map(wordOf), ...rest(others)].join(" ");
  if (typeof url === "string" && command === undefined && args === undefined)
    return [url, ...rest(others)].join(" ");
  return textOf(value);
}

/**
 * Skills, commands, agents: what is in a folder.
 * @param heads what files of it say of themselves and run, in the same order
 */
export function itemOfFolder(
  name: string,
  files: readonly string[],
  heads: readonly { file: string; lines: readonly string[] }[] = [],
): BroughtItem {
  const count = files.length === 1 ? "1 file" : `${files.length} files`;
  const { kind, text } = item("file", `${count} in ${name}: ${files.join(", ")}`);
  const said = heads.flatMap(({ file, lines }) => [
    `  ${visible(file)}:`,
    ...lines.map((line) => `    ${visible(line)}`),
  ]);
  return { kind, text: [text, ...said].join("\n") };
}

/** Words that the model is to obey: all of them are shown. */
export function itemOfText(name: string, lines: readonly string[]): BroughtItem {
  const { kind, text } = item("instruction", `${name}:`);
  return { kind, text: [text, ...lines.map((line) => `    ${visible(line)}`)].join("\n") };
}

/** @param leadsTo for people: a link tells nothing of what is there */
export function itemOfLink(name: string, leadsTo: string): BroughtItem {
  return item("link", `${name}: a link to ${leadsTo}`);
}

export function itemOfProblem(name: string, problem: string): BroughtItem {
  return item("file", `${name}: ${problem}`);
}

/** Such as "2 hooks, 1 MCP server, 3 settings". */
export function countItems(items: readonly BroughtItem[], { folder }: Brings): string {
  const words = {
    hook: "hook",
    server: "MCP server",
    setting: "setting",
    file: `more of ${folder}`,
    instruction: "instruction file",
    link: "link that leads out",
  } as const;
  const counts = Object.entries(words).flatMap(([kind, word]) => {
    const count = items.filter((one) => one.kind === kind).length;
    if (count === 0) return [];
    if (kind === "link" && count > 1) return [`${count} links that lead out`];
    return [kind === "file" || count === 1 ? `${count} ${word}` : `${count} ${word}s`];
  });
  return counts.join(", ");
}

function hooksOf(name: string, hooks: unknown): BroughtItem[] {
  if (hooks === undefined) return [];
  const events = asRecord(hooks);
  if (!events) return [item("hook", `${name}: hooks ${textOf(hooks)}`)];
  return Object.entries(events).flatMap(([event, groups]) =>
    asList(groups).flatMap((group) => {
      const { hooks: list, matcher, ...others } = asRecord(group) ?? {};
      const when = [event, ...(matcher === undefined || matcher === "" ? [] : [textOf(matcher)])].join(" ");
      const each = Array.isArray(list) ? list : [group];
      const more = Array.isArray(list) ? rest(others) : [];
      return each.map((hook) =>
        item("hook", `${name}: hook ${[when, ...more].join(" ")}: ${textOfHook(hook)}`),
      );
    }),
  );
}

function textOfHook(hook: unknown): string {
  const { type, command, ...others } = asRecord(hook) ?? {};
  if (typeof command !== "string" || (type !== undefined && type !== "command")) return textOf(hook);
  return [command, ...rest(others)].join(" ");
}

/** The fields that have no words of their own. */
function rest(others: Record<string, unknown>): string[] {
  return Object.keys(others).length === 0 ? [] : [JSON.stringify(others)];
}

/** An argument with its borders, if it would be told wrong without them. */
function wordOf(value: unknown): string {
  return typeof value === "string" && /^[^\s"'{}[\]]+$/.test(value) ? value : JSON.stringify(value);
}

function item(kind: BroughtItem["kind"], text: string): BroughtItem {
  return { kind, text: visible(text) };
}

function parse(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    JSON.stringify(value); // nested too deeply, it can't be shown
    return asRecord(value);
  } catch {
    return undefined; // it is named as what it is
  }
}

function asRecord(value: unknown): Record<string, unknown> | undefined {
  const isRecord = typeof value === "object" && value !== null && !Array.isArray(value);
  return isRecord ? (value as Record<string, unknown>) : undefined;
}

function asList(value: unknown): unknown[] {
  return Array.isArray(value) ? value : value === undefined ? [] : [value];
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "");
}
