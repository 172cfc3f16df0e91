/** Puts the page together: the stream of events, what is shown, and what pressing things does. */
import type { PageEvent, SeenMessage } from "../seen.ts";
import { get, post } from "./api.ts";
import { Composer } from "./composer.ts";
import { askDialog, confirmDialog } from "./dialogs.ts";
import { byId } from "./dom.ts";
import { followEvents } from "./events.ts";
import { Frame } from "./frame.ts";
import { MessageList } from "./message-list.ts";
import type { MessageActions } from "./message-tools.ts";
import type { Names } from "./names.ts";
import { beginsAnew, takeKey } from "./session.ts";
import { drawSidebar } from "./sidebar.ts";
import { PageState } from "./state.ts";
import { startTicking } from "./timestamps.ts";
import { Typing } from "./typing.ts";
import { Uses } from "./uses.ts";

const MAX_CONTENT_CHARACTERS = 2000;

const state = new PageState();
const frame = new Frame(state);
const names: Names = {
  me: () => state.me,
  ofUser: (id) => state.users.get(id),
  ofRole: (id) => state.roles.get(id),
  findChannel: (id) => state.findChannel(id),
  openChannel,
};
const actions: MessageActions = {
  operate: (...use) => void uses.operate(...use),
  dismiss: (message) => {
    list.remove(message.id);
    void act("/page/messages/delete", addressOf(message));
  },
  replyTo: (message) => composer.replyTo(message),
  remove: (message) => void remove(message),
  edit: (message) => void edit(message),
  react: (message, emoji, isAdded) => void act("/page/reactions", { ...addressOf(message), emoji, isAdded }),
  goTo: (id) => list.goTo(id),
  messageCommands: () => state.commands.filter((command) => command.kind === "message"),
  runMessageCommand: (message, name) => void uses.runMessageCommand(message, name),
};
const list = new MessageList({ names, actions });
const uses = new Uses({
  currentId: () => state.currentId,
  keepView: (change) => list.keepView(change),
  showProblem: (error) => frame.showProblem(error),
});
const composer = new Composer({
  commands: () => state.commands.filter((command) => command.kind === "slash"),
  users: () => [...state.users],
  roles: () => [...state.roles],
  channels: () => state.channels.map((channel) => [channel.id, channel.name]),
  onSent: () => list.toBottom(),
});

const typing = new Typing({ currentId: () => state.currentId, ofUser: names.ofUser });

// --- events -----------------------------------------------------------------------------------------------

function connect(): void {
  void followEvents({
    onOpen: () => frame.setConnected(true),
    onEvent: handle,
    onLost: () => frame.setConnected(false),
    onRefused: () => frame.setOver(),
  });
}

function handle(event: PageEvent): void {
  switch (event.type) {
    case "hello":
      state.start(event);
      uses.clear();
      frame.start(event);
      list.namesChanged();
      void show(location.hash.slice(1));
      break;
    case "message":
      showMessage(event.message, event.isNew);
      break;
    case "message-delete":
      if (event.channelId === state.currentId) list.remove(event.id);
      break;
    case "roles":
      state.setRoles(event.roles);
      list.namesChanged();
      break;
    case "typing":
      typing.note(event.channelId, event.userId);
      break;
    case "channel":
      state.setChannel(event.channel);
      list.namesChanged();
      drawSidebar(state);
      if (event.channel.id === state.currentId) drawTop();
      break;
    case "channel-delete":
      state.deleteChannel(event.id);
      list.namesChanged();
      leaveWhatIsGone();
      break;
    case "thread":
      if (state.setThread(event.thread)) list.namesChanged();
      drawSidebar(state);
      if (event.thread.id === state.currentId) drawTop();
      break;
    case "thread-delete":
      state.deleteThread(event.id);
      list.namesChanged();
      leaveWhatIsGone();
      break;
    case "commands":
      state.commands = event.commands;
      composer.commandsChanged();
      break;
    case "presence":
      frame.setBotOnline(event.isBotOnline);
      break;
    case "interaction":
      uses.note(event.interaction);
      break;
  }
}

