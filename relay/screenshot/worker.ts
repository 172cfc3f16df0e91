/** The screenshots' process: a screen comes in, a PNG goes out. It ends with the relay, whatever ends that. */
import type { ScreenReply } from "../../shared/screen-api.ts";
import { drawScreen } from "./canvas.ts";
import { drawable, parseGrid } from "./grid.ts";
import { encodePng } from "./png.ts";

/** Twice the size reads well on a phone; of a huge screen that would be a picture of 65 million pixels. */
const SCALE = 2;
const MAX_CELLS_SCALED = 30_000;
const MAX_TITLE_CHARACTERS = 500;

export type WorkerReply = { png: Uint8Array } | { error: string };

process.on("disconnect", () => process.exit());
process.on("message", (screen: ScreenReply) => {
  void render(screen)
    .then(
      (png): WorkerReply => ({ png }),
      (error: unknown): WorkerReply => ({ error: error instanceof Error ? error.message : String(error) }),
    )
    .then((reply) => process.send?.(reply));
});

async function render(screen: ScreenReply): Promise<Uint8Array> {
  const grid = await parseGrid(screen);
  const title = drawable(screen.title.slice(0, MAX_TITLE_CHARACTERS)).trim();
  const scale = grid.cols * grid.rows.length <= MAX_CELLS_SCALED ? SCALE : 1;
  return encodePng(drawScreen(grid, title, scale));
}
