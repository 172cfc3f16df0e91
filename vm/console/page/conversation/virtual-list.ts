/**
 * A list of which only what is in sight is in the page. Heights are guessed until a row is drawn and measured; what
 * the eye rests on stays where it is, whatever is measured, loaded or added above it. At the bottom it follows.
 */
export interface ListRow {
  readonly seq: number;
  isHidden: boolean;
  /** Left out, as long as something else is looked for. */
  isOut: boolean;
  version: number;
  heightPx: number | undefined;
}

export interface Section<R extends ListRow> {
  /** Undefined while they are not loaded. */
  rows: readonly R[] | undefined;
}

export interface ListOptions<R extends ListRow, S extends Section<R>> {
  scroller: HTMLElement;
  /** Inside of the scroller; what stands below it there is always shown. */
  canvas: HTMLElement;
  sections: () => readonly S[];
  /** Guesses the height of a section that is not loaded. */
  guessSection: (section: S) => number;
  guessRow: (row: R) => number;
  draw: (row: R) => HTMLElement;
  /** These sections are in sight, the first and the last by their index. */
  onLook: (first: number, last: number) => void;
  onFollow: (isFollowing: boolean) => void;
}

interface Drawn {
  element: HTMLElement;
  version: number;
}

const OVERSCAN_PX = 600;
const MAX_PASSES = 4;
/** So near its end the list follows what is added. */
const FOLLOW_PX = 40;

export class VirtualList<R extends ListRow, S extends Section<R>> {
  readonly #options: ListOptions<R, S>;
  readonly #drawn = new Map<R | S, Drawn>();
  readonly #observer: ResizeObserver;
  /** As they were laid out last, from top to bottom. */
  #sections: { section: S; topPx: number; heightPx: number }[] = [];
  #rows: { row: R; topPx: number; heightPx: number }[] = [];
  #isFollowing = true;
  #frame: number | undefined;
  #isDisposed = false;

  constructor(options: ListOptions<R, S>) {
    this.#options = options;
    options.scroller.tabIndex = 0; // keys scroll it
    this.#observer = new ResizeObserver(() => this.update());
    this.#observer.observe(options.scroller);
    options.scroller.addEventListener("scroll", this.#onScroll, { passive: true });
  }

  get isFollowing(): boolean {
    return this.#isFollowing;
  }

  /** To be called when anything has changed; it is drawn with the next frame. Another list may have the canvas now. */
  update(): void {
    if (this.#isDisposed) return;
    this.#frame ??= window.requestAnimationFrame(() => {
      this.#frame = undefined;
      this.#redraw();
    });
  }

  toEnd(): void {
    this.#setFollowing(true);
    this.update();
  }

  dispose(): void {
    this.#isDisposed = true;
    if (this.#frame !== undefined) window.cancelAnimationFrame(this.#frame);
    this.#observer.disconnect();
    this.#options.scroller.removeEventListener("scroll", this.#onScroll);
    for (const { element } of this.#drawn.values()) element.remove();
    this.#drawn.clear();
  }

  readonly #onScroll = (): void => {
    const { scrollHeight, clientHeight, scrollTop } = this.#options.scroller;
    this.#setFollowing(scrollHeight - clientHeight - scrollTop <= FOLLOW_PX);
    this.update();
  };

  #setFollowing(isFollowing: boolean): void {
    if (this.#isFollowing === isFollowing) return;
    this.#isFollowing = isFollowing;
    this.#options.onFollow(isFollowing);
  }

  #redraw(): void {
    const { scroller, canvas } = this.#options;
    if (scroller.clientHeight === 0) return; // not shown
    const anchor = this.#findAnchor();
    for (let pass = 0; pass < MAX_PASSES; pass++) {
      const heightPx = this.#layOut();
      canvas.style.height = `${heightPx}px`;
      const topPx = this.#isFollowing ? scroller.scrollHeight : anchor && this.#topOf(anchor);
      if (topPx !== undefined && Math.abs(topPx - scroller.scrollTop) >= 1) scroller.scrollTop = topPx;
      if (!this.#drawSight()) break;
    }
    const inSight = this.#sections
      .map((placed, index) => ({ ...placed, index }))
      .filter((placed) => this.#isInSight(placed));
    const [first, last] = [inSight[0], inSight.at(-1)];
    if (first && last) this.#options.onLook(first.index, last.index);
  }

  /** What stands at the top of the sight, as it was laid out last, and how far above the edge it begins. */
  #findAnchor(): { target: R | S; offsetPx: number } | undefined {
    const { scrollTop } = this.#options.scroller;
    const row = this.#rows.find(({ topPx, heightPx }) => topPx + heightPx > scrollTop);
    const section = this.#sections.find(({ topPx, heightPx }) => topPx + heightPx > scrollTop);
    if (row && (!section || section.section.rows) && row.topPx <= scrollTop + OVERSCAN_PX) {
      return { target: row.row, offsetPx: scrollTop - row.topPx };
    }
    return section && { target: section.section, offsetPx: scrollTop - section.topPx };
  }

  #topOf({ target, offsetPx }: { target: R | S; offsetPx: number }): number | undefined {
    for (const { section, topPx } of this.#sections) {
      if (section === target) return topPx + offsetPx;
      let rowTopPx = topPx;
      for (const row of section.rows ?? []) {
        if (row === target) return rowTopPx + offsetPx;
        rowTopPx += this.#heightOf(row);
      }
    }
    return undefined;
  }

