/** One thread's terminal: its screen, the keys that a phone lacks, and what a person should know of its connection. */
import type { Thread } from "../../../shared/api.ts";
import { type AttachMode, describeState, type ServerFrame } from "../../../shared/attach.ts";
import { Connection, type ConnectionState } from "./connection.ts";
import { find, make } from "./dom.ts";
import { SCREEN_KEYS, withCtrl } from "./keys.ts";
import { Screen } from "./terminal.ts";

export type ThreadState = Pick<Thread, "status" | "exitCode" | "signal">;

export interface TerminalPaneOptions {
  threadId: string;
  mode: AttachMode;
  /** It shows the pane of a thread that people write to in a conversation beside it. */
  isBeside: boolean;
  /** How the thread stands, as the socket says. */
  onStatus: (state: ThreadState) => void;
  onSignedOut: () => void;
}

let isZoomed = false;

export class TerminalPane {
  readonly #options: TerminalPaneOptions;
  readonly #timer = window.setInterval(() => this.show(), 250);
  #screen: Screen | undefined;
  #connection: Connection | undefined;
  #status: ThreadState | undefined;
  #state: ConnectionState = { kind: "connecting" };
  #heldSmallUntil: string | null = null;
  #hasCtrl = false;

  constructor(options: TerminalPaneOptions) {
    this.#options = options;
    this.#buildKeys();
    find("#retry").onclick = () => this.#connection?.retryNow();
    find("#zoom").onclick = () => {
      isZoomed = !isZoomed;
      this.#screen?.setZoomed(isZoomed);
      this.show();
    };
    this.show();
  }

  /** Ends what it shows, or would. */
  close(): void {
    window.clearInterval(this.#timer);
    this.#connection?.close();
    this.#screen?.dispose();
  }

  /** @param text why there is none */
  setOver(text: string): void {
    this.#state = { kind: "over", text };
    this.show();
  }

  setStatus(status: ThreadState): void {
    this.#status = status;
    this.show();
  }

  /** The thread's `heldSmallUntil`. */
  setHeldSmall(until: string | null): void {
    this.#heldSmallUntil = until;
    this.show();
  }

  connect(): void {
    const { threadId, mode, isBeside } = this.#options;
    const screen = new Screen({
      container: find("#screen"),
      onText: (text) => {
        this.#connection?.send(this.#hasCtrl ? withCtrl(text) : text);
        this.#setCtrl(false);
      },
      onBinary: (latin1) => this.#connection?.sendBinary(latin1),
    });
    screen.setZoomed(isZoomed);
    this.#screen = screen;
    this.#connection = new Connection({
      threadId,
      mode,
      onState: (state) => {
        this.#state = state;
        if (state.kind === "signed out") return this.#options.onSignedOut();
        this.show();
      },
      onFrame: (frame) => this.#receive(frame),
      onFresh: () => screen.reset(),
      onBytes: (bytes, onDrawn) => screen.write(bytes, onDrawn),
    });
    if (mode === "type" && !isBeside) screen.focus();
  }

  #receive(frame: ServerFrame): void {
    switch (frame.type) {
      case "size":
        this.#screen?.resize(frame.cols, frame.rows);
        return;
      case "status":
      case "end":
        this.#status = frame;
        this.show();
        this.#options.onStatus(frame);
        return;
      case "error":
        return; // shown with the close that follows
    }
  }

  /** What the person should know: how the thread stands, and how the connection does. */
  show(): void {
    const { mode } = this.#options;
    const isOver = this.#state.kind === "over";
    const canType = mode === "type" && this.#state.kind === "open" && this.#status?.status === "running";
    this.#screen?.setTyping(canType);
    for (const button of document.querySelectorAll<HTMLButtonElement>("#keys button"))
      button.disabled = !canType;
    const notice = find("#notice");
    const text = this.#noticeText();
    if (find("#notice span").textContent !== text) find("#notice span").textContent = text;
    notice.hidden = text === "";
    notice.classList.toggle("final", this.#state.kind !== "waiting");
    find("#retry").hidden = this.#state.kind !== "waiting";
    find("#zoom").hidden = !this.#screen;
    find("#zoom").setAttribute("aria-pressed", String(isZoomed));
    find("#view-only").hidden = isOver || this.#options.isBeside;
    find("#screen").classList.toggle("is-over", isOver || this.#state.kind === "waiting");
  }

  #noticeText(): string {
    const { mode, isBeside } = this.#options;
    const state = this.#state;
    switch (state.kind) {
      case "connecting":
        return this.#screen ? "Connecting …" : "";
      case "waiting": {
        const seconds = Math.max(1, Math.ceil((state.retryAt - Date.now()) / 1_000));
        return `${state.reason} Trying again in ${seconds} s …`;
      }
      case "over":
        return this.#screen
          ? `${state.text} This is what it showed last.`
          : `${state.text} Its terminal is gone.`;
      case "open":
        if (isBeside) return this.#status?.status === "running" ? "" : "The agent rests.";
        if (this.#status?.status === "exited") {
          return `The process has ${describeState(this.#status)}. This is its last screen.`;
        }
        if (this.#heldSmallUntil !== null && Date.parse(this.#heldSmallUntil) > Date.now()) {
          const time = new Date(this.#heldSmallUntil).toLocaleTimeString();
          return `What this program printed kept all threads waiting: its terminal is held small until ${time}.`;
        }
        return mode === "view" ? "You are looking on; what you type goes nowhere." : "";
      case "signed out":
        return "";
    }
  }

  #buildKeys(): void {
    const buttons = SCREEN_KEYS.map(({ label, name, bytes }) => {
      const button = make("button", "", [label]);
      button.type = "button";
      button.setAttribute("aria-label", name);
      // The terminal keeps the focus, and the phone's keyboard stays.
      button.addEventListener("pointerdown", (event) => event.preventDefault());
      button.addEventListener("click", () => {
        if (label === "Ctrl") this.#setCtrl(!this.#hasCtrl);
        else this.#screen?.input(bytes);
      });
      if (label === "Ctrl") button.id = "ctrl";
      return button;
    });
    find("#keys").replaceChildren(...buttons);
    this.#setCtrl(false);
  }

  #setCtrl(isOn: boolean): void {
    this.#hasCtrl = isOn;
    find("#ctrl").setAttribute("aria-pressed", String(isOn));
  }
}
