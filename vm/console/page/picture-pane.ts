/** One browser thread's page: its picture, what is said of it, and what can be done with it. */
import type { SentBrowserOp } from "../../../shared/browser/ops.ts";
import { VIEW } from "../../../shared/browser/spec.ts";
import type { BrowserState } from "../../../shared/browser/state.ts";
import { ApiError, actInBrowser, findBrowserState, findPicture } from "./api.ts";
import { errorText, find, make, makeButton } from "./dom.ts";
import type { Panel, PanelOptions } from "./kinds/kind.ts";

const LOOK_MS = 1_000;

export type PicturePaneOptions = Pick<PanelOptions, "threadId" | "canAct" | "onSignedOut">;

const BUTTONS: readonly (readonly [string, string, SentBrowserOp])[] = [
  ["←", "Back", { do: "back" }],
  ["↻", "Reload", { do: "reload" }],
  ["▲", "Scroll up", { do: "scroll", to: "up" }],
  ["▼", "Scroll down", { do: "scroll", to: "down" }],
  ["⏎", "Press Enter", { do: "press", key: "Enter" }],
  ["◼", "Stop loading", { do: "stop" }],
];

export class PicturePane implements Panel {
  readonly #options: PicturePaneOptions;
  readonly #timer: number;
  readonly #url = make("input");
  readonly #text = make("input");
  readonly #number = make("input");
  readonly #canvas = make("canvas");
  readonly #marks = make("ol", "marks");
  #state: BrowserState | undefined;
  #isClosed = false;

  constructor(options: PicturePaneOptions) {
    this.#options = options;
    this.#build();
    this.#timer = window.setInterval(() => void this.#look(), LOOK_MS);
    void this.#look();
  }

  close(): void {
    this.#isClosed = true;
    window.clearInterval(this.#timer);
    find("#page-view").hidden = true;
  }

  #build(): void {
    Object.assign(this.#url, { placeholder: "Address", autocapitalize: "off", spellcheck: false });
    this.#url.setAttribute("aria-label", "Address");
    Object.assign(this.#number, { placeholder: "No.", inputMode: "numeric", maxLength: 2 });
    this.#number.className = "number";
    this.#number.setAttribute("aria-label", "Number of the field; nothing: where the cursor is");
    this.#text.placeholder = "Text to type";
    this.#text.setAttribute("aria-label", "Text to type");
    Object.assign(this.#canvas, VIEW);
    this.#canvas.setAttribute("role", "img");
    const bar = make("div", "bar", [
      ...BUTTONS.map(([label, name, op]) => {
        const button = makeButton(label, () => void this.#act(op));
        button.setAttribute("aria-label", name);
        button.title = name;
        return button;
      }),
      this.#form([this.#url], "Go", () => ({ do: "open", url: this.#url.value })),
      this.#form([this.#number, this.#text], "Type", () => this.#typed()),
    ]);
    bar.hidden = !this.#options.canAct;
    const view = find("#page-view");
    view.hidden = false;
    view.replaceChildren(bar, make("p", "said"), this.#canvas, this.#marks);
  }

  #form(fields: readonly HTMLElement[], label: string, op: () => SentBrowserOp): HTMLFormElement {
    const button = make("button", "", [label]);
    const form = make("form", "", [...fields, button]);
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      void this.#act(op());
    });
    return form;
  }

  #typed(): SentBrowserOp {
    const text = this.#text.value;
    const place = this.#number.value.trim();
    if (place === "") return { do: "type", text };
    return { do: "type", text, number: Number(place), ...this.#picture() };
  }

  /** The numbers are of the picture that the person sees. */
  #picture(): { picture?: number } {
    const { picture = 0 } = this.#state ?? {};
    return picture > 0 ? { picture } : {};
  }

  async #act(op: SentBrowserOp): Promise<void> {
    await this.#try(async () => this.#show(await actInBrowser(this.#options.threadId, op)));
  }

  async #look(): Promise<void> {
    if (document.visibilityState === "hidden") return;
    await this.#try(async () => {
      const state = await findBrowserState(this.#options.threadId);
      if (state) await this.#show(state);
    });
  }

  async #try(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (this.#isClosed) return;
      if (error instanceof ApiError && error.status === 401) return this.#options.onSignedOut();
      find("#page-view .said").textContent = errorText(error);
    }
  }

  async #show(state: BrowserState): Promise<void> {
    const before = this.#state;
    if (this.#isClosed || (before && before.version >= state.version)) return;
    this.#state = state;
    const { title, url, note, status, marks, picture } = state;
    const says = status === "starting" || status === "loading" ? `${status} …` : "";
    find("#page-view .said").textContent = [title, note ?? "", says]
      .filter((part) => part !== "")
      .join(" · ");
    if (document.activeElement !== this.#url) this.#url.value = url;
    if (picture === before?.picture) return;
    const buttons = marks.map(({ number, kind, text }) => {
      const press = () => void this.#act({ do: "click", number, picture });
      const button = makeButton(`${number} ${text || kind}`, press);
      button.title = kind;
      button.disabled = !this.#options.canAct;
      return make("li", "", [button]);
    });
    this.#marks.replaceChildren(...buttons);
    this.#canvas.setAttribute("aria-label", `Picture ${picture} of ${title || url}`);
    const found = await findPicture(this.#options.threadId);
    if (!found || this.#isClosed) return;
    const image = await createImageBitmap(found);
    this.#canvas.getContext("2d")?.drawImage(image, 0, 0, VIEW.width, VIEW.height);
    image.close();
  }
}
