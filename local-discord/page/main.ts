/** Puts the page together: the stream of events, what is shown, and what pressing things does. */
import { get, post } from "./api.js";
import { Composer } from "./composer.js";
import { confirmDialog, formDialog } from "./dialogs.js";
import { byId, compareIds, el, hueOf } from "./dom.js";
import { icon } from "./icons.js";
import { MessageList } from "./messages.js";
import { renderSidebar } from "./sidebar.js";

const READ_KEY = "local-discord-read";
const TYPING_MS = 10_000;

const state = {
  me: undefined,
  botName: "The bot",
  isBotOnline: false,
  isConnected: false,
  channel: undefined,
  users: new Map(),
  threads: new Map(),
  commands: [],
  currentId: undefined,
  /** Newest id read, by channel. */
  read: loadRead(),
  pings: new Map(),
  /** Interactions that nothing has come of yet. */
  pending: new Map(),
};

const context = {
  get me() {
    return state.me;
  },
  nameOfUser: (id) => state.users.get(id)?.name,
  channelOf: findChannel,
  openChannel,
  press,
  dismiss: async (message) => {
    list.remove(message.id);
    await post("/page/messages/delete", { channelId: message.channelId, messageId: message.id }).catch(
      showProblem,
    );
  },
  replyTo: (message) => composer.replyTo(message),
  remove: async (message) => {
    if (!(await confirmDialog("Delete message", "It goes for everybody.", "Delete"))) return;
    await post("/page/messages/delete", { channelId: message.channelId, messageId: message.id }).catch(
      showProblem,
    );
  },
};

const list = new MessageList(context);
const composer = new Composer({
  commands: () => state.commands,
  users: () => [...state.users.values()].map((user) => [user.id, user.name]),
  channels: () => [state.channel, ...state.threads.values()].map((channel) => [channel.id, channel.name]),
  onSent: () => list.toBottom(),
});

// --- events -----------------------------------------------------------------------------------------------

const handlers = {
  hello(event) {
    const isFirst = state.me === undefined;
    state.me = event.me;
    state.botName = event.botName;
    state.channel = event.channel;
    state.commands = event.commands;
    state.users = new Map(event.users.map((user) => [user.id, user]));
    state.threads = new Map(event.threads.map((thread) => [thread.id, { ...thread, isThread: true }]));
    state.pending.clear();
    byId("guild-name").textContent = event.guildName;
    byId("self-name").textContent = state.users.get(event.me)?.name ?? "You";
    byId("self-avatar").className = `avatar small hue-${hueOf(event.me)}`;
    if (isFirst && Object.keys(state.read).length === 0) {
      for (const channel of [state.channel, ...state.threads.values()]) markRead(channel.id);
    }
    setPresence(event.isBotOnline);
    void show(location.hash.slice(1) || state.channel.id);
  },

  message({ message, isNew }) {
    const channel = findChannel(message.channelId);
    const isCurrent = message.channelId === state.currentId;
    if (isNew && channel && !message.isEphemeral) {
      channel.lastMessageId = message.id;
      if (message.author.id === state.me) state.read[message.channelId] = message.id;
      else if (message.mentions.includes(state.me) && !(isCurrent && isWatched())) {
        state.pings.set(message.channelId, (state.pings.get(message.channelId) ?? 0) + 1);
      }
    }
    if (isNew && typing.get(message.channelId)?.name === message.author.name)
      typing.delete(message.channelId);
    if (isCurrent) {
      list.upsert([message]);
      if (isNew && message.author.id !== state.me) announce(message);
      if (isWatched()) markRead(message.channelId);
      drawTyping();
    }
    if (isNew) drawSidebar();
  },

  "message-delete"({ id, channelId }) {
    if (channelId === state.currentId) list.remove(id);
  },

  thread({ thread }) {
    const known = state.threads.get(thread.id);
    state.threads.set(thread.id, { ...thread, isThread: true });
    drawSidebar();
    if (thread.id === state.currentId) drawTopbar();
    // Messages that speak of the thread show its name.
    if (!known || known.name !== thread.name) list.redraw();
  },

  "thread-delete"({ id }) {
    state.threads.delete(id);
    list.redraw();
    if (id === state.currentId) openChannel(state.channel.id);
    drawSidebar();
  },

  commands({ commands }) {
    state.commands = commands;
  },

  presence({ isBotOnline }) {
    setPresence(isBotOnline);
  },

  typing({ channelId, name }) {
    typing.set(channelId, { name, until: Date.now() + TYPING_MS });
    drawTyping();
    setTimeout(drawTyping, TYPING_MS + 100);
  },

  interaction({ interaction }) {
    if (interaction.state === "acknowledged") {
      state.pending.delete(interaction.id);
      if (interaction.form) void answerForm(interaction);
    } else state.pending.set(interaction.id, interaction);
    drawPending();
    busy.get(interaction.id)?.(interaction.state);
  },
};

