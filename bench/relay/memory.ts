/** What the relay takes after many threads' floods. */
import { setTimeout as sleep } from "node:timers/promises";
import { rssMib } from "../measure.ts";
import { atMost, equality, told } from "./figures.ts";
import { END, type Row, withLoad } from "./load.ts";

export const memory: Row = async ({ pick }) => {
  const count = pick(100, 5);
  const row = `memory, ${count} threads`;
  const bytes = 2 * 1024 * 1024;
  const command = `seq -f 'line %.0f of the output of this thread' 100000000 | head -c ${bytes}; echo; echo "${END}"; exec cat`;
  return withLoad(
    Array.from({ length: count }, () => command),
    async (load) => {
      const { relay } = load;
      let peak = 0;
      const sampling = setInterval(() => {
        peak = Math.max(peak, rssMib(relay.pid()));
      }, 200);
      const { different } = await load.finish(180_000);
      await sleep(pick(5_000, 500));
      clearInterval(sampling);
      return [
        atMost(row, "MiB at the end", rssMib(relay.pid()), 220),
        told(row, "MiB at most", peak),
        equality(row, different),
      ];
    },
  );
};
