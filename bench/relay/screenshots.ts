/** The fullest screens as pictures, by the built worker. */
import { fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import { Screenshots } from "../../relay/screenshot/screenshot.ts";
import { fullestScreens } from "../../relay/screenshot/testing/fullest.ts";
import { cpuSeconds } from "../measure.ts";
import { atMost, type Figure, told } from "./figures.ts";
import type { Row } from "./load.ts";

const WORKER = fileURLToPath(new URL("../../dist/relay/worker.js", import.meta.url));

export const pictures: Row = async ({ pick }) => {
  const row = "/screenshot of 500 × 200";
  let pid = 0;
  const startWorker = () => {
    const worker = fork(WORKER, { serialization: "advanced", stdio: ["ignore", "ignore", "ignore", "ipc"] });
    pid = worker.pid ?? 0;
    return worker;
  };
  const figures: Figure[] = [];
  for (const [name, screen] of fullestScreens().slice(0, pick(10, 1))) {
    // Each from the start of its process.
    const screenshots = new Screenshots({ startWorker });
    const startedAt = performance.now();
    await screenshots.render(screen);
    figures.push(atMost(row, `${name}, ms`, performance.now() - startedAt, 2_000));
    figures.push(told(row, `${name}, CPU ms`, cpuSeconds([pid]) * 1_000));
    await screenshots.close();
  }
  return figures;
};
