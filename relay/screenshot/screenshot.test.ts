import { type ChildProcess, spawn } from "node:child_process";
import { inflateSync } from "node:zlib";
import { afterAll, describe, expect, it } from "vitest";
import type { ScreenReply } from "../../shared/screen-api.ts";
import { startSidecar } from "../../test/support/sidecar.ts";
import { openTerminal, refusal } from "../../test/support/threads.ts";
import { until, untilValue } from "../../test/support/wait.ts";
import { DEFAULT_BACKGROUND, DEFAULT_FOREGROUND, paletteColour } from "./palette.ts";
import { Screenshots, type ScreenshotsOptions } from "./screenshot.ts";
import { CELL_HEIGHT, CELL_WIDTH, PADDING, TITLE_HEIGHT } from "./svg.ts";
import { fullestScreens } from "./testing/fullest.ts";

const SCALE = 2;
const E = "\x1b[";
// No deadline to speak of: the machine may be busy with other tests.
const screenshots = new Screenshots({ deadlineMs: 60_000 });
afterAll(() => screenshots.close());

function screenOf(text: string, more: Partial<ScreenReply> = {}): ScreenReply {
  return { screen: text, cols: 20, rows: 5, cursor: { x: 0, y: 4 }, alternate: false, title: "", ...more };
}

