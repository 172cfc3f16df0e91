/** What files of a directory make an agent run or obey, in words. Pure. */
import { visibleStart } from "./visible.ts";

/** What a directory brings that an engine would run or obey before anybody is asked. */
export interface Brought {
  /** Its real path. */
  dir: string;
  /** Of the path and of everything that was found: another content has another key. */
  key: string;
  items: BroughtItem[];
  /** Everything was looked at. What was not can't be trusted. */
  isWhole: boolean;
}

export interface BroughtItem {
  kind: "hook" | "server" | "setting" | "file" | "link";
  /** One line; hidden characters are written out. */
  text: string;
}

const MAX_ITEM = 200;

/** @param name of the file, for people */
export function itemsOfSettings(name: string, text: string): BroughtItem[] {
  const settings = parse(text);
  if (!settings) return [item("setting", `${name} (it is no JSON object)`)];
  const { hooks, ...others } = settings;
  return [
    ...hooksOf(name, hooks),
    ...Object.entries(others)
      .filter(([key]) => key !== "$schema")
      .map(([key, value]) => item("setting", `${name}: ${key} ${textOf(value)}`)),
  ];
}

/** @param name of the file, for people */
export function itemsOfServers(name: string, text: string): BroughtItem[] {
  const file = parse(text);
  if (!file) return [item("server", `${name} (it is no JSON object)`)];
  const servers = asRecord(file["mcpServers"]) ?? file;
  return Object.entries(servers).map(([server, value]) => {
    const { command, args, url } = asRecord(value) ?? {};
    const how =
      typeof command === "string" ? [command, ...asList(args)].map(textOf).join(" ") : textOf(url ?? value);
    return item("server", `${name}: MCP server ${server}: ${how}`);
  });
}

/** Skills, commands, agents: what is in a folder. */
export function itemOfFolder(name: string, files: readonly string[]): BroughtItem {
  const count = files.length === 1 ? "1 file" : `${files.length} files`;
  return item(
    "file",
    `${count} in ${name}: ${files.slice(0, 10).join(", ")}${files.length > 10 ? ", …" : ""}`,
  );
}

/** @param leadsTo for people: a link tells nothing of what is there */
export function itemOfLink(name: string, leadsTo: string): BroughtItem {
  return item("link", `${name}: a link to ${leadsTo}`);
}

export function itemOfProblem(name: string, problem: string): BroughtItem {
  return item("file", `${name}: ${problem}`);
}

/** Such as "2 hooks, 1 MCP server, 3 settings". */
export function countItems(items: readonly BroughtItem[]): string {
  const words = {
    hook: "hook",
    server: "MCP server",
    setting: "setting",
    file: "more of .claude",
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
      const { hooks: list, matcher } = asRecord(group) ?? {};
      const when = typeof matcher === "string" && matcher !== "" ? `${event} ${matcher}` : event;
      const each = Array.isArray(list) ? list : [group];
      return each.map((hook) => {
        const { command } = asRecord(hook) ?? {};
        return item("hook", `${name}: hook ${when}: ${textOf(typeof command === "string" ? command : hook)}`);
      });
    }),
  );
}

function item(kind: BroughtItem["kind"], text: string): BroughtItem {
  return { kind, text: visibleStart(text, MAX_ITEM) };
}

function parse(text: string): Record<string, unknown> | undefined {
  try {
    return asRecord(JSON.parse(text));
  } catch {
    return undefined; // it is named as what it is: no JSON
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
