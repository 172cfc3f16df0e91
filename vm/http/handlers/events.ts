/** The events of all threads, as Server-Sent Events. */
import { eventIdSchema } from "../../../shared/hub-events.ts";
import type { sidecar } from "../../../shared/protocol/sidecar.ts";
import type { EventHub } from "../../events/hub.ts";
import type { Homes } from "../../threads/homes.ts";
import { parse } from "../exchange.ts";
import type { Call } from "./handler.ts";

/** How soon a browser's `EventSource` connects again. */
const RETRY_MS = 1_000;

export function sendEvents(
  { events, homes }: { events: EventHub; homes: Pick<Homes, "resolve"> },
  { query, request, response }: Call<typeof sidecar.followEvents>,
): void {
  const lastId = request.headers["last-event-id"];
  // A browser that connects again asks for the same address; the header says how far it came.
  const since =
    lastId === undefined || lastId === "" ? query.since : parse(eventIdSchema, lastId, "Last-Event-ID");
  const filter = {
    threads: setOf(query.thread?.map((name) => homes.resolve(name))),
    types: setOf(query.type),
    tags: setOf(query.tag),
  };
  const begin = () => {
    if (response.headersSent) return;
    response.writeHead(200, {
      "content-type": "text/event-stream; charset=utf-8",
      "cache-control": "no-store",
      "x-accel-buffering": "no", // a proxy that collects replies would keep events back
    });
    response.write(`retry: ${RETRY_MS}\n\n`);
  };
  const sink = {
    write: (bytes: Buffer) => {
      if (response.destroyed) return false; // gone; its close is about to be told
      begin();
      return response.write(bytes);
    },
    end: () => void response.destroy(),
  };
  const { onDrain, onGone } = events.add({ since, filter }, sink);
  // Without a listener an error of a connection that breaks would end the sidecar.
  response.on("drain", onDrain).on("close", onGone).on("error", onGone);
}

function setOf(values: readonly string[] | undefined): ReadonlySet<string> | undefined {
  return values && new Set(values);
}