describe("the picture", () => {
  it("is as large as the screen, with padding, and a bar where there is a title", async () => {
    const plain = await draw("hello");
    expect([plain.width, plain.height]).toEqual([
      (20 * CELL_WIDTH + 2 * PADDING) * SCALE,
      (5 * CELL_HEIGHT + 2 * PADDING) * SCALE,
    ]);
    const titled = await draw("hello", { title: "~/src <b>&amp;\x07 日本" });
    expect(titled.height).toBe(plain.height + TITLE_HEIGHT * SCALE);
    expect(titled.pixel(4, 4)).not.toBe(DEFAULT_BACKGROUND);
  });

  it("shows 16, 256 and 24-bit colours, in the background and in the text", async () => {
    const image = await draw(
      [
        `${E}41m  ${E}104m ${E}m`,
        `${E}48;5;202m ${E}48;5;240m ${E}m`,
        `${E}48;2;1;2;3m ${E}m`,
        `${E}31m█${E}m`,
      ].join("\n"),
    );
    expect([0, 1, 2, 3].map((column) => image.corner(column, 0))).toEqual([
      paletteColour(1),
      paletteColour(1),
      paletteColour(12),
      DEFAULT_BACKGROUND,
    ]);
    expect([image.corner(0, 1), image.corner(1, 1)]).toEqual([0xff5f00, 0x585858]);
    expect(image.corner(0, 2)).toBe(0x010203);
    expect(image.corner(0, 3)).toBe(paletteColour(1));
  });

  it("keeps the attributes from one row to the next, as tmux writes them", async () => {
    const image = await draw(`${E}42mab\ncd${E}49m e`);
    expect([image.corner(0, 0), image.corner(0, 1), image.corner(1, 1), image.corner(3, 1)]).toEqual([
      paletteColour(2),
      paletteColour(2),
      paletteColour(2),
      DEFAULT_BACKGROUND,
    ]);
  });

  it("turns inverse round, also with default colours; hides what is hidden; dims what is dim", async () => {
    const image = await draw(
      [`${E}7m ${E}31m ${E}m`, `${E}8m█${E}m`, `${E}2m█${E}m`, `${E}1;30m█${E}m`].join("\n"),
    );
    expect(image.corner(0, 0)).toBe(DEFAULT_FOREGROUND);
    expect(image.corner(1, 0)).toBe(paletteColour(1));
    expect(image.corner(0, 1)).toBe(DEFAULT_BACKGROUND);
    expect(brightness(image.corner(0, 2))).toBeLessThan(brightness(DEFAULT_FOREGROUND) * 0.7);
    expect(image.corner(0, 3)).toBe(paletteColour(8));
  });

  it("draws bold, italic, underlined and struck text each in a way of its own", async () => {
    const rows = await Promise.all(
      ["", "1", "3", "4", "9"].map(async (code) => (await draw(`${E}${code}mHm${E}m`)).ink(0, 0, 2)),
    );
    expect(new Set(rows).size).toBe(5);
    expect(rows[1]).toBeGreaterThan((rows[0] ?? 0) * 1.1);
    const underlined = await draw(`${E}4;31m  ${E}m`);
    expect(underlined.coloursOf(0, 0)).toEqual(new Set([DEFAULT_BACKGROUND, paletteColour(1)]));
  });

  it("gives wide characters two columns and leaves what follows in its own", async () => {
    const wide = await draw(`日本${E}41m ${E}m\n😀${E}42m `);
    expect([wide.corner(3, 0), wide.corner(4, 0), wide.corner(5, 0)]).toEqual([
      DEFAULT_BACKGROUND,
      paletteColour(1),
      DEFAULT_BACKGROUND,
    ]);
    expect([wide.corner(1, 1), wide.corner(2, 1)]).toEqual([DEFAULT_BACKGROUND, paletteColour(2)]);
    expect(wide.ink(0, 1, 2)).toBeGreaterThan(20);
  });

  it("has a glyph for what agents and progress bars print", async () => {
    const box = (await draw("\u{10fffd}")).ink(0, 0, 1);
    for (const character of "⏺⎿⏵✻❯☐✔⠋⣾▌│╭░\ue0b0") {
      const ink = (await draw(character)).ink(0, 0, 1);
      expect([character, ink > 0, ink === box]).toEqual([character, true, false]);
    }
  });

  it("joins lines and blocks from row to row without a gap", async () => {
    const image = await draw(`${E}31m│█\n│█\n│█`);
    const middle = (CELL_WIDTH / 2) * SCALE;
    for (let y = 0; y < 3 * CELL_HEIGHT * SCALE; y++) {
      expect(image.pixel(PADDING * SCALE + middle, PADDING * SCALE + y)).toBe(paletteColour(1));
      expect(image.pixel((PADDING + CELL_WIDTH) * SCALE, PADDING * SCALE + y)).toBe(paletteColour(1));
    }
  });

  it("draws tmux's line drawing between SO and SI", async () => {
    const [charset, unicode] = [await draw("\x0eqqx\x0f"), await draw("──│")];
    // Not toEqual, which looks at half a million bytes one by one.
    expect(charset.pixels.equals(unicode.pixels)).toBe(true);
  });

  it("draws the cursor, on text, on a wide character and behind a full row", async () => {
    const on = (text: string, x: number) => draw(text, { cursor: { x, y: 0 } });
    expect((await on("ab", 1)).corner(1, 0)).toBe(DEFAULT_FOREGROUND);
    const wide = await on("日", 1);
    expect([wide.corner(0, 0), wide.corner(1, 0)]).toEqual([DEFAULT_FOREGROUND, DEFAULT_FOREGROUND]);
    expect((await on("x".repeat(20), 20)).corner(19, 0)).toBe(DEFAULT_FOREGROUND);
  });

  it("draws any text at all: markup, controls, broken surrogates, rows that are too long or too many", async () => {
    const rest = `</text>&<>]]>\ud800\ufffe\x00\x07\x1b]8;;x\x1b\\`;
    const image = await draw(`${rest}\n${"日".repeat(40)}\n${E}44m \n${"\n".repeat(50)}`);
    expect([image.corner(0, 2), image.corner(0, 3)]).toEqual([paletteColour(4), DEFAULT_BACKGROUND]);
  });

  it("is not too large for the largest screen", async () => {
    const png = await screenshots.render(screenOf("x", { cols: 500, rows: 200 }));
    expect(png.readUInt32BE(16) * png.readUInt32BE(20)).toBeLessThan(20_000_000);
  });

  // Promise: S22
  it("takes seconds for the fullest screen, whatever is in it, and stays small", async () => {
    for (const [name, screen] of fullestScreens()) {
      const startedMs = performance.now();
      const png = await screenshots.render(screen);
      // Ten times what it takes: the machine may be busy. It was 72 s and more.
      expect([name, performance.now() - startedMs < 20_000, png.length < 10_000_000]).toEqual([
        name,
        true,
        true,
      ]);
    }
  });

  it("shows what a terminal of the sidecar shows", async () => {
    const sidecar = await startSidecar();
    try {
      const command = "printf '\\033[41m red \\033[0m\\n\\033[7mend\\033[0m'; cat";
      await openTerminal(sidecar.client, "1", command, { cols: 20, rows: 5 });
      const screen = await untilValue(
        "the screen",
        () => sidecar.client.getScreen("1", { format: "ansi" }),
        (reply) => reply.screen.includes("end"),
      );
      const image = decode(await screenshots.render({ ...screen, title: "" }));
      expect([image.corner(0, 0), image.corner(0, 1)]).toEqual([paletteColour(1), DEFAULT_FOREGROUND]);
      expect(image.width).toBe((20 * CELL_WIDTH + 2 * PADDING) * SCALE);
    } finally {
      await sidecar.close();
    }
  });
});

