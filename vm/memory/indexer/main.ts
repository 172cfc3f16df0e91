/** The thread of the index: it searches, and brings the index up to date whenever nobody searches. */
import { parentPort, workerData } from "node:worker_threads";
import { errorText } from "../../../shared/errors.ts";
import { SearchIndex } from "../../store/search-index.ts";
import { Feeder } from "./feeder.ts";
import type { IndexerData, SearchDone, SearchOrder } from "./protocol.ts";

/** So often it looks for what has grown. */
const LOOK_MS = 5_000;
/** A search finds what was changed by hand so long before it. */
const MAX_AGE_MS = 1_000;

const { stateDir, file } = workerData as IndexerData;
const port = parentPort;
if (!port) throw new Error("this is for a worker thread");
const index = SearchIndex.open(file);
const feeder = new Feeder(index, stateDir);
let isFeeding = false;
let lookedMs = 0;

port.on("message", (order: SearchOrder) => {
  if (order.isChanged || Date.now() - lookedMs > MAX_AGE_MS) look();
  port.postMessage(answer(order));
  feed();
});
setInterval(feed, LOOK_MS).unref();
feed();

function answer({ id, query, scopes, limit }: SearchOrder): SearchDone {
  try {
    return { id, ...index.search(query, scopes, limit), behindBytes: feeder.behindBytes };
  } catch (error) {
    return { id, error: errorText(error) };
  }
}

/** Step by step: a search that has come meanwhile is answered between two of them. */
function feed(): void {
  if (isFeeding) return;
  isFeeding = true;
  if (Date.now() - lookedMs > MAX_AGE_MS) look();
  step();
}

function look(): void {
  feeder.look();
  feeder.feedMemories();
  lookedMs = Date.now();
}

function step(): void {
  isFeeding = feeder.feedSome();
  if (isFeeding) setImmediate(step);
}
