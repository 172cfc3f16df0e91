/**
 * To be imported before the first schema is made: zod compiles none of them into code. A runner lives for a turn, and
 * its start would wait for that.
 */
import * as z from "zod";

z.config({ jitless: true });
