/** What the model did wrong, or what stands in its way: a whole sentence for it. */
export class ToolError extends Error {}
