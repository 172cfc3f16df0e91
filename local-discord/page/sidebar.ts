/** The channel and its threads: active ones, archived ones folded away, with unread marks. */
import { byId, compareIds, el } from "./dom.js";
import { icon } from "./icons.js";

export function renderSidebar(state, isUnread) {
  const tree = byId("channel-tree");
  const wasOpen = tree.querySelector("details")?.open ?? false;
  const focused = document.activeElement?.dataset?.channel;
  const threads = [...state.threads.values()];
  const active = threads.filter((thread) => !thread.isArchived).sort(newestFirst);
  const archived = threads
    .filter((thread) => thread.isArchived)
    .sort((a, b) => b.archivedAt - a.archivedAt || newestFirst(a, b));

  const parts = [
    entry(state, { ...state.channel, icon: "#" }, isUnread),
    el(
      "ul",
      { class: "threads", "aria-label": "Active threads" },
      active.map((thread) => el("li", {}, entry(state, thread, isUnread))),
    ),
  ];
  if (active.length === 0) {
    parts.push(el("p", { class: "hint" }, "No active threads. Type / to use a command."));
  }
  if (archived.length > 0) {
    const isCurrentInside = archived.some((thread) => thread.id === state.currentId);
    parts.push(
      el(
        "details",
        { class: "archived", open: wasOpen || isCurrentInside },
        el("summary", {}, `Archived (${archived.length})`),
        el(
          "ul",
          { class: "threads" },
          archived.map((thread) => el("li", {}, entry(state, thread, isUnread))),
        ),
      ),
    );
  }
  tree.replaceChildren(...parts);
  if (focused) tree.querySelector(`[data-channel="${focused}"]`)?.focus({ preventScroll: true });
  byId("menu-dot").hidden = !threads.some((thread) => thread.id !== state.currentId && isUnread(thread));
}

function entry(state, channel, isUnread) {
  const isCurrent = channel.id === state.currentId;
  const hasNews = !isCurrent && isUnread(channel);
  const pings = isCurrent ? 0 : (state.pings.get(channel.id) ?? 0);
  const mark = channel.icon ?? icon(channel.isLocked ? "lock" : "thread");
  return el(
    "a",
    {
      class: `channel${isCurrent ? " current" : ""}${hasNews ? " unread" : ""}`,
      href: `#${channel.id}`,
      "data-channel": channel.id,
      "aria-current": isCurrent ? "page" : undefined,
      title: channel.name,
    },
    el("span", { class: "channel-icon", "aria-hidden": "true" }, mark),
    el("span", { class: "channel-name" }, channel.name),
    hasNews && el("span", { class: "visually-hidden" }, "(unread)"),
    pings > 0 && el("span", { class: "pings", "aria-label": `${pings} mentions` }, String(pings)),
  );
}

function newestFirst(a, b) {
  return compareIds(b.lastMessageId ?? b.id, a.lastMessageId ?? a.id);
}
