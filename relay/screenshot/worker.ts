/** The worker thread's program: a screen comes in, a PNG goes out. */
import { parentPort } from "node:worker_threads";
import { Resvg } from "@resvg/resvg-js";
import type { ScreenReply } from "../../shared/api.ts";
import { FONT_FILES, needsSystemFonts } from "./fonts.ts";
import { drawable, parseGrid } from "./grid.ts";
import { toSvg } from "./svg.ts";

/** Twice the size reads well on a phone; of a huge screen that would be a picture of 65 million pixels. */
const SCALE = 2;
const MAX_CELLS_SCALED = 30_000;

export type WorkerReply = { png: Uint8Array<ArrayBuffer> } | { error: string };

parentPort?.on("message", (screen: ScreenReply) => {
  void render(screen)
    .then(
      (png): WorkerReply => ({ png }),
      (error: unknown): WorkerReply => ({ error: error instanceof Error ? error.message : String(error) }),
    )
    .then((reply) => parentPort?.postMessage(reply, "png" in reply ? [reply.png.buffer] : []));
});

async function render(screen: ScreenReply): Promise<Uint8Array<ArrayBuffer>> {
  const grid = await parseGrid(screen);
  const title = drawable(screen.title).trim();
  const scale = grid.cols * grid.rows.length <= MAX_CELLS_SCALED ? SCALE : 1;
  const texts = grid.rows.flatMap((cells) => cells.map((cell) => cell.text));
  const resvg = new Resvg(toSvg(grid, title), {
    fitTo: { mode: "zoom", value: scale },
    font: {
      fontFiles: [...FONT_FILES],
      loadSystemFonts: needsSystemFonts(title + texts.join("")),
      defaultFontFamily: "DejaVu Sans Mono",
    },
    logLevel: "off",
  });
  // A copy: what the native side owns can't be handed over to another thread.
  return new Uint8Array(resvg.render().asPng());
}
