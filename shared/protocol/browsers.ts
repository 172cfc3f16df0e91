/** Browsers: what is on the page, and what people do with it. */
import { browserOpSchema } from "../browser/ops.ts";
import { browserStateSchema } from "../browser/state.ts";
import { route } from "./route.ts";

const PAGE = { id: "page" };

export const browsers = {
  get: route({
    method: "get",
    path: "/thread/:id/browser",
    summary:
      "What a browser shows: its page's address and title, and what can be clicked, by the numbers of its picture",
    status: 200,
    reply: browserStateSchema,
    errors: ["not_found", "unsupported", "unavailable"],
    access: "console",
    right: "read",
    isRepeatable: true,
    example: { path: PAGE },
  }),
  act: route({
    method: "post",
    path: "/thread/:id/browser",
    summary: "Open an address in a browser, click a number, type, scroll, go back, reload, stop",
    body: browserOpSchema,
    status: 200,
    reply: browserStateSchema,
    errors: ["not_found", "unsupported", "thread_ended", "unavailable", "unknown_outcome"],
    access: "console",
    right: "type",
    isRepeatable: false,
    example: { path: PAGE, body: { do: "scroll", to: "down" } },
  }),
  picture: route({
    method: "get",
    path: "/thread/:id/picture",
    summary: "The newest picture of a browser's page, a PNG",
    status: 200,
    reply: "image/png",
    errors: ["not_found", "unsupported"],
    access: "console",
    right: "read",
    isRepeatable: true,
    example: { path: PAGE },
  }),
};
