/** Makes the answer of `/here`: a channel's settings, and the buttons below. Pure. */

import { LIMIT_NAMES } from "../../../shared/agent/limit-schema.ts";
import { describeLimit } from "../../../shared/agent/limits.ts";
import { agentOf, CHANNEL_MODES, type ChannelMode, type ChannelRow } from "../../../shared/channel-api.ts";
import { cleanLine } from "../../../shared/clean-text.ts";
import { clip } from "../../../shared/clip.ts";
import type { DiscordId } from "../../../shared/ids.ts";
import type { PersonRow } from "../../../shared/people-api.ts";
import { ROLES, type Role, roleIn } from "../../../shared/rights.ts";
import type { Reply } from "../../actions/frame/controls.ts";
import { hereDir } from "../../actions/here-dir.ts";
import { hereMode } from "../../actions/here-mode.ts";
import { directoryChoice, inlineCode } from "../texts.ts";

/** Two rows of Discord's: more are found by the completion of `dir`. */
const MAX_DIRS = 10;
const MAX_VALUE = 100;
/** Most people of each role that are named. */
const MAX_NAMED = 8;

const MODES: Record<ChannelMode, { label: string; text: string }> = {
  off: { label: "Commands alone", text: "does nothing; `/agent` and `/terminal` begin threads here" },
  mention: { label: "Messages that name me", text: "begins an agent's thread if it names me" },
  threads: { label: "Any message", text: "begins an agent's thread" },
  main: { label: "One agent hears all", text: "goes to the one agent that hears this channel" },
};

export interface HereOptions {
  channelId: DiscordId;
  /** Undefined if the channel is not served. */
  row: ChannelRow | undefined;
  /** Why it can't be served now. */
  problem: string | null;
  /** That a newcomer may choose from. */
  dirs: readonly { dir: string; branch?: string | undefined; dirty?: boolean | undefined }[];
  /** The people, and roles at Discord, that have a role in the channel. */
  people: readonly PersonRow[];
  /** Ids of roles among them that the server does not have. */
  missingRoles: readonly string[];
  /** Whether the person may change it. */
  mayChange: boolean;
  /** Whether the person may give roles there. */
  mayGiveRoles: boolean;
  /** The sentence that names who could change it. */
  whoCould: string;
}

export function hereReply(options: HereOptions): Reply {
  const { channelId, row, problem, people, missingRoles, mayChange, mayGiveRoles, whoCould } = options;
  const warning = problem === null ? [] : [`⚠️ I can't serve it now: ${problem}`];
  if (!row) return unserved({ ...options, warning });
  const lines = [
    `📌 **<#${channelId}>** is a project.`,
    ...warning,
    ...settingLines(row),
    peopleLine(channelId, people),
    ...missingRoles
      .slice(0, MAX_NAMED)
      .map((id) => `⚠️ This server has no role ${code(id)}: nobody has anything by it.`),
  ];
  if (row.isFixed)
    lines.push(
      "-# The relay's own settings (`DISCORD_CHANNEL_ID`, `CHANNEL_MODE`, `CHANNEL_DIR`) name this channel: they alone change it.",
    );
  else if (mayChange)
    lines.push("-# The buttons say what a message here does; `/here` with an option sets the rest.");
  else lines.push(`-# ${whoCould}`);
  if (mayGiveRoles) lines.push("-# `/here who:` with `role:` lets somebody in here, or out.");
  const buttons =
    row.isFixed || !mayChange ? [] : CHANNEL_MODES.flatMap((mode) => modeButton(channelId, mode, row));
  return { content: lines.join("\n"), buttons };
}

function unserved({
  channelId,
  dirs,
  mayChange,
  whoCould,
  warning,
}: Pick<HereOptions, "channelId" | "dirs" | "mayChange" | "whoCould"> & {
  warning: readonly string[];
}): Reply {
  const head = [`📌 **<#${channelId}>** is not served yet.`, ...warning];
  if (!mayChange) head.push(`-# ${whoCould}`);
  if (!mayChange || warning.length > 0) return { content: head.join("\n"), buttons: [] };
  const shown = dirs.slice(0, MAX_DIRS);
  const hint =
    shown.length === 0
      ? "There is no directory below the sidecar's `REPOS_DIR` yet; `/here dir:.` takes that itself."
      : `Which directory is it about?${shown.length < dirs.length ? " `/here dir:` completes the others." : ""}`;
  const buttons = shown.flatMap(({ dir, branch, dirty }) => {
    const name = directoryChoice(dir === "." ? "all of them (.)" : dir, branch, dirty === true);
    return hereDir.buttons({ channelId, dir }, clip(name, 80), "secondary");
  });
  return { content: [...head, hint].join("\n"), buttons };
}

function modeButton(channelId: DiscordId, mode: ChannelMode, row: ChannelRow) {
  return hereMode.buttons(
    { channelId, mode },
    MODES[mode].label,
    mode === row.mode ? "primary" : "secondary",
  );
}

function settingLines(row: ChannelRow): string[] {
  const { dir, mode, engine, model, permissionMode, directive, limits, worktree } = row;
  const limited = LIMIT_NAMES.flatMap((name) => {
    const value = limits[name];
    return value === undefined ? [] : [describeLimit(name, value)];
  });
  const chosen = [
    ["made by the directive", directive],
    ["engine", engine],
    ["model", model],
    ["permission mode", permissionMode],
  ].flatMap(([what, value]) => (value == null ? [] : [`${what} ${code(value)}`]));
  const agents = [
    ...chosen,
    ...(limited.length > 0 ? [`at most ${limited.join(", ")}`] : []),
    worktree ? "each works in a git worktree of its own" : "work in that directory",
  ];
  const name = agentOf(row);
  const hears = name === undefined ? MODES[mode].text : `${MODES[mode].text}, ${code(name)}`;
  return [`Directory: ${code(dir)}`, `A message here ${hears}.`, `Agents: ${agents.join(" · ")}`];
}

/**
 * Names the first people of each role, each with a mention that notifies nobody. Who has one role in all channels and
 * another one here is named once, at the role that counts.
 */
function peopleLine(channelId: DiscordId, people: readonly PersonRow[]): string {
  const named = new Map<string, Role>();
  for (const { kind, id } of people) {
    const own = people.filter((one) => one.kind === kind && one.id === id);
    const role = roleIn(own, kind === "user" ? { id, roles: [] } : { id: "", roles: [id] }, channelId);
    if (role !== undefined) named.set(kind === "user" ? `<@${id}>` : `<@&${id}>`, role);
  }
  const ofRole = (role: Role) => {
    const names = [...named.keys()].filter((name) => named.get(name) === role);
    const shown = names.slice(0, MAX_NAMED).join(" ");
    const more = names.length > MAX_NAMED ? ` and ${names.length - MAX_NAMED} more` : "";
    return names.length === 0 ? [] : [`${role} ${shown}${more}`];
  };
  return `Who may: ${ROLES.flatMap(ofRole).join(" · ") || "nobody"}`;
}

function code(value: string): string {
  return inlineCode(cleanLine(value), MAX_VALUE);
}