describe("the worker", () => {
  it("is kept for the next screenshot and ended when it is idle", async () => {
    const { renderer, started } = rendererWith(REPLIES, { idleMs: 50 });
    await Promise.all([renderer.render(screenOf("a")), renderer.render(screenOf("b"))]);
    expect(started).toHaveLength(1);
    await until("the worker to end", () => started[0]?.signalCode === "SIGKILL");
    await renderer.render(screenOf("c"));
    expect(started).toHaveLength(2);
    await renderer.close();
  });

  it("costs only one screenshot when it throws, exits or says that it failed", async () => {
    for (const [how, sentence] of [
      ["throw new Error('broken')", /ended with 1/],
      ["process.exit(3)", /ended with 3/],
      ["process.send({ error: 'no font' })", /no font/],
    ] as const) {
      const { renderer } = rendererWith(
        `(screen) => { if (screen.title === "bad") { ${how} } else (${REPLIES})(screen) }`,
      );
      const [bad, good] = await Promise.allSettled([
        renderer.render(screenOf("", { title: "bad" })),
        renderer.render(screenOf("")),
      ]);
      expect([bad.status, good.status]).toEqual(["rejected", "fulfilled"]);
      expect((bad as PromiseRejectedResult).reason.message).toMatch(sentence);
      await renderer.close();
    }
  });

  // Promise: S22
  it("is given up at the deadline, whatever it does; those that wait get a new one", async () => {
    const hangs = `(screen) => { if (screen.title === "bad") for (;;); else (${REPLIES})(screen) }`;
    const { renderer, started } = rendererWith(hangs, { deadlineMs: 3_000 });
    const bad = refusal(renderer.render(screenOf("", { title: "bad" })));
    await until("the worker to start", () => started.length === 1);
    expect(await bad).toEqual({
      code: "unavailable",
      message: "The picture was not made within 3 s; try again in a moment.",
    });
    expect((await renderer.render(screenOf(""))).length).toBe(3);
    expect(started).toHaveLength(2);
    await renderer.close();
  });

  // Promise: S22
  it("refuses what would wait too long, and what waits when it is closed", async () => {
    const { renderer } = rendererWith("() => {}", { maxWaiting: 1 });
    const first = refusal(renderer.render(screenOf("")));
    const second = refusal(renderer.render(screenOf("")));
    expect((await refusal(renderer.render(screenOf("")))).message).toMatch(/^Too many screenshots/);
    await renderer.close();
    expect([(await first).code, (await second).code]).toEqual(["unavailable", "unavailable"]);
  });

  // Promise: S22
  it("is gone once the renderer is closed, also in the midst of a picture", async () => {
    const { renderer, started } = rendererWith("() => { for (;;); }");
    const picture = refusal(renderer.render(screenOf("")));
    await until("the worker to start", () => started[0]?.pid !== undefined);
    await renderer.close();
    expect((await picture).message).toBe("The relay is being stopped.");
    expect(started[0]?.signalCode).toBe("SIGKILL");
    expect((await refusal(renderer.render(screenOf("")))).message).toBe("The relay is being stopped.");
  });

  it("is no concern of the caller's where it can't be started", async () => {
    const renderer = new Screenshots({
      startWorker: () => {
        throw new Error("no processes left");
      },
    });
    await expect(renderer.render(screenOf(""))).rejects.toThrow("can't be started");
    await renderer.close();
  });
});

