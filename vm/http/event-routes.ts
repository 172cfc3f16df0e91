/** The route of the events of all threads, as Server-Sent Events. */
import type { Router } from "express";
import { eventIdSchema, eventsQuerySchema } from "../../shared/hub-events.ts";
import type { EventHub } from "../events/hub.ts";
import { parse, threadRouter } from "./exchange.ts";

/** How soon a browser's `EventSource` connects again. */
const RETRY_MS = 1_000;

export function eventRoutes(events: EventHub): Router {
  const router = threadRouter();
  router.get("/events", (req, res) => {
    const query = parse(eventsQuerySchema, req.query);
    const lastId = req.headers["last-event-id"];
    // A browser that connects again asks for the same address; the header says how far it came.
    const since =
      lastId === undefined || lastId === "" ? query.since : parse(eventIdSchema, lastId, "Last-Event-ID");
    const filter = { threads: setOf(query.thread), types: setOf(query.type), tags: setOf(query.tag) };
    const begin = () => {
      if (res.headersSent) return;
      res.writeHead(200, {
        "content-type": "text/event-stream; charset=utf-8",
        "cache-control": "no-store",
        "x-accel-buffering": "no", // a proxy that collects replies would keep events back
      });
      res.write(`retry: ${RETRY_MS}\n\n`);
    };
    const sink = {
      write: (bytes: Buffer) => {
        if (res.destroyed) return false; // gone; its close is about to be told
        begin();
        return res.write(bytes);
      },
      end: () => void res.destroy(),
    };
    const { onDrain, onGone } = events.add({ since, filter }, sink);
    // Without a listener an error of a connection that breaks would end the sidecar.
    res.on("drain", onDrain).on("close", onGone).on("error", onGone);
  });
  return router;
}

function setOf(values: readonly string[] | undefined): ReadonlySet<string> | undefined {
  return values && new Set(values);
}