function connect() {
  const source = new EventSource("/page/events");
  source.onopen = () => setConnected(true);
  source.onmessage = ({ data }) => {
    const event = JSON.parse(data);
    handlers[event.type]?.(event);
  };
  source.onerror = () => {
    setConnected(false);
    if (source.readyState !== EventSource.CLOSED) return;
    showBanner("Local Discord was started anew. Open the address that it printed this time.");
  };
}

// --- showing ----------------------------------------------------------------------------------------------

function findChannel(id) {
  return id === state.channel?.id ? state.channel : state.threads.get(id);
}

function openChannel(id) {
  if (location.hash.slice(1) === id) void show(id);
  else location.hash = id;
}

async function show(id) {
  const channel = findChannel(id) ?? state.channel;
  const isOther = channel.id !== state.currentId;
  state.currentId = channel.id;
  closeDrawer();
  drawTopbar();
  composer.setChannel(channel);
  if (isOther) list.clear();
  drawSidebar();
  drawPending();
  drawTyping();
  try {
    await loadMessages();
  } catch (error) {
    showProblem(error);
    return;
  }
  if (state.currentId !== channel.id) return;
  if (isOther) list.toBottom();
  markRead(channel.id);
  drawSidebar();
  if (isOther && matchMedia("(pointer: fine)").matches) composer.focus();
}

async function loadMessages(before) {
  const channelId = state.currentId;
  const query = new URLSearchParams({ channel: channelId, ...(before ? { before } : {}) });
  const { messages, hasMore } = await get(`/page/messages?${query}`);
  if (state.currentId !== channelId) return;
  list.upsert(messages);
  byId("load-older").hidden = !hasMore;
  byId("welcome").hidden = hasMore;
}

function drawSidebar() {
  if (!state.channel) return;
  renderSidebar(state, isUnread);
  const unread = [...state.threads.values()].filter((thread) => isUnread(thread)).length;
  const name = findChannel(state.currentId)?.name ?? "";
  document.title = `${unread > 0 ? `(${unread}) ` : ""}${name} · Local Discord`;
}

function drawTopbar() {
  const channel = findChannel(state.currentId);
  if (!channel) return;
  const title = byId("channel-title");
  title.replaceChildren(
    el("span", { class: "channel-icon", "aria-hidden": "true" }, channel.isThread ? icon("thread") : "#"),
    el("span", { class: "channel-name", title: channel.name }, channel.name),
  );
  byId("thread-actions").replaceChildren(...(channel.isThread ? threadActions(channel) : []));
  byId("welcome").replaceChildren(
    el("h2", {}, channel.isThread ? channel.name : `Welcome to #${channel.name}`),
    el(
      "p",
      {},
      channel.isThread
        ? "The beginning of this thread. What you write here goes to the bot as it is."
        : "The beginning of this channel. Type / to see what the bot can do.",
    ),
  );
  composer.setChannel(channel);
  drawBanner();
}

function threadActions(thread) {
  const action = (name) => async () => {
    if (name === "delete") {
      const text = `“${thread.name}” and everything in it goes for everybody.`;
      if (!(await confirmDialog("Delete thread", text, "Delete"))) return;
    }
    await post("/page/threads", { threadId: thread.id, action: name }).catch(showProblem);
  };
  const button = (name, label, mark) =>
    el(
      "button",
      { type: "button", class: "icon-button", title: label, "aria-label": label, onclick: action(name) },
      icon(mark),
    );
  return [
    thread.isLocked
      ? button("unlock", "Unlock thread", "unlock")
      : thread.isArchived
        ? button("unarchive", "Bring back thread", "restore")
        : button("archive", "Archive thread", "archive"),
    button("delete", "Delete thread", "trash"),
  ];
}

function drawBanner() {
  const channel = findChannel(state.currentId);
  if (!state.isConnected) showBanner("Connection lost: trying again…");
  else if (channel?.isArchived && channel.isLocked) {
    showBanner("This thread is archived and locked: nobody writes here until it is unlocked.");
  } else if (channel?.isArchived) showBanner("This thread is archived. Writing in it brings it back.");
  else if (!state.isBotOnline) showBanner(`${state.botName} is offline: nobody answers until it is back.`);
  else showBanner("");
}

function showBanner(text) {
  const banner = byId("banner");
  banner.textContent = text;
  banner.hidden = text === "";
}

function setConnected(isConnected) {
  state.isConnected = isConnected;
  setPresence(state.isBotOnline);
}

