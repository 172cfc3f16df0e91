/** Browsers. */
import type { browsers as routes } from "../../../shared/protocol/browsers.ts";
import type { Browsers } from "../../browser/browsers.ts";
import { type Handlers, setHeaders } from "./handler.ts";

export interface BrowserServices {
  browsers: Browsers;
}

export function browserHandlers({ browsers }: BrowserServices): Handlers<typeof routes> {
  return {
    get: ({ params }) => browsers.getState(params.id),
    act: ({ params, body }) => browsers.act(params.id, body),
    picture: async ({ params, response }) => {
      const picture = await browsers.getPicture(params.id);
      setHeaders(response, {
        "content-type": "image/png",
        "content-length": String(picture.length),
        "cache-control": "no-store",
        "x-content-type-options": "nosniff",
      });
      response.end(picture);
    },
  };
}
