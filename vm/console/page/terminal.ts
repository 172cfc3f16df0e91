/** xterm.js with exactly the thread's columns and rows: the letters are scaled, never the size. */
import { FitAddon } from "@xterm/addon-fit";
import { Unicode11Addon } from "@xterm/addon-unicode11";
import { Terminal } from "@xterm/xterm";
import { insideFrame } from "../../../shared/paste.ts";

export interface ScreenOptions {
  container: HTMLElement;
  onText: (text: string) => void;
  onBinary: (latin1: string) => void;
}

const LARGEST_PX = 17;
/** 80 columns of these fit on a phone of 390 px; wider threads are scrolled. */
const SMALLEST_PX = 8;
const ZOOMED_PX = 14;

export class Screen {
  readonly #terminal: Terminal;
  readonly #fit = new FitAddon();
  readonly #container: HTMLElement;
  readonly #observer: ResizeObserver;
  #isZoomed = false;

  constructor({ container, onText, onBinary }: ScreenOptions) {
    this.#container = container;
    this.#terminal = new Terminal({
      allowProposedApi: true, // for the widths of Unicode 11, which tmux goes by
      fontFamily:
        'ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, "Liberation Mono", monospace, "Console Emoji"',
      fontSize: LARGEST_PX,
      // tmux draws the screen; what has scrolled off is not here.
      scrollback: 0,
      theme: {
        background: "#0c0e13",
        foreground: "#e6e9f0",
        cursor: "#7fd1ae",
        selectionBackground: "#3a4763",
      },
    });
    this.#terminal.loadAddon(new Unicode11Addon());
    this.#terminal.unicode.activeVersion = "11";
    this.#terminal.loadAddon(this.#fit);
    this.#terminal.open(container);
    container.addEventListener("paste", this.#paste, { capture: true });
    this.#terminal.onData(onText);
    this.#terminal.onBinary(onBinary);
    this.#terminal.onCursorMove(() => this.#followCursor());
    this.#observer = new ResizeObserver(() => this.#scale());
    this.#observer.observe(container);
  }

  resize(cols: number, rows: number): void {
    this.#terminal.resize(cols, rows);
    this.#scale();
  }

  /** Empties it for a new socket. */
  reset(): void {
    this.#terminal.reset();
  }

  write(bytes: Uint8Array, onDrawn: () => void): void {
    this.#terminal.write(bytes, onDrawn);
  }

  setTyping(canType: boolean): void {
    this.#terminal.options.disableStdin = !canType;
    this.#terminal.options.cursorBlink = canType;
  }

  setZoomed(isZoomed: boolean): void {
    this.#isZoomed = isZoomed;
    this.#scale();
    this.#followCursor();
  }

  focus(): void {
    this.#terminal.focus();
  }

  /** As if typed. */
  input(text: string): void {
    this.#terminal.input(text);
  }

  /** xterm.js frames a paste if the program wants that, and would let the text end its own frame. */
  readonly #paste = (event: ClipboardEvent): void => {
    const text = event.clipboardData?.getData("text/plain");
    if (text === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    this.#terminal.paste(this.#terminal.modes.bracketedPasteMode ? insideFrame(text) : text);
  };

  dispose(): void {
    this.#container.removeEventListener("paste", this.#paste, { capture: true });
    this.#observer.disconnect();
    this.#terminal.dispose();
  }

  /** The largest letters with which all of it can be seen. */
  #scale(): void {
    if (this.#container.clientWidth === 0) return;
    const { cols, rows, options } = this.#terminal;
    let [smallest, largest] = [SMALLEST_PX, this.#isZoomed ? ZOOMED_PX : LARGEST_PX];
    if (this.#isZoomed) smallest = largest;
    while (smallest < largest) {
      const tried = Math.ceil((smallest + largest) / 2);
      options.fontSize = tried;
      const room = this.#fit.proposeDimensions();
      if (room && room.cols >= cols && room.rows >= rows) smallest = tried;
      else largest = tried - 1;
    }
    options.fontSize = smallest;
  }

  /** xterm.js keeps its text area at the cursor, for the keyboard's sake. */
  #followCursor(): void {
    const { scrollWidth, clientWidth, scrollHeight, clientHeight } = this.#container;
    if (scrollWidth <= clientWidth && scrollHeight <= clientHeight) return;
    this.#terminal.textarea?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }
}