function setPresence(isOnline) {
  state.isBotOnline = isOnline;
  const line = byId("bot-state");
  line.textContent = !state.isConnected
    ? "connecting…"
    : isOnline
      ? `${state.botName} is online`
      : `${state.botName} is offline`;
  line.className = state.isConnected && isOnline ? "online" : "offline";
  drawBanner();
}

function drawPending() {
  const rows = [...state.pending.values()]
    .filter((interaction) => interaction.channelId === state.currentId)
    .filter((interaction) => interaction.state === "failed" || interaction.name !== undefined)
    .map((interaction) => {
      const isFailed = interaction.state === "failed";
      const what = interaction.name === undefined ? "This interaction" : `/${interaction.name}`;
      return el(
        "li",
        { class: `message system pending${isFailed ? " failed" : ""}` },
        el(
          "div",
          { class: "content" },
          isFailed ? `${what}: the application did not respond. ` : `Sending ${what}…`,
          isFailed &&
            el(
              "button",
              {
                type: "button",
                class: "link",
                onclick: () => {
                  state.pending.delete(interaction.id);
                  drawPending();
                },
              },
              "Dismiss",
            ),
        ),
      );
    });
  list.keepView(() => byId("pending").replaceChildren(...rows));
}

const typing = new Map();

function drawTyping() {
  const entry = typing.get(state.currentId);
  byId("typing").textContent = entry && entry.until > Date.now() ? `${entry.name} is typing…` : "";
}

let announcedAt = 0;

/** For screen readers: what is new, not every edit, and not more than once a second. */
function announce(message) {
  if (Date.now() - announcedAt < 1000) return;
  announcedAt = Date.now();
  const text = message.content.replace(/```\w*/g, "").slice(0, 150);
  byId("announcer").textContent = `${message.author.name}: ${text || "new message"}`;
}

// --- acting -----------------------------------------------------------------------------------------------

/** What waits for the end of an interaction, by its id. */
const busy = new Map();

async function press(message, customId, control, values) {
  control.disabled = true;
  const free = () => {
    control.disabled = false;
  };
  try {
    const interaction = await post("/page/components", { messageId: message.id, customId, values });
    if (interaction.state === "waiting" && state.pending.has(interaction.id)) {
      busy.set(interaction.id, (now) => {
        if (now === "waiting") return;
        busy.delete(interaction.id);
        free();
      });
    } else free();
  } catch (error) {
    free();
    showProblem(error);
  }
}

async function answerForm(interaction) {
  const values = await formDialog(interaction.form);
  if (values) await post("/page/forms", { interactionId: interaction.id, values }).catch(showProblem);
}

function showProblem(error) {
  showBanner(error.message);
  setTimeout(drawBanner, 6000);
}

// --- read marks -------------------------------------------------------------------------------------------

function isUnread(channel) {
  const last = channel.lastMessageId;
  return last !== null && compareIds(last, state.read[channel.id] ?? "0") > 0;
}

function isWatched() {
  return document.visibilityState === "visible" && list.isAtBottom();
}

function markRead(channelId) {
  const last = findChannel(channelId)?.lastMessageId;
  state.pings.delete(channelId);
  if (!last || state.read[channelId] === last) return;
  state.read[channelId] = last;
  try {
    localStorage.setItem(READ_KEY, JSON.stringify(state.read));
  } catch {
    // no storage: the marks last as long as the page
  }
}

function loadRead() {
  try {
    return JSON.parse(localStorage.getItem(READ_KEY) ?? "{}");
  } catch {
    return {}; // no storage, or not ours
  }
}

// --- the drawer of narrow screens -------------------------------------------------------------------------

function setDrawer(isOpen) {
  byId("app").classList.toggle("drawer-open", isOpen);
  byId("scrim").hidden = !isOpen;
  byId("open-sidebar").setAttribute("aria-expanded", String(isOpen));
  if (isOpen) byId("sidebar").querySelector("a.channel")?.focus();
}

function closeDrawer() {
  if (byId("app").classList.contains("drawer-open")) setDrawer(false);
}

byId("open-sidebar").prepend(icon("menu"));
byId("open-sidebar").addEventListener("click", () => setDrawer(true));
byId("scrim").addEventListener("click", closeDrawer);
// A tap on the thread that is shown already changes no address, and is still meant to close the drawer.
byId("channel-tree").addEventListener("click", (event) => event.target.closest("a") && closeDrawer());
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") closeDrawer();
});
byId("load-older").addEventListener("click", () => {
  const oldest = list.oldestId;
  if (oldest) loadMessages(oldest).catch(showProblem);
});
window.addEventListener("hashchange", () => {
  if (state.channel) void show(location.hash.slice(1));
});
document.addEventListener("visibilitychange", () => {
  if (state.currentId && isWatched()) {
    markRead(state.currentId);
    drawSidebar();
  }
});

connect();
