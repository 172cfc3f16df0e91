/** What stands around the messages: the bar at the top, the banner, the drawer of narrow screens. */
import type { SeenChannel } from "../seen.ts";
import { post } from "./api.ts";
import { askDialog, confirmDialog } from "./dialogs.ts";
import { byId, el, errorText, hueOf } from "./dom.ts";
import { type IconName, icon } from "./icons.ts";
import type { Hello, PageChannel, PageState } from "./state.ts";

const PROBLEM_MS = 6_000;
const MAX_NAME_CHARACTERS = 100;

export class Frame {
  readonly #state: PageState;
  #isConnected = false;
  #isBotOnline = false;
  #isOver = false;

  constructor(state: PageState) {
    this.#state = state;
    byId("open-sidebar").prepend(icon("menu"));
    byId("open-sidebar").addEventListener("click", () => setDrawer(true));
    byId("make-channel").append(icon("attach"));
    byId("make-channel").addEventListener("click", () => void this.#makeChannel());
    byId("scrim").addEventListener("click", () => setDrawer(false));
    // A tap on the thread that is shown already changes no address, and is still meant to close the drawer.
    byId("channel-tree").addEventListener("click", (event) => {
      if (event.target instanceof Element && event.target.closest("a")) setDrawer(false);
    });
    document.addEventListener("keydown", (event) => {
      if (event.key === "Escape") setDrawer(false);
    });
  }

  start(hello: Hello): void {
    byId("guild-name").textContent = hello.guildName;
    byId("self-name").textContent = this.#state.users.get(hello.me) ?? "You";
    byId("self-avatar").className = `avatar small hue-${hueOf(hello.me)}`;
    this.setBotOnline(hello.isBotOnline);
  }

  setConnected(isConnected: boolean): void {
    this.#isConnected = isConnected;
    this.#drawBotState();
  }

  setBotOnline(isOnline: boolean): void {
    this.#isBotOnline = isOnline;
    this.#drawBotState();
  }

  /** Another local Discord answers at this address now: nothing on this page works any more. */
  setOver(): void {
    this.#isOver = true;
    this.drawBanner();
  }

  showProblem(error: unknown): void {
    showBanner(errorText(error));
    setTimeout(() => this.drawBanner(), PROBLEM_MS);
  }

  closeDrawer(): void {
    setDrawer(false);
  }

  drawTopbar(): void {
    const channel = this.#state.current;
    if (!channel) return;
    byId("channel-title").replaceChildren(
      el("span", { class: "channel-icon", "aria-hidden": "true" }, channel.isThread ? icon("thread") : "#"),
      el("span", { class: "channel-name", title: channel.name }, channel.name),
      this.#parentOf(channel) ?? "",
    );
    byId("thread-actions").replaceChildren(...(channel.isThread ? this.#threadActions(channel) : []));
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
    this.drawBanner();
  }

  drawBanner(): void {
    const channel = this.#state.current;
    if (this.#isOver)
      showBanner("Open the address that local Discord printed when it started: only it lets you in.");
    else if (!this.#isConnected) showBanner("Connection lost: trying again…");
    else if (channel?.isArchived && channel.isLocked) {
      showBanner("This thread is archived and locked: nobody writes here until it is unlocked.");
    } else if (channel?.isArchived) showBanner("This thread is archived. Writing in it brings it back.");
    else if (!this.#isBotOnline) {
      showBanner(`${this.#state.botName} is offline: nobody answers until it is back.`);
    } else showBanner("");
  }

  /** The channel of a thread, if there are several. */
  #parentOf({ parentId }: PageChannel): HTMLElement | undefined {
    const parent = parentId === undefined ? undefined : this.#state.findChannel(parentId);
    if (!parent || this.#state.textChannels.length < 2) return undefined;
    return el("a", { class: "channel-parent", href: `#${parent.id}` }, `#${parent.name}`);
  }

  async #makeChannel(): Promise<void> {
    const field = { label: "Name", value: "", maxLength: MAX_NAME_CHARACTERS };
    const name = await askDialog("Make a channel", field);
    if (name === undefined) return;
    try {
      const made = await post<SeenChannel>("/page/channels", { name });
      this.#state.setChannel(made);
      location.hash = made.id;
    } catch (error) {
      this.showProblem(error);
    }
  }

  #drawBotState(): void {
    const line = byId("bot-state");
    const isOnline = this.#isConnected && this.#isBotOnline;
    const what = isOnline ? "online" : "offline";
    line.textContent = this.#isConnected ? `${this.#state.botName} is ${what}` : "connecting…";
    line.className = what;
    this.drawBanner();
  }

  #threadActions(thread: PageChannel): HTMLElement[] {
    const change = (body: object) =>
      post("/page/threads", { threadId: thread.id, ...body }).catch((error: unknown) =>
        this.showProblem(error),
      );
    const rename = async () => {
      const field = { label: "Name", value: thread.name, maxLength: MAX_NAME_CHARACTERS };
      const name = await askDialog("Rename thread", field);
      if (name !== undefined) await change({ action: "rename", name });
    };
    const remove = async () => {
      const text = `“${thread.name}” and everything in it goes for everybody.`;
      if (await confirmDialog("Delete thread", text, "Delete")) await change({ action: "delete" });
    };
    const open = thread.isLocked
      ? iconButton("Unlock thread", "unlock", () => change({ action: "unlock" }))
      : thread.isArchived
        ? iconButton("Bring back thread", "restore", () => change({ action: "unarchive" }))
        : iconButton("Archive thread", "archive", () => change({ action: "archive" }));
    return [
      ...(thread.isArchived ? [] : [iconButton("Rename thread", "pencil", rename)]),
      open,
      iconButton("Delete thread", "trash", remove),
    ];
  }
}

function iconButton(label: string, mark: IconName, onclick: () => unknown): HTMLElement {
  const names = { title: label, "aria-label": label };
  return el("button", { type: "button", class: "icon-button", ...names, onclick }, icon(mark));
}

function showBanner(text: string): void {
  const banner = byId("banner");
  banner.textContent = text;
  banner.hidden = text === "";
}

function setDrawer(isOpen: boolean): void {
  const app = byId("app");
  if (app.classList.contains("drawer-open") === isOpen) return;
  app.classList.toggle("drawer-open", isOpen);
  byId("scrim").hidden = !isOpen;
  byId("open-sidebar").setAttribute("aria-expanded", String(isOpen));
  if (isOpen) byId("sidebar").querySelector<HTMLElement>("a.channel")?.focus();
}
