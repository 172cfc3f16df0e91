/** The channel and its threads: active ones, archived ones folded away, with unread marks. */
import { byId, compareIds, el } from "./dom.ts";
import { icon } from "./icons.ts";
import type { PageChannel, PageState } from "./state.ts";

export function drawSidebar(state: PageState): void {
  const { channel, threads } = state;
  if (!channel) return;
  const tree = byId("channel-tree");
  const wasOpen = tree.querySelector("details")?.open ?? false;
  const { activeElement } = document;
  const focused = activeElement instanceof HTMLElement ? activeElement.dataset["channel"] : undefined;
  const active = threads.filter((thread) => !thread.isArchived).sort(newestFirst);
  const archived = threads
    .filter((thread) => thread.isArchived)
    .sort((a, b) => b.archivedAt - a.archivedAt || newestFirst(a, b));
  tree.replaceChildren(
    drawEntry(state, channel),
    drawThreads(state, active, "Active threads"),
    active.length === 0 ? el("p", { class: "hint" }, "No active threads. Type / to use a command.") : "",
    archived.length > 0 ? drawArchived(state, archived, wasOpen) : "",
  );
  if (focused !== undefined) {
    tree
      .querySelector<HTMLElement>(`[data-channel="${CSS.escape(focused)}"]`)
      ?.focus({ preventScroll: true });
  }
  const unread = threads.filter((thread) => thread.id !== state.currentId && state.isUnread(thread));
  byId("menu-dot").hidden = unread.length === 0;
  document.title = `${unread.length > 0 ? `(${unread.length}) ` : ""}${state.current?.name ?? ""} · Local Discord`;
}

function drawThreads(state: PageState, threads: readonly PageChannel[], label: string): HTMLElement {
  return el(
    "ul",
    { class: "threads", "aria-label": label },
    threads.map((thread) => el("li", {}, drawEntry(state, thread))),
  );
}

function drawArchived(state: PageState, archived: readonly PageChannel[], wasOpen: boolean): HTMLElement {
  const isCurrentInside = archived.some((thread) => thread.id === state.currentId);
  return el(
    "details",
    { class: "archived", open: wasOpen || isCurrentInside },
    el("summary", {}, `Archived (${archived.length})`),
    drawThreads(state, archived, "Archived threads"),
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