function showMessage(message: SeenMessage, isNew: boolean): void {
  const isCurrent = message.channelId === state.currentId;
  if (isNew) typing.stop(message.channelId, message.author.id);
  if (isNew) state.noteMessage(message, isCurrent && isWatched());
  if (isCurrent) {
    list.upsert([message]);
    if (isNew && message.author.id !== state.me) announce(message);
    if (isWatched()) state.markRead(message.channelId);
  }
  if (isNew) drawSidebar(state);
}

// --- showing ----------------------------------------------------------------------------------------------

function openChannel(id: string): void {
  if (location.hash.slice(1) === id) void show(id);
  else location.hash = id;
}

/** Who looked at something that is gone looks at the first channel. */
function leaveWhatIsGone(): void {
  const [first] = state.textChannels;
  if (state.currentId !== undefined && !state.current && first) openChannel(first.id);
  drawSidebar(state);
}

/** Shows a channel or thread; the first channel if there is none with that id. */
async function show(id: string): Promise<void> {
  const channel = state.findChannel(id) ?? state.textChannels[0];
  if (!channel) return;
  const isOther = channel.id !== state.currentId;
  state.currentId = channel.id;
  frame.closeDrawer();
  if (isOther) list.clear();
  drawTop();
  drawSidebar(state);
  uses.draw();
  try {
    await loadMessages();
  } catch (error) {
    frame.showProblem(error);
    return;
  }
  if (state.currentId !== channel.id) return;
  if (isOther) list.toBottom();
  state.markRead(channel.id);
  drawSidebar(state);
  if (isOther && matchMedia("(pointer: fine)").matches) composer.focus();
}

async function loadMessages(before?: string): Promise<void> {
  const channelId = state.currentId;
  if (channelId === undefined) return;
  const query = new URLSearchParams({ channel: channelId, ...(before === undefined ? {} : { before }) });
  const page = await get<{ messages: SeenMessage[]; hasMore: boolean }>(`/page/messages?${query}`);
  if (state.currentId !== channelId) return;
  list.upsert(page.messages);
  byId("load-older").hidden = !page.hasMore;
  byId("welcome").hidden = page.hasMore;
}

function drawTop(): void {
  frame.drawTopbar();
  typing.draw();
  if (state.current) composer.setChannel(state.current);
}

function isWatched(): boolean {
  return document.visibilityState === "visible" && list.isAtBottom();
}

let announcedAt = 0;

/** For screen readers: what is new, not every edit, and not more than once a second. */
function announce(message: SeenMessage): void {
  if (Date.now() - announcedAt < 1000) return;
  announcedAt = Date.now();
  const text = message.content.replace(/```\w*/g, "").slice(0, 150);
  byId("announcer").textContent = `${message.author.name}: ${text || "new message"}`;
}

// --- acting -----------------------------------------------------------------------------------------------

function addressOf(message: SeenMessage): { channelId: string; messageId: string } {
  return { channelId: message.channelId, messageId: message.id };
}

async function act(path: string, body: object): Promise<void> {
  try {
    await post(path, body);
  } catch (error) {
    frame.showProblem(error);
  }
}

async function remove(message: SeenMessage): Promise<void> {
  if (!(await confirmDialog("Delete message", "It goes for everybody.", "Delete"))) return;
  await act("/page/messages/delete", addressOf(message));
}

async function edit(message: SeenMessage): Promise<void> {
  const field = {
    label: "Message",
    value: message.content,
    isLong: true,
    maxLength: MAX_CONTENT_CHARACTERS,
  };
  const content = await askDialog("Edit message", field);
  if (content !== undefined) await act("/page/messages/edit", { ...addressOf(message), content });
}

byId("load-older").addEventListener("click", () => {
  const oldest = list.oldestId;
  if (oldest !== undefined) loadMessages(oldest).catch((error: unknown) => frame.showProblem(error));
});
window.addEventListener("hashchange", () => {
  if (!beginsAnew()) void show(location.hash.slice(1));
});
document.addEventListener("visibilitychange", () => {
  if (state.currentId === undefined || !isWatched()) return;
  state.markRead(state.currentId);
  drawSidebar(state);
});

takeKey();
startTicking();
connect();
