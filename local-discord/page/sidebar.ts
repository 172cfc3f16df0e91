/** The channels, each with its threads: active ones, archived ones folded away, with unread marks. */
import { byId, compareIds, el } from "./dom.ts";
import { icon } from "./icons.ts";
import type { PageChannel, PageState } from "./state.ts";

export function drawSidebar(state: PageState): void {
  const { textChannels, threads } = state;
  if (textChannels.length === 0) return;
  const tree = byId("channel-tree");
  const opened = [...tree.querySelectorAll("details[open]")].map((folded) => folded.getAttribute("data-of"));
  const { activeElement } = document;
  const focused = activeElement instanceof HTMLElement ? activeElement.dataset["channel"] : undefined;
  const isAlone = textChannels.length === 1;
  tree.replaceChildren(
    ...textChannels.flatMap((channel) =>
      drawChannel(state, channel, { isAlone, wasOpen: opened.includes(channel.id) }),
    ),
  );
  if (focused !== undefined) {
    tree
      .querySelector<HTMLElement>(`[data-channel="${CSS.escape(focused)}"]`)
      ?.focus({ preventScroll: true });
  }
  const watched = isAlone ? threads : [...textChannels, ...threads];
  const unread = watched.filter((channel) => channel.id !== state.currentId && state.isUnread(channel));
  byId("menu-dot").hidden = unread.length === 0;
  document.title = `${unread.length > 0 ? `(${unread.length}) ` : ""}${state.current?.name ?? ""} · Local Discord`;
}

function drawChannel(
  state: PageState,
  channel: PageChannel,
  { isAlone, wasOpen }: { isAlone: boolean; wasOpen: boolean },
): (HTMLElement | string)[] {
  const threads = state.threads.filter((thread) => thread.parentId === channel.id);
  const active = threads.filter((thread) => !thread.isArchived).sort(newestFirst);
  const archived = threads
    .filter((thread) => thread.isArchived)
    .sort((a, b) => b.archivedAt - a.archivedAt || newestFirst(a, b));
  const of = isAlone ? "" : ` in #${channel.name}`;
  const hint = "No active threads. Type / to use a command.";
  return [
    drawEntry(state, channel),
    drawThreads(state, active, `Active threads${of}`),
    isAlone && active.length === 0 ? el("p", { class: "hint" }, hint) : "",
    archived.length > 0 ? drawArchived(state, archived, { of, channelId: channel.id, wasOpen }) : "",
  ];
}

function drawThreads(state: PageState, threads: readonly PageChannel[], label: string): HTMLElement {
  return el(
    "ul",
    { class: "threads", "aria-label": label },
    threads.map((thread) => el("li", {}, drawEntry(state, thread))),
  );
}

function drawArchived(
  state: PageState,
  archived: readonly PageChannel[],
  { of, channelId, wasOpen }: { of: string; channelId: string; wasOpen: boolean },
): HTMLElement {
  const isCurrentInside = archived.some((thread) => thread.id === state.currentId);
  return el(
    "details",
    { class: "archived", open: wasOpen || isCurrentInside, "data-of": channelId },
    el("summary", {}, `Archived (${archived.length})`),
    drawThreads(state, archived, `Archived threads${of}`),
  );
}

function drawEntry(state: PageState, channel: PageChannel): HTMLElement {
  const isCurrent = channel.id === state.currentId;
  const hasNews = !isCurrent && state.isUnread(channel);
  const pings = isCurrent ? 0 : state.pings(channel.id);
  return el(
    "a",
    {
      class: `channel${isCurrent ? " current" : ""}${hasNews ? " unread" : ""}`,
      href: `#${channel.id}`,
      "data-channel": channel.id,
      "aria-current": isCurrent ? "page" : undefined,
      title: channel.name,
    },
    el(
      "span",
      { class: "channel-icon", "aria-hidden": "true" },
      channel.isThread ? icon(channel.isLocked ? "lock" : "thread") : "#",
    ),
    el("span", { class: "channel-name" }, channel.name),
    hasNews && el("span", { class: "visually-hidden" }, "(unread)"),
    pings > 0 && el("span", { class: "pings", "aria-label": `${pings} mentions` }, String(pings)),
  );
}

function newestFirst(a: PageChannel, b: PageChannel): number {
  return compareIds(b.lastMessageId ?? b.id, a.lastMessageId ?? a.id);
}
