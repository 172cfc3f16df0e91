/** Tools as an engine names them. */
import * as z from "zod";

/** Perhaps with what it may be called with. It can't be taken for a flag, nor for two tools. */
const TOOL = /^[A-Za-z_][\w*-]{0,127}(?:\([^(),"'\p{Cc}]{0,200}\))?$/u;

export const toolNameSchema = z
  .string("must be text")
  .regex(TOOL, "must name a tool, such as Read or Bash(git log *)");
export const MAX_TOOLS = 200;
