/** The kinds of threads: what differs between them is asked here. */
import type { ThreadType } from "../../../shared/api.ts";
import type { Kind } from "./kind.ts";

export type Kinds = Readonly<Record<ThreadType, Kind>>;
