/** Directives: listed. */
import type { directives as routes } from "../../../shared/protocol/directives.ts";
import type { Directives } from "../../directives/directives.ts";
import type { Handlers } from "./handler.ts";

export interface DirectiveServices {
  directives: Directives;
}

export function directiveHandlers({ directives }: DirectiveServices): Handlers<typeof routes> {
  return { list: ({ query }) => directives.list(query) };
}
