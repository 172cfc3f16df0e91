/** The flags of the engine's command line that the stand-in obeys; it refuses those that it does not know. */
import { readFileSync } from "node:fs";
import * as z from "zod";

export const MODES = [
  "default",
  "manual",
  "acceptEdits",
  "plan",
  "auto",
  "bypassPermissions",
  "dontAsk",
] as const;
export const Mode = z.enum(MODES).transform((mode) => (mode === "manual" ? "default" : mode));
export type Mode = z.infer<typeof Mode>;

/** The part of the last `--settings` that the stand-in obeys. */
export const Settings = z.looseObject({
  permissions: z
    .looseObject({
      ask: z.array(z.string()).default([]),
      deny: z.array(z.string()).default([]),
      disableBypassPermissionsMode: z.literal("disable").optional(),
    })
    .prefault({}),
});
export type Settings = z.infer<typeof Settings>;

export interface Args {
  sessionId: string;
  isResumed: boolean;
  /** The conversation to begin from, up to the line `at` or its end. */
  forkOf: { sessionId: string; at: string | undefined } | undefined;
  mode: Mode;
  model: string;
  /** The file that names servers of tools. */
  mcpConfig: string | undefined;
  /** `Bash`, `Bash(npm test:*)`, `mcp__threadmux`. */
  allowed: string[];
  disallowed: string[];
  /** The tools that it has alone, besides those of servers; undefined if it has all. */
  tools: string[] | undefined;
  settings: Settings;
}

/** Flags with one value. What the stand-in can do nothing about, such as a budget, is refused. */
const VALUED = new Set([
  "--input-format",
  "--output-format",
  "--permission-prompt-tool",
  "--session-id",
  "--resume",
  "--permission-mode",
  "--model",
  "--append-system-prompt",
  "--append-system-prompt-file",
  "--mcp-config",
  "--settings",
  "--setting-sources",
  "--json-schema",
  "--resume-session-at",
]);
/** Flags with values up to the next flag. */
const LISTED = new Set(["--allowedTools", "--disallowedTools", "--tools", "--add-dir"]);
const BARE = new Set([
  "-p",
  "--print",
  "--verbose",
  "--fork-session",
  "--replay-user-messages",
  "--include-partial-messages",
  "--strict-mcp-config",
  "--dangerously-skip-permissions",
]);

/** @throws Error that names the argument. */
export function parseArgs(argv: readonly string[]): Args {
  const given = collect(argv);
  const one = (flag: string) => given.get(flag)?.at(-1);
  for (const [flag, wanted] of [
    ["--input-format", "stream-json"],
    ["--output-format", "stream-json"],
  ] as const) {
    if (one(flag) !== wanted) throw new Error(`${flag} must be ${wanted}: the stand-in speaks nothing else`);
  }
  const resumed = one("--resume");
  const isFork = given.has("--fork-session") && resumed !== undefined;
  const sessionId = z.uuid().safeParse((isFork ? undefined : resumed) ?? one("--session-id") ?? "");
  if (!sessionId.success) throw new Error("Invalid session ID. Must be a valid UUID.");
  const mode = Mode.safeParse(one("--permission-mode") ?? "default");
  if (!mode.success) {
    const choices = MODES.map((name) => `"${name}"`).join(", ");
    throw new Error(`option '--permission-mode <mode>' argument is invalid. Allowed choices are ${choices}.`);
  }
  const settings = readSettings(one("--settings"));
  const isBypassed = given.has("--dangerously-skip-permissions") || mode.data === "bypassPermissions";
  const isDisabled = settings.permissions.disableBypassPermissionsMode === "disable";
  return {
    sessionId: sessionId.data,
    isResumed: resumed !== undefined && !isFork,
    forkOf: isFork ? { sessionId: resumed, at: one("--resume-session-at") } : undefined,
    mode: !isBypassed ? mode.data : isDisabled ? "default" : "bypassPermissions",
    model: one("--model") ?? "demo",
    mcpConfig: one("--mcp-config"),
    allowed: splitRules(given.get("--allowedTools") ?? []),
    disallowed: splitRules(given.get("--disallowedTools") ?? []),
    tools: given.get("--tools")?.flatMap((list) => list.split(",")),
    settings,
  };
}

function readSettings(given = "{}"): Settings {
  return Settings.parse(JSON.parse(given.startsWith("{") ? given : readFileSync(given, "utf8")));
}

/** What is to be asked about, as the stand-in's rules have it. */
export function askedIn(settings: unknown): string[] {
  return Settings.parse(settings).permissions.ask.map((rule) => `?${rule}`);
}

/** Why it can't be told to ask for nothing; undefined if it was started so. */
export function bypassRefusal({ mode, settings }: Args): { text: string; code: string } | undefined {
  if (mode === "bypassPermissions") return undefined;
  const text = "Cannot set permission mode to bypassPermissions because";
  return settings.permissions.disableBypassPermissionsMode === "disable"
    ? { text: `${text} it is disabled by settings or configuration`, code: "bypass_disabled" }
    : {
        text: `${text} the session was not launched with --dangerously-skip-permissions`,
        code: "bypass_not_launched",
      };
}

function collect(argv: readonly string[]): Map<string, string[]> {
  const given = new Map<string, string[]>();
  for (let at = 0; at < argv.length; at++) {
    const [flag = "", joined] = splitFlag(argv[at] ?? "");
    const values = given.get(flag) ?? [];
    given.set(flag, values);
    if (joined !== undefined) values.push(joined);
    else if (VALUED.has(flag)) {
      const value = argv[++at];
      if (value === undefined) throw new Error(`option '${flag}' argument missing`);
      values.push(value);
    } else if (LISTED.has(flag)) {
      while (at + 1 < argv.length && !argv[at + 1]?.startsWith("-")) values.push(argv[++at] ?? "");
    } else if (!BARE.has(flag)) throw new Error(`unknown option '${flag}'`);
  }
  return given;
}

function splitFlag(arg: string): [string, string?] {
  const at = arg.indexOf("=");
  return arg.startsWith("--") && at > 0 ? [arg.slice(0, at), arg.slice(at + 1)] : [arg];
}

/** `Bash(a, b),Write` → `Bash(a, b)` and `Write`. */
function splitRules(values: readonly string[]): string[] {
  return values.flatMap((value) => {
    const rules: string[] = [];
    const name = /[^,\s(]+/g;
    const lastClose = value.lastIndexOf(")");
    for (let match = name.exec(value); match; match = name.exec(value)) {
      const hasDetail = value[name.lastIndex] === "(" && name.lastIndex < lastClose;
      if (hasDetail) name.lastIndex = value.indexOf(")", name.lastIndex) + 1;
      rules.push(value.slice(match.index, name.lastIndex));
    }
    return rules;
  });
}