  #heightOf(row: R): number {
    return row.isHidden || row.isOut ? 0 : (row.heightPx ?? this.#options.guessRow(row));
  }

  /** @returns the height of all. */
  #layOut(): number {
    let topPx = 0;
    this.#sections = this.#options.sections().map((section) => {
      const heightPx = section.rows
        ? section.rows.reduce((sum, row) => sum + this.#heightOf(row), 0)
        : this.#options.guessSection(section);
      const placed = { section, topPx, heightPx };
      topPx += heightPx;
      return placed;
    });
    return topPx;
  }

  #isInSight({ topPx, heightPx }: { topPx: number; heightPx: number }): boolean {
    const { scrollTop, clientHeight } = this.#options.scroller;
    return topPx + heightPx > scrollTop - OVERSCAN_PX && topPx < scrollTop + clientHeight + OVERSCAN_PX;
  }

  /** @returns whether a row turned out to be of another height. */
  #drawSight(): boolean {
    const rows: { row: R; topPx: number; heightPx: number }[] = [];
    const waiting: { section: S; topPx: number; heightPx: number }[] = [];
    for (const placed of this.#sections.filter((each) => this.#isInSight(each))) {
      if (!placed.section.rows) waiting.push(placed);
      let { topPx } = placed;
      for (const row of placed.section.rows ?? []) {
        const heightPx = this.#heightOf(row);
        if (!row.isHidden && !row.isOut && this.#isInSight({ topPx, heightPx }))
          rows.push({ row, topPx, heightPx });
        topPx += heightPx;
      }
    }
    this.#rows = rows;
    this.#place(rows, waiting);
    let hasChanged = false;
    for (const { row } of rows) {
      const heightPx = this.#drawn.get(row)?.element.getBoundingClientRect().height ?? 0;
      if (row.heightPx !== undefined && Math.abs(row.heightPx - heightPx) < 0.5) continue;
      row.heightPx = heightPx;
      hasChanged = true;
    }
    return hasChanged;
  }

  #place(
    rows: readonly { row: R; topPx: number }[],
    waiting: readonly { section: S; topPx: number; heightPx: number }[],
  ): void {
    const { canvas, scroller, draw } = this.#options;
    const wanted = new Set<R | S>([...rows.map(({ row }) => row), ...waiting.map(({ section }) => section)]);
    let focused: R | S | undefined;
    for (const [key, { element, version }] of [...this.#drawn]) {
      if (wanted.has(key) && (!("version" in key) || key.version === version)) continue;
      const hadFocus = element.contains(document.activeElement);
      this.#observer.unobserve(element);
      element.remove();
      this.#drawn.delete(key);
      // A person who reads by keyboard goes on where they were: in the row that is drawn anew, or at least in the list.
      if (hadFocus && wanted.has(key)) focused = key;
      else if (hadFocus) scroller.focus({ preventScroll: true });
    }
    let cursor = canvas.firstElementChild;
    const put = (key: R | S, version: number, topPx: number, create: () => HTMLElement) => {
      let drawn = this.#drawn.get(key);
      if (!drawn) {
        drawn = { element: create(), version };
        drawn.element.classList.add("placed");
        this.#drawn.set(key, drawn);
        this.#observer.observe(drawn.element);
      }
      drawn.element.style.top = `${topPx}px`;
      if (drawn.element === cursor) cursor = cursor.nextElementSibling;
      else canvas.insertBefore(drawn.element, cursor);
      return drawn.element;
    };
    for (const { row, topPx } of rows) put(row, row.version, topPx, () => draw(row));
    for (const { section, topPx, heightPx } of waiting) {
      put(section, 0, topPx, drawWaiting).style.height = `${heightPx}px`;
    }
    if (focused) this.#drawn.get(focused)?.element.querySelector("button")?.focus({ preventScroll: true });
  }
}

function drawWaiting(): HTMLElement {
  const element = document.createElement("p");
  element.className = "waiting-rows";
  element.textContent = "Loading …";
  return element;
}
