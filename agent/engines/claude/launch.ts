/** claude's command line and environment. Pure. */
import { join } from "node:path";
import { forkOf, type ThreadConfig } from "../../../shared/agent/config.ts";
import { decidedCalls } from "../../../shared/agent/fold-gates.ts";
import { asksOfWork } from "../../../shared/agent/fold-held.ts";
import type { ThreadFold } from "../../../shared/agent/fold-types.ts";
import type { Params } from "../../../shared/agent/params.ts";
import { threadPath } from "../../../shared/agent/paths.ts";
import { resumePrompt } from "../../core/resume-prompt.ts";
import type { Env, LaunchPlan, LaunchRequest } from "../../engine.ts";
import { disallowedTools, settingsAgainstDoubles } from "./doubles.ts";
import { mergeSettings, ownSettings, SETTINGS_FILE, type Settings, splitSettings } from "./settings.ts";

/** The flags of every start: what the runner and the program speak with each other. */
export const PROTOCOL_FLAGS = [
  "-p",
  "--input-format",
  "stream-json",
  "--output-format",
  "stream-json",
  "--verbose",
  "--replay-user-messages",
  "--include-partial-messages",
  "--permission-prompt-tool",
  "stdio",
];

/** The prompt is in a file: arguments can be read by every user of the machine. */
const SYSTEM_PROMPT_FILE = "system-prompt.txt";

/**
 * @param theirs the settings that the person's own arguments name
 * @param home the settings in the person's home, which claude reads by itself
 */
export function planLaunch(
  { config, launch, fold, env, folder }: LaunchRequest,
  theirs: Settings = {},
  home: Settings = {},
): LaunchPlan {
  const { agent, launch: how } = config;
  const mode = fold.chosen.modeId ?? agent.permissionMode;
  const model = fold.chosen.model ?? agent.model;
  // A turn that it takes up may call before it can be told anything. Else it is told, so that it can be told otherwise.
  const isMarked = launch.takesUp && fold.marked !== undefined;
  const ours = { ...ownSettings(how, isMarked), ...settingsAgainstDoubles([theirs, home]) };
  const allowed = [...how.allowedTools, ...fold.grantedRules, ...attachmentsRule(folder)];
  const args = [
    ...splitSettings(how.args).rest,
    ...PROTOCOL_FLAGS,
    ...sessionArgs({ config, launch }),
    ...(mode === undefined ? [] : ["--permission-mode", mode]),
    ...(model === undefined ? [] : ["--model", model]),
    ...(agent.systemPrompt === undefined
      ? []
      : ["--append-system-prompt-file", join(folder, SYSTEM_PROMPT_FILE)]),
    ...["--settings", join(folder, SETTINGS_FILE)],
    ...(how.settingSources === undefined ? [] : ["--setting-sources", how.settingSources]),
    ...(how.mcpConfigFile === undefined ? [] : ["--mcp-config", how.mcpConfigFile]),
    ...(allowed.length === 0 ? [] : ["--allowedTools", ...allowed]),
    "--disallowedTools",
    [...disallowedTools([theirs, home]), ...(agent.disallowedTools ?? [])].join(","),
    ...toolArgs(agent.tools),
    ...schemaArgs(agent.outputSchema),
    ...(agent.params.thinking === undefined ? [] : ["--effort", agent.params.thinking]),
  ];
  return {
    program: how.program,
    args,
    env: {
      ...env,
      CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS: "1",
      ...paramsEnv(agent.params),
      ...(agent.voice && HEARING_ENV),
      ...(launch.takesUp && resumeEnv(fold)),
    },
    files: {
      [SETTINGS_FILE]: JSON.stringify(mergeSettings(theirs, ours)),
      ...(agent.systemPrompt !== undefined && { [SYSTEM_PROMPT_FILE]: agent.systemPrompt }),
    },
  };
}

/**
 * An agent that hears a channel hears nothing while it waits for a command, so a command goes into the background after
 * a minute.
 */
const HEARING_ENV: Env = { BASH_DEFAULT_TIMEOUT_MS: "60000", BASH_MAX_TIMEOUT_MS: "60000" };

/** The person's own variables would stand above the flags. */
function paramsEnv({ thinking, maxInputTokens, maxOutputTokens }: Params): Env {
  return {
    ...(thinking !== undefined && { CLAUDE_CODE_EFFORT_LEVEL: thinking }),
    ...(maxInputTokens !== undefined && { CLAUDE_CODE_AUTO_COMPACT_WINDOW: String(maxInputTokens) }),
    ...(maxOutputTokens !== undefined && { CLAUDE_CODE_MAX_OUTPUT_TOKENS: String(maxOutputTokens) }),
  };
}

/** Servers of others would bring tools that are not named, unless one of them is. */
function toolArgs(tools: readonly string[] | undefined): string[] {
  if (!tools) return [];
  const own = tools.filter((tool) => !tool.startsWith("mcp__"));
  const hasOthers = tools.some((tool) => tool.startsWith("mcp__") && !/^mcp__threadmux(__|$)/.test(tool));
  return ["--tools", own.join(","), ...(hasOthers ? [] : ["--strict-mcp-config"])];
}

/** claude knows draft 07 alone by name, and ends at once if another one is named. */
function schemaArgs(outputSchema: Record<string, unknown> | undefined): string[] {
  if (!outputSchema) return [];
  const { $schema: _, ...schema } = outputSchema;
  return ["--json-schema", JSON.stringify(schema)];
}

/** What people attach is meant to be read. A rule can't name every path. */
function attachmentsRule(folder: string): string[] {
  const path = threadPath(folder, "attachments");
  return /^[\w./-]+$/.test(path) ? [`Read(/${path}/**)`] : [];
}

/** Whether it would load what a directory brings: unless the person's own arguments say which settings count. */
export function loadsProjects({ args, settingSources }: ThreadConfig["launch"]): boolean {
  const flag = "--setting-sources";
  const given = args.flatMap((arg, at) => {
    if (arg.startsWith(`${flag}=`)) return [arg.slice(flag.length + 1)];
    return arg === flag ? [args[at + 1] ?? ""] : [];
  });
  const sources = settingSources ?? given.at(-1);
  return sources === undefined || /project|local/.test(sources);
}

function sessionArgs({ config, launch }: Pick<LaunchRequest, "config" | "launch">): string[] {
  if (launch.resumed) return ["--resume", launch.sessionId];
  const { sessionId, at } = forkOf(config);
  if (launch.reseeded || sessionId === undefined) return ["--session-id", launch.sessionId];
  const point = at === undefined ? [] : ["--resume-session-at", at];
  return ["--resume", sessionId, ...point, "--fork-session", "--session-id", launch.sessionId];
}

/** Takes the cut-off turn up again without a message; calls that were running stay visible to the model. */
function resumeEnv(fold: ThreadFold): Env {
  return {
    CLAUDE_CODE_RESUME_INTERRUPTED_TURN: "1",
    CLAUDE_CODE_RESUME_SHOWS_CUT_OFF_CALLS: "1",
    CLAUDE_CODE_RESUME_PROMPT: resumePrompt(
      [...asksOfWork(fold), ...fold.recordedAnswers, ...decidedCalls(fold)],
      fold,
    ),
  };
}
