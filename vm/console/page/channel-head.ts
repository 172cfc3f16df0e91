/** What stands above a channel's threads in the list: its name and settings, and, opened, who may do what there. */
import type { ChannelRow } from "../../../shared/channel-api.ts";
import { cleanLine } from "../../../shared/clean-text.ts";
import type { PersonRow } from "../../../shared/people-api.ts";
import { rolesOf } from "./channels.ts";
import { make } from "./dom.ts";

/** The ids of the channels that are opened: the list is drawn anew while people look. */
const opened = new Set<string>();

export function drawElsewhere(): HTMLLIElement {
  return make("li", "channel", [make("h2", "", ["In no channel"])]);
}

export function drawChannel(row: ChannelRow, people: readonly PersonRow[]): HTMLLIElement {
  const { id, name, mode, dir, problem } = row;
  const title = make("h2", "", [name === null ? id : `#${cleanLine(name)}`]);
  const about = [mode === "off" ? "messages do nothing" : `mode ${mode}`, dir === "." ? "" : `in ${dir}`];
  const summary = make("summary", "", [
    title,
    make("span", "about", [about.filter((part) => part !== "").join(" · ")]),
    ...(problem === null ? [] : [make("span", "problem", [cleanLine(problem)])]),
  ]);
  const details = make("details", "", [summary, make("dl", "", drawRoles(id, people))]);
  details.open = opened.has(id);
  details.addEventListener("toggle", () => {
    if (details.open) opened.add(id);
    else opened.delete(id);
  });
  return make("li", "channel", [details]);
}

function drawRoles(channelId: string, people: readonly PersonRow[]): HTMLElement[] {
  const roles = rolesOf(channelId, people);
  if (roles.length === 0) return [make("dt", "", ["Nobody has a role here."])];
  return roles.flatMap(({ role, may, holders }) => [
    make("dt", "", [`${role}: ${holders.map(holderText).join(", ")}`]),
    make("dd", "", [`may ${may}`]),
  ]);
}

function holderText({ kind, id, handle }: PersonRow): string {
  if (kind === "role") return `whoever has the role ${handle === null ? id : cleanLine(handle)}`;
  return handle === null ? "somebody in Discord" : `@${cleanLine(handle)}`;
}
