/** Texts of people, programs and agents that mean harm, or are only long. */
import fc from "fast-check";

/** What markup needs escapes, what eyes don't see, what Discord trims, and long runs of each. */
const piece = fc.oneof(
  fc.constantFrom(
    "_",
    "*",
    "`",
    "```",
    "~~",
    "|",
    "\\",
    "<@1>",
    "[x](y)",
    "#",
    "@everyone",
    "\n",
    "\n\n",
    " ",
    "\t",
  ),
  fc.constantFrom(
    "\u200b",
    "\u202e",
    "\u2800",
    "\u3164",
    "\u00a0",
    "\u0000",
    "\ud800",
    "👩‍👩‍👧",
    "é",
    "\u{1f600}",
    "$$",
  ),
  fc.string({ maxLength: 8 }),
);
/** Up to 9,000 units. */
export const hostileText = fc.oneof(
  { weight: 3, arbitrary: fc.array(piece, { maxLength: 12 }).map((parts) => parts.join("")) },
  {
    weight: 2,
    arbitrary: fc
      .tuple(piece, fc.nat({ max: 2_500 }))
      .map(([part, count]) => part.repeat(count).slice(0, 9_000)),
  },
);