const REPLIES = "() => process.send({ png: new Uint8Array([1, 2, 3]) })";

/** A renderer whose workers answer each screen with `listener`, a function's source. */
function rendererWith(listener: string, options: ScreenshotsOptions = {}) {
  const started: ChildProcess[] = [];
  const startWorker = () => {
    const worker = spawn(process.execPath, ["-e", `process.on("message", ${listener});`], {
      stdio: ["ignore", "ignore", "ignore", "ipc"],
      serialization: "advanced",
    });
    started.push(worker);
    return worker;
  };
  return { renderer: new Screenshots({ startWorker, ...options }), started };
}

async function draw(text: string, more: Partial<ScreenReply> = {}): Promise<Image> {
  return decode(await screenshots.render(screenOf(text, more)));
}

interface Image {
  width: number;
  height: number;
  pixels: Buffer;
  pixel: (x: number, y: number) => number;
  /** The pixel in a cell's upper left corner, where no letter reaches. */
  corner: (column: number, row: number) => number;
  /** Every colour in a cell. */
  coloursOf: (column: number, row: number) => Set<number>;
  /** How many pixels of the cells are not background. */
  ink: (column: number, row: number, columns: number) => number;
}

/** PNG of 8 bits a channel, red, green and blue. */
function decode(png: Buffer): Image {
  expect(png.subarray(0, 8).toString("latin1")).toBe("\x89PNG\r\n\x1a\n");
  const width = png.readUInt32BE(16);
  const height = png.readUInt32BE(20);
  expect([...png.subarray(24, 29)]).toEqual([8, 2, 0, 0, 0]);
  const parts: Buffer[] = [];
  for (let at = 8; at < png.length; at += png.readUInt32BE(at) + 12) {
    if (png.toString("latin1", at + 4, at + 8) === "IDAT") {
      parts.push(png.subarray(at + 8, at + 8 + png.readUInt32BE(at)));
    }
  }
  const pixels = unfilter(inflateSync(Buffer.concat(parts)), width * 3, height);
  const pixel = (x: number, y: number) => pixels.readUIntBE((Math.floor(y) * width + Math.floor(x)) * 3, 3);
  const left = (column: number) => (PADDING + column * CELL_WIDTH) * SCALE;
  const top = (row: number) => (PADDING + row * CELL_HEIGHT) * SCALE;
  const area = (column: number, row: number, columns: number) => {
    const found: number[] = [];
    for (let y = top(row); y < top(row + 1); y++) {
      for (let x = left(column); x < left(column + columns); x++) found.push(pixel(x, y));
    }
    return found;
  };
  return {
    width,
    height,
    pixels,
    pixel,
    corner: (column, row) => pixel(left(column) + 1, top(row) + 1),
    coloursOf: (column, row) => new Set(area(column, row, 1)),
    ink: (column, row, columns) => area(column, row, columns).filter((p) => p !== DEFAULT_BACKGROUND).length,
  };
}

/** The rows without the byte before each, which says that they hold what differs from the row above. */
function unfilter(data: Buffer, stride: number, height: number): Buffer {
  const pixels = Buffer.alloc(stride * height);
  for (let y = 0; y < height; y++) {
    expect(data[y * (stride + 1)]).toBe(y === 0 ? 0 : 2);
    data.copy(pixels, y * stride, y * (stride + 1) + 1, (y + 1) * (stride + 1));
    if (y === 0) continue;
    for (let at = y * stride; at < (y + 1) * stride; at++) {
      pixels[at] = (pixels[at] as number) + (pixels[at - stride] as number);
    }
  }
  return pixels;
}

function brightness(colour: number): number {
  return (colour >> 16) + ((colour >> 8) & 0xff) + (colour & 0xff);
}
